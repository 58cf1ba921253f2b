"""The annotation file: what it means, frame by frame, and what is said of a wrong one."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vastsum.bench.data.annotations import Annotations, read_annotations
from vastsum.errors import DataError
from vastsum.video import Timeline

KEEP = "video,annotator,start_s,end_s\n"
SCORES = "video,annotator,start_s,end_s,score\n"


def timeline_of(times_ms: list[int], last_ms: int) -> Timeline:
    return Timeline(np.array(times_ms), Fraction(1, 1000), last_ms, np.array([0]))


TEN_FPS = timeline_of(list(range(0, 8000, 100)), 100)  # 80 frames, 8 s
SLIDES = timeline_of([0, 100, 200, 5200, 5300], 2700)  # one frame stays for 5 s, the last for 2.7 s


def read(tmp_path: Path, text: str | bytes, name: str = "people.csv") -> Annotations:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_annotations(path)


def frames(annotations: Annotations, timeline: Timeline = TEN_FPS, video: str = "a") -> list[list[float]]:
    found = annotations.matched({"a": Path("films/a.mp4")})[video]
    return annotations.frames(found, timeline).tolist()


def runs(row: list[float]) -> list[tuple[int, int]]:
    """The first and last frame of each stretch of ones."""
    edges = np.flatnonzero(np.diff([0, *row, 0]))
    return [(int(first), int(stop) - 1) for first, stop in edges.reshape(-1, 2)]


def test_kept_ranges_become_frames(tmp_path: Path) -> None:
    said = read(tmp_path, KEEP + "a,anna,0,2\na,anna,1.5,2.5\na,anna,0:05,0:00:06.5\na,ben,7,8\n")
    anna, ben = frames(said)
    assert said.kind == "summe"
    assert runs(anna) == [(0, 24), (50, 64)]
    assert runs(ben) == [(70, 79)]


def test_scores_become_frames(tmp_path: Path) -> None:
    said = read(tmp_path, SCORES + "a,anna,2,8,1\na,anna,0,2,4.5\na,ben,0,3,2\na,ben,1,8,2\n")
    anna, ben = frames(said)
    assert said.kind == "tvsum"
    assert anna == [4.5] * 20 + [1] * 60
    assert ben == [2] * 80


def test_times_follow_the_frames_own_clock(tmp_path: Path) -> None:
    """Where the frame rate varies, seconds are not frames: a frame belongs where the middle of its time lies."""
    (row,) = frames(read(tmp_path, KEEP + "a,anna,0.1,3\n"), SLIDES)
    assert row == [0, 1, 1, 0, 0]  # the slide's middle is at 2.7 s
    (row,) = frames(read(tmp_path, KEEP + "a,anna,3,5\n"), SLIDES)
    assert row == [0, 0, 1, 0, 0]  # within one frame: that frame
    (row,) = frames(read(tmp_path, SCORES + "a,anna,0,2.6,1\na,anna,2.6,5.26,5\na,anna,5.26,8,3\n"), SLIDES)
    assert row == [1, 1, 5, 5, 3]  # middles at 0.05, 0.15, 2.7, 5.25 and 6.65 s


@given(st.lists(st.integers(1, 7999), unique=True, max_size=12), st.randoms())
def test_parts_that_fill_a_video_give_each_frame_the_score_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, cuts_ms: list[int], random: object
) -> None:
    edges = [0, *sorted(cuts_ms), 8000]
    scores = [1 + number % 5 for number in range(len(edges) - 1)]
    lines = [f"a,p,{s / 1000},{e / 1000},{x}" for s, e, x in zip(edges[:-1], edges[1:], scores, strict=True)]
    random.shuffle(lines)  # type: ignore[attr-defined]
    (row,) = frames(read(tmp_path_factory.mktemp("parts"), SCORES + "\n".join(lines)))
    for frame, score in enumerate(row):
        middle_ms = 100 * frame + 50
        (own,) = [x for s, e, x in zip(edges[:-1], edges[1:], scores, strict=True) if s <= middle_ms < e]
        if middle_ms not in edges:
            assert score == own


def test_who_keeps_nothing_counts(tmp_path: Path) -> None:
    table = read(tmp_path, KEEP + "a,anna,1,2\na,ben,,\n")
    same = {"videos": {"a": {"annotators": [{"name": "anna", "keep": [[1, 2]]}, {"name": "ben", "keep": []}]}}}
    anna, ben = frames(table)
    assert (sum(anna), sum(ben)) == (10, 0)
    assert frames(read(tmp_path, json.dumps(same), "people.json")) == [anna, ben]


def test_a_second_past_the_end_is_clipped(tmp_path: Path) -> None:
    assert runs(frames(read(tmp_path, KEEP + "a,anna,7.5,9\n"))[0]) == [(75, 79)]
    assert frames(read(tmp_path, SCORES + "a,anna,0,8.9,3\n"))[0] == [3] * 80


def test_short_gaps_take_the_score_before(tmp_path: Path) -> None:
    (row,) = frames(read(tmp_path, SCORES + "a,anna,0.3,2,4\na,anna,2.99,7.2,1\n"))
    assert row == [4] * 30 + [1] * 50


@pytest.mark.parametrize("text", [
    "Video;Annotator;START_S;end_s\na;anna;1;2\n",
    "end_s\tstart_s\tvideo\tannotator\n2\t1\ta.mp4\tanna\n",
    "\ufeffvideo, annotator, start_s, end_s\r\n\r\n\"a\", anna, 0:01, 0:02\r\n",
])  # fmt: skip
def test_tables_as_programs_write_them(tmp_path: Path, text: str) -> None:
    assert [runs(row) for row in frames(read(tmp_path, text))] == [[(10, 19)]]


def test_names_match_however_accents_are_stored(tmp_path: Path) -> None:
    said = read(tmp_path, KEEP + "Cafe\u0301,anna,1,2\n")
    assert set(said.matched({"key": Path("Caf\u00e9.mp4")})) == {"key"}


BAD_TABLES = {
    "empty": ("", "is empty"),
    "header only": (KEEP, "annotates no video"),
    "no header": ("a,anna,1,2\n", "line 1: has no column 'video'"),
    "missing column": ("video,annotator,start_s\na,anna,1\n", "line 1: has no column 'end_s'"),
    "misspelt column": ("video,annotator,start_s,end_s,scores\na,anna,1,2,3\n", "line 1: the column 'scores'"),
    "column twice": ("video,annotator,start_s,end_s,end_s\na,anna,1,2,3\n", "line 1: the column 'end_s' is there tw"),
    "short line": (KEEP + "a,anna,1,2\na,anna,1\n", "line 3: has 3 of 4 columns"),
    "no annotator": (KEEP + "a,,1,2\n", "line 2: names no annotator"),
    "no video": (KEEP + ",anna,1,2\n", "line 2: names no video"),
    "not a time": (KEEP + "a,anna,soon,2\n", "line 2: the start 'soon' is not a time"),
    "seconds over 59": (KEEP + "a,anna,0:75,100\n", "line 2: the start '0:75' is not a time"),
    "minutes over 59": (KEEP + "a,anna,1:75:00,1:80:00\n", "line 2: the start '1:75:00' is not a time"),
    "decimal comma": (KEEP.replace(",", ";") + "a;anna;1,5;2\n", "line 2: the start '1,5' is not a time"),
    "nan": (KEEP + "a,anna,nan,2\n", "line 2: the start 'nan'"),
    "endless": (KEEP + "a,anna,1," + "9" * 400 + "\n", "line 2: the end"),
    "half a range": (KEEP + "a,anna,1,\n", "line 2: has no end"),
    "negative": (KEEP + "a,anna,-1,2\n", "line 2: the start '-1' is negative"),
    "reversed": (KEEP + "a,anna,3,2\n", "line 2: ends before it starts"),
    "nothing": (KEEP + "a,anna,2,0:02\n", "line 2: ends where it starts"),
    "past the end": (KEEP + "a,anna,1,2\na,ben,7,9.1\n", "line 3: 7 to 9.1 s is past the end of 'a' (8.00 s)"),
    "after the end": (KEEP + "a,anna,8.2,8.5\n", "line 2: 8.2 to 8.5 s is past the end"),
    "unknown video": (KEEP + "a,anna,1,2\nb,anna,1,2\n", "line 3: 'b' is none of the videos given"),
    "two names": (KEEP + "a,anna,1,2\na.mp4,ben,1,2\n", "line 3: 'a.mp4' and 'a' are the same video"),
    "nobody keeps any": (KEEP + "a,anna,,\n", "line 2: nobody keeps any part of 'a'"),
    "score 9": (SCORES + "a,anna,0,8,9\n", "line 2: the score '9' is not a number from 1 to 5"),
    "score 0": (SCORES + "a,anna,0,8,0\n", "line 2: the score '0'"),
    "score nan": (SCORES + "a,anna,0,8,nan\n", "line 2: the score 'nan'"),
    "score in words": (SCORES + "a,anna,0,8,high\n", "line 2: the score 'high'"),
    "mixed kinds": (SCORES + "a,anna,0,8,3\na,ben,1,2,\n", "line 3: has no score where other lines have one"),
    "scores conflict": (SCORES + "a,anna,0,4,2\na,anna,3,8,5\n", "line 3: 'anna' scores 3 to 4 s both 5 and 2"),
    "a long one conflicts": (
        SCORES + "a,anna,0,8,2\na,anna,1,2,2\na,anna,5,6,3\n",
        "line 4: 'anna' scores 5 to 6 s both 3 and 2 (see line 2)",
    ),
    "a gap": (SCORES + "a,anna,0,3,2\na,anna,4.5,8,5\n", "'anna' gives no score from 3 to 4.5 s of 'a'"),
    "no end scored": (SCORES + "a,anna,0,6,2\n", "'anna' gives no score from 6 to 8 s"),
    "nothing scored": (SCORES + "a,anna,0,8,2\na,ben,,,\n", "'ben' scores nothing of 'a'"),
    "open quote": (KEEP + 'a,"anna,1,2\n', "is not a line of a table"),
    "NUL": (KEEP + "a,an\0na,1,2\n", "is not a text file"),
    "latin-1": ((KEEP + "Café,anna,1,2\n").encode("latin-1"), "line 2: is not UTF-8 text"),
    "utf-16": ((KEEP + "a,anna,1,2\n").encode("utf-16"), "line 1: is not UTF-8 text"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_TABLES)
def test_wrong_tables_are_refused_in_one_line(tmp_path: Path, name: str) -> None:
    text, words = BAD_TABLES[name]
    with pytest.raises(DataError) as caught:
        frames(read(tmp_path, text))
    start = f"{tmp_path / 'people.csv'}: "
    assert str(caught.value).startswith(start + words if words.startswith("line") else start)
    assert words in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def people(*annotators: object) -> str:
    return json.dumps({"videos": {"a": {"annotators": annotators}}})


BAD_JSON = {
    "not JSON": ('{"videos": {\n  oops', "line 2: is not JSON"),
    "cut off": (people({"name": "anna", "keep": [[1, 2]]})[:-3], "is not JSON"),
    "nested": ('{"videos":' * 100_000, "is not JSON"),
    "a list": ("[]", "the file: is not an object"),
    "no videos": ("{}", "the file: has no 'videos'"),
    "unknown key": ('{"videos": {}, "version": 1}', "the file: has 'version', which is not known"),
    "no annotation": ('{"videos": {}}', "annotates no video"),
    "videos as list": ('{"videos": []}', "videos: is not an object"),
    "no annotators": ('{"videos": {"a": {}}}', "videos/a: has no 'annotators'"),
    "nobody": (people(), "videos/a: has no annotators"),
    "no name": (people({"keep": [[1, 2]]}), "videos/a/annotators[0]: has no 'name'"),
    "name twice": (people({"name": "b", "keep": []}, {"name": "b", "keep": []}), "annotators[1]/name: 'b' is there t"),
    "neither": (people({"name": "b"}), "annotators[0]: needs 'keep' or 'scores'"),
    "both": (people({"name": "b", "keep": [], "scores": []}), "annotators[0]: needs 'keep' or 'scores'"),
    "mixed": (
        people({"name": "b", "keep": [[1, 2]]}, {"name": "c", "scores": [[0, 8, 1]]}),
        "videos/a/annotators[1]: has 'scores' where earlier",
    ),
    "no pair": (people({"name": "b", "keep": [1, 2]}), "annotators[0]/keep[0]: is not [start, end]"),
    "no score": (people({"name": "b", "scores": [[0, 8]]}), "annotators[0]/scores[0]: is not [start, end, score]"),
    "true": (people({"name": "b", "keep": [[True, 2]]}), "annotators[0]/keep[0]: the start 'True' is not a time"),
    "null": (people({"name": "b", "keep": [[None, 2]]}), "annotators[0]/keep[0]: has no start"),
    "NaN": (people({"name": "b", "keep": [[float("nan"), 2]]}), "holds NaN"),
    "huge": (people({"name": "b", "keep": [[1, 10**400]]}), "keep[0]: the end"),
    "negative": (people({"name": "b", "keep": [[1, 2], [-1, 2]]}), "keep[1]: the start '-1' is negative"),
    "score 6": (people({"name": "b", "scores": [[0, 8, 6]]}), "scores[0]: the score '6'"),
    "video twice": (
        '{"videos": {"a": {"annotators": []}, "a": {"annotators": []}}}', "has the key 'a' twice",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_JSON)
def test_wrong_json_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    text, words = BAD_JSON[name]
    with pytest.raises(DataError) as caught:
        frames(read(tmp_path, text, "people.json"))
    assert words in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_videos_nobody_annotated_are_named(tmp_path: Path) -> None:
    said = read(tmp_path, KEEP + "a,anna,1,2\n")
    with pytest.raises(DataError, match=r"people\.csv: says nothing of 'b\.mp4'; annotate it"):
        said.matched({"a": Path("a.mp4"), "b": Path("b.mp4")})


@pytest.mark.parametrize("name", ["absent.csv", "."])
def test_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_annotations(tmp_path / name)
