"""summary.json, version 2: exact there and back, and plain words for whatever else a file may hold."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summaries import make_summary

from vastsum.errors import DataError
from vastsum.summary import Summary

Change = Callable[[dict[str, Any]], object]


def test_the_keys_are_those_of_version_2(summary: Summary, tmp_path: Path) -> None:
    content = json.loads(summary.save(tmp_path / "a.summary.json").read_text())
    assert list(content) == [
        "version", "video", "model", "budget", "decoder", "picks", "importance", "uncertainty", "segments",
        "starts", "marks", "nothing_stands_out", "summary",
    ]  # fmt: skip
    assert content["version"] == 2
    assert list(content["video"]) == ["path", "duration_s", "fps", "n_frames", "width", "height"]
    assert list(content["model"]) == ["scorer", "backbone"]
    assert list(content["budget"]) == ["fraction", "seconds"]
    assert list(content["decoder"]) == ["sharpness", "length_power"]
    assert list(content["segments"][0]) == [
        "start_frame", "end_frame", "start_s", "end_s", "importance", "uncertainty", "chance", "selected",
    ]  # fmt: skip
    assert list(content["summary"]) == ["n_frames", "duration_s", "fraction"]
    assert content["summary"]["n_frames"] == sum(
        s["end_frame"] - s["start_frame"] + 1 for s in content["segments"] if s["selected"]
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([23.976, 25, 29.97, 14.7]), st.floats(0.001, 1.0))
def test_a_file_gives_back_exactly_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory, seed: int, fps: float, budget: float
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    summary = make_summary(seed=seed, fps=fps, budget=budget)
    summary.save(path)
    loaded = Summary.load(path)
    assert loaded == summary
    assert loaded.picks.tolist() == summary.picks.tolist()
    text = path.read_text()
    loaded.save(path)
    assert path.read_text() == text


def test_a_loaded_summary_can_be_given_another_budget(summary: Summary, tmp_path: Path) -> None:
    loaded = Summary.load(summary.save(tmp_path / "a.json"))
    assert loaded.with_budget(0.5) == summary.with_budget(0.5)


def test_a_file_of_version_1_still_loads(summary: Summary) -> None:
    content = summary.to_dict()
    for name in ("starts", "marks", "nothing_stands_out"):
        del content[name]
    for segment in content["segments"]:
        del segment["chance"]
        segment["stability"] = 0.5
    loaded = Summary.from_dict(content | {"version": 1})
    assert [row.chance for row in loaded.segments] == pytest.approx([row.chance for row in summary.segments])
    assert loaded.ranges == summary.ranges


@pytest.mark.parametrize("name", ["Ferien in Österreich 海.mp4", 'quote " and \\ slash.mp4', "line\nbreak.mp4"])
def test_any_file_name_survives(name: str, tmp_path: Path) -> None:
    summary = make_summary(Path("films") / name)
    assert Summary.load(summary.save(tmp_path / "a.json")).video.path == summary.video.path


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode there")
def test_a_file_name_that_is_not_unicode_survives(tmp_path: Path) -> None:
    summary = make_summary(Path(os.fsdecode(b"caf\xe9.mp4")))
    assert Summary.load(summary.save(tmp_path / "a.json")) == summary


def put(*keys: str | int, value: object) -> Change:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return change


def drop(*keys: str | int) -> Change:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return change


MALFORMED: dict[str, tuple[Change, str]] = {
    "no version": (drop("version"), "the key 'version' is missing"),
    "newer version": (put("version", value=3), r"version: 3 is not known to this program.*update vastsum"),
    "version as text": (put("version", value="1"), "version: a whole number expected"),
    "version true": (put("version", value=True), "version: a whole number expected, not true"),
    "version 0": (put("version", value=0), "version: 0 is not at least 1"),
    "no video": (drop("video"), "the key 'video' is missing"),
    "video is a text": (put("video", value="a.mp4"), r"video: \{…\} expected"),
    "empty path": (put("video", "path", value=""), "video.path: a text expected"),
    "path is a number": (put("video", "path", value=3), "video.path: a text expected, not 3"),
    "no frames": (put("video", "n_frames", value=0), "video.n_frames: 0 is not at least 1|between 1"),
    "fractional frames": (put("video", "n_frames", value=300.0), "video.n_frames: a whole number expected"),
    "astronomical frames": (put("video", "n_frames", value=10**40), "video.n_frames: a huge number is not"),
    "duration of nothing": (put("video", "duration_s", value=0), "video.duration_s: 0 is not above 0"),
    "endless duration": (put("video", "duration_s", value=10**400), "video.duration_s: too large"),
    "other duration": (put("video", "duration_s", value=100.0), "budget: 3.0 s are not 0.25"),
    "no rate": (drop("video", "fps"), "video: the key 'fps' is missing"),
    "negative width": (put("video", "width", value=-1), "video.width: -1 is not at least 1"),
    "model without a name": (put("model", "scorer", value=None), "model.scorer: a text expected, not null"),
    "budget above all": (put("budget", "fraction", value=1.5), "budget.fraction: 1.5 is not between"),
    "budget of nothing": (put("budget", "fraction", value=0), "budget.fraction: 0 is not above 0"),
    "budget at odds": (put("budget", "seconds", value=9), "budget: 9.0 s are not 0.25 of the video's 12.0 s"),
    "no picks": (put("picks", value=[]), "picks: a list of at least one entry expected"),
    "picks are an object": (put("picks", value={}), "picks: a list"),
    "pick outside": (put("picks", 59, value=300), r"picks\[59\]: 300 is not between 0 and 299"),
    "picks out of order": (put("picks", 2, value=3), "picks must increase, but 3 follows 5 at place 2"),
    "missing score": (drop("importance", 0), "importance: 59 values for 60 picks"),
    "score is a text": (put("importance", 7, value="high" * 50), r"importance\[7\]: a number expected, not .high"),
    "score is null": (put("importance", 7, value=None), r"importance\[7\]: a number expected, not null"),
    "negative uncertainty": (put("uncertainty", 1, value=-0.1), r"uncertainty\[1\]: -0.1 is not at least 0"),
    "no segments": (put("segments", value=[]), "segments: a list of at least one"),
    "segment is a list": (put("segments", 0, value=[0, 29]), r"segments\[0\]: \{…\} expected, not a list of 2"),
    "gap in frames": (put("segments", 1, "start_frame", value=31), r"segments\[1\].start_frame: .*30 expected, not 31"),
    "end before start": (put("segments", 1, "end_frame", value=20), r"segments\[1\].end_frame: 20 is not between 30"),
    "last one missing": (drop("segments", 10), "segments: they end at frame 269, the video at 299"),
    "gap in time": (put("segments", 1, "start_s", value=1.5), r"segments\[1\].start_s: .*1.2 s expected, not 1.5"),
    "no time": (put("segments", 0, "end_s", value=0), r"segments\[0\].end_s: 0.0 s is not after the start"),
    "late end": (put("segments", 10, "end_s", value=13), "segments: they end at 13.0 s, the video at 12.0 s"),
    "chance above 1": (put("segments", 3, "chance", value=1.1), r"segments\[3\].chance: 1.1 is not between"),
    "selected by number": (put("segments", 3, "selected", value=1), r"segments\[3\].selected: true or false expected"),
    "no importance": (drop("segments", 4, "importance"), r"segments\[4\]: the key 'importance' is missing"),
    "totals at odds": (put("summary", "n_frames", value=7), "summary.n_frames: the selected segments hold 75"),
    "length at odds": (put("summary", "duration_s", value=7), "summary.duration_s: the selected segments give"),
    "no marks": (drop("marks"), "the key 'marks' is missing"),
    "cut outside": (put("marks", "cuts", value=[300]), r"marks.cuts\[0\]: 300 is not between 0 and 299"),
    "pauses out of order": (put("marks", "pauses", value=[9, 8]), "marks.pauses: frames must increase"),
    "speech at once": (
        put("marks", "speech", value=[{"first_frame": 3, "last_frame": 9}, {"first_frame": 9, "last_frame": 12}]),
        r"marks.speech\[1\].first_frame: 9 is not between 10",
    ),
    "found elsewhere": (put("starts", 1, value=7), "starts: the first must be 0, and at each a segment must start"),
    "no totals": (drop("summary"), "the key 'summary' is missing"),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_a_malformed_file_is_refused_by_name_key_and_remedy(kind: str, summary: Summary, tmp_path: Path) -> None:
    change, problem = MALFORMED[kind]
    content = summary.to_dict()
    change(content)
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(content))
    with pytest.raises(DataError, match=problem) as caught:
        Summary.load(path)
    assert caught.value.where == str(path)
    assert caught.value.remedy


def test_nothing_selected_is_refused(summary: Summary) -> None:
    content = summary.to_dict()
    for segment in content["segments"]:
        segment["selected"] = False
    with pytest.raises(DataError, match="never empty"):
        Summary.from_dict(content)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON .line 1"),
        (b"[]", "expected, not a list of 0"),
        (b"null", "expected, not null"),
        (b'"summary"', "expected"),
        (b'{"version": NaN}', "NaN is not a number"),
        (b'{"version": 1e999}', "whole number expected"),
        (b'{"version": ' + b"9" * 5000 + b"}", "not valid JSON|huge"),
        (b"\xff\xfe\x00", "not text"),
        (b"[" * 200_000, "not valid JSON"),
    ],
)
def test_what_is_not_even_json_is_refused(text: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with pytest.raises(DataError, match=problem):
        Summary.load(path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        Summary.load(tmp_path / "none.json")
    with pytest.raises(DataError, match="this is a folder"):
        Summary.load(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be read"):
        Summary.load(tmp_path / "file" / "a.json")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_value_in_any_place_gives_anything_but_a_summary_or_a_clear_error(data: st.DataObject) -> None:
    content: Any = make_summary(n_frames=20, n_segments=2).to_dict()
    parent, key = {"root": content}, "root"
    while isinstance(parent[key], dict | list) and parent[key] and data.draw(st.booleans()):
        parent = parent[key]
        key = data.draw(st.sampled_from(sorted(parent) if isinstance(parent, dict) else range(len(parent))))
    parent[key] = data.draw(JSON_VALUES)
    root = content if key != "root" else parent["root"]
    with contextlib.suppress(DataError):
        Summary.from_dict(root)
