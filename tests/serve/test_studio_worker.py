"""A worker's tasks, in this process: what they write and what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vastsum.errors import OutputError, VideoError
from vastsum.serve import worker
from vastsum.serve.selection import Edits, reselect
from vastsum.summary import Summary

Summarized = tuple[dict[str, Any], list[str]]


def task_of(film: Path, folder: Path) -> dict[str, Any]:
    named = {"kind": "summarize", "folder": str(folder), "video": str(film)}
    return {**named, "model": "vastsum", "model_name": "mine", "fast": True, "budget": "6s"}


@pytest.fixture
def summarized(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Summarized:
    """What the task gives in the end, and what it said on the way."""
    monkeypatch.chdir(tmp_path)  # and back: tasks go to where their video is
    stages: list[str] = []
    return worker.summarize(task_of(film, tmp_path), worker.Reporter(lambda stage, *_: stages.append(stage))), stages


def test_a_video_becomes_a_summary_for_any_budget(summarized: Summarized, tmp_path: Path) -> None:
    given, told = summarized
    whole = Summary.load(tmp_path / worker.WHOLE)
    assert whole.model.scorer == "mine"
    assert str(whole.video.path) == "holiday.mp4"
    assert given["outline"]["budget"] == pytest.approx(0.25)
    assert given["outline"]["n_segments"] == len(whole.segments)
    assert len(list((tmp_path / worker.THUMBNAILS).iterdir())) == len(given["outline"]["thumbnails_s"])
    assert 0 <= given["outline"]["cover"] < len(given["outline"]["thumbnails_s"])
    assert list(dict.fromkeys(told)) == [
        "opening",
        "loading models",
        "watching",
        "segmenting",
        "scoring",
        "taking thumbnails",
    ]


def test_an_export_holds_the_edited_selection(summarized: Summarized, tmp_path: Path, film: Path) -> None:
    assert summarized
    edits = {"budget": 0.5, "starts": None, "held": [[0, True]]}
    task = {"folder": str(tmp_path), "video": str(film), "format": "json", "edits": edits}
    given = worker.export(task, worker.Reporter(lambda *_: None))
    written = tmp_path / "exports" / given["file"]
    assert written.stat().st_size == given["n_bytes"]
    exported = Summary.load(written)
    assert exported.segments[0].selected
    assert exported == reselect(Summary.load(tmp_path / worker.WHOLE), Edits(0.5, None, ((0, True),)))


def test_a_video_whose_folder_is_gone_is_said_to_be(tmp_path: Path) -> None:
    task = {"folder": str(tmp_path), "video": str(tmp_path / "gone" / "film.mp4")}
    with pytest.raises(VideoError, match="no longer there"):
        worker.summarize(task, worker.Reporter(lambda *_: None))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (VideoError("/secret/place/film.mp4", "is broken", "mend it"), ("film.mp4: is broken", "mend it")),
        (OutputError("/secret/place/x", "cannot be written", "free some space"), ("cannot be written", "space")),
        (OSError(28, "No space left on device"), ("disk is full", "free some space")),
        (MemoryError(), ("memory", "try again")),
        (ValueError("odd\nvery odd"), ("ValueError: odd)", "report")),
    ],
)
def test_errors_are_told_without_saying_where_things_are_kept(error: Exception, words: tuple[str, str]) -> None:
    failed = worker._failed(error).failure
    assert words[0] in failed.problem
    assert words[1] in failed.remedy
    assert "/secret" not in str(failed)
