"""What people said of one's own videos: a table (CSV) or JSON, in seconds, and turned into one value a frame.

docs/annotations.md is the description for users. Either people name what they would keep (`keep`, a binary summary a
person, as in SumMe) or they give every part a score from 1 to 5 (as in TVSum). Nothing is guessed: what could mean two
things is a DataError that names the line or the key.
"""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from vastsum.errors import DataError
from vastsum.types import FloatArray, Kind
from vastsum.video import Timeline

TOLERANCE_S = 1.0
"""How far a range may reach past the end of its video, and how long a part may be that has no score."""

LOWEST, HIGHEST = 1.0, 5.0
REQUIRED_COLUMNS = ("video", "annotator", "start_s", "end_s")
COLUMNS = (*REQUIRED_COLUMNS, "score")

_TABLE_REMEDY = "the first line must be 'video,annotator,start_s,end_s' or the same with ',score'"
_JSON_REMEDY = 'write {"videos": {NAME: {"annotators": [{"name": …, "keep": [[start, end], …]}]}}}, or "scores"'
_JSON_WORDS = {"dict": "an object", "list": "a list", "str": "a text"}
_TIME_REMEDY = "write seconds (62.5) or a clock (1:02.5)"
_SECONDS = re.compile(r"\d+(?:\.\d*)?|\.\d+", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d{1,2}(?:\.\d*)?)", re.ASCII)


@dataclass(frozen=True)
class Range:
    """A part of a video that a person kept or scored, and where in the file that stands."""

    start_s: float
    end_s: float
    score: float | None
    where: str


@dataclass(frozen=True)
class Annotator:
    """One person and one video. No ranges: the person watched it and would keep nothing."""

    name: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True)
class AnnotatedVideo:
    """A video as the file names it, and where it does so first."""

    name: str
    annotators: tuple[Annotator, ...]
    where: str


@dataclass(frozen=True)
class Annotations:
    """An annotation file, checked as far as it can be without the videos."""

    path: Path
    kind: Kind
    videos: dict[str, AnnotatedVideo]

    def matched(self, videos: Mapping[str, Path]) -> dict[str, AnnotatedVideo]:
        """What is said of each of `videos` (key to path). The file names a video by its file name, ending or not."""
        known = {_same(name): key for key, path in videos.items() for name in (path.stem, path.name)}
        found: dict[str, AnnotatedVideo] = {}
        for video in self.videos.values():
            key = known.get(_same(video.name))
            if key is None:
                self._refuse(video.where, f"'{video.name}' is none of the videos given", "correct it, or add the video")
            if key in found:
                problem = f"'{video.name}' and '{found[key].name}' are the same video"
                self._refuse(video.where, problem, "use one name for it")
            found[key] = video
        for key, path in videos.items():
            if key not in found:
                raise DataError(self.path, f"says nothing of '{path.name}'", "annotate it, or leave the video out")
        return found

    def frames(self, video: AnnotatedVideo, timeline: Timeline) -> FloatArray:
        """One row a person, one value a frame (U, N): 0 or 1, or a score.

        A frame belongs to the range that holds the middle of its time on screen. A kept range so short that it holds no
        frame's middle keeps the frame on screen then.
        """
        row = self._kept if self.kind == "summe" else self._scored
        return np.stack([row(video, annotator, timeline) for annotator in video.annotators])

    def _kept(self, video: AnnotatedVideo, annotator: Annotator, timeline: Timeline) -> FloatArray:
        middles = _middles(timeline)
        row = np.zeros(timeline.n_frames, dtype=np.float32)
        for part in annotator.ranges:
            end_s = self._clipped(video, part, timeline)
            first, stop = np.searchsorted(middles, [part.start_s, end_s])
            if first == stop:
                first = timeline.frame_at((part.start_s + end_s) / 2)
            row[first : max(stop, first + 1)] = 1
        return row

    def _scored(self, video: AnnotatedVideo, annotator: Annotator, timeline: Timeline) -> FloatArray:
        middles = _middles(timeline)
        row = np.full(timeline.n_frames, np.nan, dtype=np.float32)
        reached_s = 0.0
        for part in sorted(annotator.ranges, key=lambda part: part.start_s):
            end_s = self._clipped(video, part, timeline)
            self._check_gap(video, annotator, reached_s, part.start_s)
            first, stop = np.searchsorted(middles, [part.start_s, end_s])
            row[first:stop] = part.score
            reached_s = max(reached_s, end_s)
        self._check_gap(video, annotator, reached_s, timeline.duration_s)
        return _filled(row, annotator)

    def _clipped(self, video: AnnotatedVideo, part: Range, timeline: Timeline) -> float:
        length_s = timeline.duration_s
        if part.start_s >= length_s or part.end_s > length_s + TOLERANCE_S:
            problem = f"{part.start_s:g} to {part.end_s:g} s is past the end of '{video.name}' ({length_s:.2f} s)"
            self._refuse(part.where, problem, "correct the times")
        return min(part.end_s, length_s)

    def _check_gap(self, video: AnnotatedVideo, annotator: Annotator, from_s: float, to_s: float) -> None:
        if to_s - from_s > TOLERANCE_S:
            problem = f"'{annotator.name}' gives no score from {from_s:g} to {to_s:g} s of '{video.name}'"
            self._refuse(video.where, problem, "score the whole video; 1 is least important")

    def _refuse(self, where: str, problem: str, remedy: str) -> NoReturn:
        raise DataError(self.path, f"{where}: {problem}", remedy)


def read_annotations(path: Path) -> Annotations:
    """Read a CSV or JSON file; a DataError names the line or key of the first thing that is wrong."""
    path = Path(path)
    text = _read_text(path)
    reader = _Reader(path)
    if path.suffix.lower() == ".json" or text.lstrip().startswith("{"):
        reader.read_json(text)
    else:
        reader.read_table(text)
    return reader.finish()


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})", "give the path of a CSV or JSON file") from error
    if not data.strip():
        raise DataError(path, "is empty", _TABLE_REMEDY)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(path, f"line {line}: is not UTF-8 text", "save it as 'CSV UTF-8'") from None
    if not text.strip():  # of spaces that bytes do not know
        raise DataError(path, "is empty", _TABLE_REMEDY)
    if "\0" in text:
        raise DataError(path, "is not a text file", "save it as 'CSV UTF-8'")
    return text


class _Reader:
    """Collects the ranges of a file, in the order they come, checking each on its own and against its neighbours."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind: Kind | None = None
        self.videos: dict[str, dict[str, list[Range]]] = {}
        self.places: dict[str, str] = {}

    def finish(self) -> Annotations:
        if self.kind is None or not self.videos:
            raise DataError(self.path, "annotates no video", "add a line for each part that a person keeps or scores")
        videos = {
            name: AnnotatedVideo(
                name,
                tuple(Annotator(person, tuple(ranges)) for person, ranges in people.items()),
                self.places[name],
            )
            for name, people in self.videos.items()
        }
        for video in videos.values():
            if not any(annotator.ranges for annotator in video.annotators):
                self._refuse(video.where, f"nobody keeps any part of '{video.name}'", "mark some, or leave it out")
            for annotator in video.annotators:
                self._check_person(video, annotator)
        return Annotations(self.path, self.kind, videos)

    def _check_person(self, video: AnnotatedVideo, annotator: Annotator) -> None:
        if self.kind == "summe":
            return
        if not annotator.ranges:
            self._refuse(video.where, f"'{annotator.name}' scores nothing of '{video.name}'", "score the whole video")
        by_start = sorted(annotator.ranges, key=lambda part: part.start_s)
        reaching: dict[float | None, Range] = {}  # of each score, the range that ends last so far
        for part in by_start:
            for score, earlier in reaching.items():
                if score != part.score and part.start_s < earlier.end_s - 1e-9:
                    overlap_s = f"{part.start_s:g} to {min(part.end_s, earlier.end_s):g} s"
                    problem = f"'{annotator.name}' scores {overlap_s} both {part.score:g} and {score:g}"
                    self._refuse(part.where, f"{problem} (see {earlier.where})", "give each part one score")
            last = reaching.get(part.score)
            if last is None or part.end_s > last.end_s:
                reaching[part.score] = part

    def read_table(self, text: str) -> None:
        header = text.lstrip().splitlines()[0]
        separator = max(",;\t", key=header.count)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True, skipinitialspace=True)
        columns: list[str] = []
        try:
            for row in rows:
                cells = [cell.strip() for cell in row]
                if not any(cells):
                    continue
                where = f"line {rows.line_num}"
                if not columns:
                    columns = self._columns(where, cells)
                    self.kind = "tvsum" if "score" in columns else "summe"
                else:
                    self._table_row(where, columns, cells)
        except csv.Error as error:
            self._refuse(f"line {rows.line_num}", f"is not a line of a table ({error})", _TABLE_REMEDY)

    def _columns(self, where: str, cells: Sequence[str]) -> list[str]:
        columns = [cell.lower() for cell in cells]
        for name in REQUIRED_COLUMNS:
            if name not in columns:
                self._refuse(where, f"has no column '{name}'", _TABLE_REMEDY)
        for name in columns:
            if name not in COLUMNS or columns.count(name) > 1:
                word = "is there twice" if name in COLUMNS else "is not known"
                self._refuse(where, f"the column '{name}' {word}", _TABLE_REMEDY)
        return columns

    def _table_row(self, where: str, columns: Sequence[str], cells: Sequence[str]) -> None:
        if len(cells) != len(columns):
            self._refuse(where, f"has {len(cells)} of {len(columns)} columns", f"they are {', '.join(columns)}")
        row = dict(zip(columns, cells, strict=True))
        for name in ("video", "annotator"):
            if not row[name]:
                self._refuse(where, f"names no {name}", "fill the column in")
        ranges = self._person(where, row["video"], row["annotator"])
        if not row["start_s"] and not row["end_s"] and not row.get("score"):
            return  # watched, and nothing kept
        score = row.get("score")
        if score == "":
            self._refuse(where, "has no score where other lines have one", "score every part, or drop the column")
        ranges.append(self._range(where, row["start_s"], row["end_s"], score))

    def read_json(self, text: str) -> None:
        try:
            content = json.loads(text, object_pairs_hook=self._object, parse_constant=self._constant)
        except (ValueError, RecursionError) as error:
            place = f"line {error.lineno}: " if isinstance(error, json.JSONDecodeError) else ""
            reason = error.msg if isinstance(error, json.JSONDecodeError) else "it cannot be parsed"
            raise DataError(self.path, f"{place}is not JSON ({reason})", _JSON_REMEDY) from None
        videos = self._fields("the file", content, "videos")["videos"]
        for name, video in self._expect("videos", videos, dict).items():
            where = f"videos/{name}"
            people = self._expect(f"{where}/annotators", self._fields(where, video, "annotators")["annotators"], list)
            if not name.strip() or not people:
                self._refuse(where, "has no annotators" if name.strip() else "is a video without a name", _JSON_REMEDY)
            for number, person in enumerate(people):
                self._json_person(f"{where}/annotators[{number}]", name.strip(), person)

    def _json_person(self, where: str, video: str, person: object) -> None:
        which = [key for key in ("keep", "scores") if isinstance(person, dict) and key in person]
        if len(which) != 1:
            self._refuse(where, "needs 'keep' or 'scores', and not both", _JSON_REMEDY)
        (key,) = which
        fields = self._fields(where, person, "name", key)
        name = self._expect(f"{where}/name", fields["name"], str).strip()
        if not name or name in self.videos.get(video, {}):
            problem = f"'{name}' is there twice" if name else "names no annotator"
            self._refuse(f"{where}/name", problem, "give each person of a video a name of their own")
        kind: Kind = "summe" if key == "keep" else "tvsum"
        if self.kind not in (None, kind):
            problem = f"has '{key}' where earlier annotators have the other kind"
            self._refuse(where, problem, "a file holds 'keep' only, or 'scores' only")
        self.kind = kind
        ranges = self._person(f"videos/{video}", video, name)
        n_values = 2 if kind == "summe" else 3
        for number, entry in enumerate(self._expect(f"{where}/{key}", fields[key], list)):
            place = f"{where}/{key}[{number}]"
            if not isinstance(entry, list) or len(entry) != n_values:
                shape = "[start, end]" if kind == "summe" else "[start, end, score]"
                self._refuse(place, f"is not {shape}", _JSON_REMEDY)
            start, end, *score = entry
            ranges.append(self._range(place, start, end, score[0] if score else None))

    def _object(self, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise DataError(self.path, f"has the key '{key}' twice in one place", "join the two")
            found[key] = value
        return found

    def _constant(self, name: str) -> NoReturn:
        raise DataError(self.path, f"holds {name}, which is no number", _TIME_REMEDY)

    def _fields(self, where: str, value: object, *names: str) -> dict[str, Any]:
        """An object that has these fields and no others."""
        fields: dict[str, Any] = self._expect(where, value, dict)
        for name in names:
            if name not in fields:
                self._refuse(where, f"has no '{name}'", _JSON_REMEDY)
        for name in fields:
            if name not in names:
                self._refuse(where, f"has '{name}', which is not known", _JSON_REMEDY)
        return fields

    def _expect(self, where: str, value: object, kind: type[Any]) -> Any:
        if not isinstance(value, kind):
            self._refuse(where, f"is not {_JSON_WORDS[kind.__name__]}", _JSON_REMEDY)
        return value

    def _person(self, where: str, video: str, name: str) -> list[Range]:
        self.places.setdefault(video, where)
        return self.videos.setdefault(video, {}).setdefault(name, [])

    def _range(self, where: str, start: object, end: object, score: object) -> Range:
        start_s, end_s = self._time(where, "start", start), self._time(where, "end", end)
        if end_s <= start_s:
            word = "where it starts" if end_s == start_s else "before it starts"
            self._refuse(where, f"ends {word} ({start} to {end})", "give the start, then the end")
        return Range(start_s, end_s, None if score is None else self._score(where, score), where)

    def _time(self, where: str, name: str, value: object) -> float:
        text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        if text.startswith("-"):
            self._refuse(where, f"the {name} '{text}' is negative", "times count from the video's first frame, 0")
        seconds = float(text) if isinstance(value, int | float) and text else _seconds(text)
        if seconds is None or seconds > 1e9:
            problem = f"the {name} '{value}' is not a time" if value not in ("", None) else f"has no {name}"
            self._refuse(where, problem, _TIME_REMEDY)
        return seconds

    def _score(self, where: str, value: object) -> float:
        text = str(value).strip()
        try:
            score = float(text) if isinstance(value, str | int | float) and not isinstance(value, bool) else np.nan
        except ValueError:
            score = np.nan
        if not LOWEST <= score <= HIGHEST:
            self._refuse(where, f"the score '{text}' is not a number from 1 to 5", "1 is least important, 5 most")
        return score

    def _refuse(self, where: str, problem: str, remedy: str) -> NoReturn:
        raise DataError(self.path, f"{where}: {problem}", remedy)


def _seconds(text: str) -> float | None:
    """62.5, 1:02.5 or 0:01:02.5; minutes may exceed 59 only where no hours are given."""
    if _SECONDS.fullmatch(text):
        return float(text)
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = float(match[1] or 0), float(match[2]), float(match[3])
        if seconds < 60 and (minutes < 60 or not match[1]):
            return 3600 * hours + 60 * minutes + seconds
    return None


def _middles(timeline: Timeline) -> FloatArray:
    """The middle of each frame's time on screen, in seconds."""
    edges = np.append(timeline.times_s, timeline.duration_s)
    return (edges[:-1] + edges[1:]) / 2  # (N,)


def _filled(row: FloatArray, annotator: Annotator) -> FloatArray:
    """Frames in a gap too short to matter take the score before it; at the start, the one after it."""
    known = np.flatnonzero(~np.isnan(row))
    if not len(known):  # a video of so few frames that no range holds the middle of one
        return np.full_like(row, max(annotator.ranges, key=lambda part: part.end_s - part.start_s).score)
    before = np.searchsorted(known, np.arange(len(row)), side="right") - 1
    return row[known[np.maximum(before, 0)]]


def _same(name: str) -> str:
    """Names that look alike are alike: file systems store accents in one of two ways."""
    return unicodedata.normalize("NFC", name)
