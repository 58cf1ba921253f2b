"""summary.json, version 2: from a summary and back, every value checked at the door."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from math import isclose
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from vastsum.errors import DataError
from vastsum.summary import Budget, ModelNames, SourceVideo, Summary, SummarySegment
from vastsum.types import PAPER_DECODER, Decoder, Marks, Stretch

VERSION = 2
_REMEDY = "make it again with: vastsum summarize VIDEO --formats json"
_HIGHEST = 1e30  # sums and squares of more would not be numbers any more
_TIME_TOLERANCE_S = 1e-3  # what other programs may round times to


def to_dict(summary: Summary) -> dict[str, Any]:
    return {
        "version": VERSION,
        "video": {**asdict(summary.video), "path": str(summary.video.path)},
        "model": asdict(summary.model),
        "budget": asdict(summary.budget),
        "decoder": asdict(summary.decoder),
        "picks": summary.picks.tolist(),
        "importance": summary.importance.tolist(),
        "uncertainty": summary.uncertainty.tolist(),
        "segments": [asdict(segment) for segment in summary.segments],
        "starts": summary.starts,
        "marks": {
            "cuts": list(summary.marks.cuts),
            "pauses": list(summary.marks.pauses),
            "speech": [{"first_frame": one.first_frame, "last_frame": one.last_frame} for one in summary.marks.speech],
            "empty": [one._asdict() for one in summary.marks.empty],
        },
        "nothing_stands_out": summary.nothing_stands_out,
        "summary": {"n_frames": summary.n_frames, "duration_s": summary.duration_s, "fraction": summary.fraction},
    }


def read(path: Path) -> Summary:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise DataError(path, "no such file", "check the name and the folder") from None
    except IsADirectoryError:
        raise DataError(path, "this is a folder", "name the summary.json in it") from None
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror or error})", "check its permissions") from None
    except UnicodeDecodeError:
        raise DataError(path, "not a summary.json: it is not text", _REMEDY) from None
    except json.JSONDecodeError as error:
        problem = f"not valid JSON (line {error.lineno}, column {error.colno}: {error.msg})"
        raise DataError(path, problem, _REMEDY) from None
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not valid JSON ({error})", _REMEDY) from None
    return from_dict(content, path)


def from_dict(content: object, where: object) -> Summary:
    """`where` is what errors name: the file the content came from."""
    root = _Entry(str(where), "", content)
    version = _version(root["version"])
    video = _video(root["video"])
    budget = _budget(root["budget"], video)
    picks = _picks(root["picks"], video.n_frames)
    importance = np.array(root["importance"].numbers(len(picks)))
    uncertainty = np.array(root["uncertainty"].numbers(len(picks), low=0.0))
    segments = _segments(root["segments"], video, version)
    model = ModelNames(root["model"]["scorer"].text(), root["model"]["backbone"].text())
    decoder = _decoder(root["decoder"]) if "decoder" in root.value else PAPER_DECODER  # chose before it was recorded
    summary = Summary(video, model, budget, np.array(picks), importance, uncertainty, segments, decoder=decoder)
    if version == 1:  # had no marks, and no chances
        summary = summary.judged()
    else:
        marks, even = _marks(root["marks"], video.n_frames), root["nothing_stands_out"].flag()
        summary = replace(summary, marks=marks, nothing_stands_out=even).found_at(_starts(root["starts"], segments))
    _check_totals(root["summary"], summary)
    return summary


@dataclass(frozen=True)
class _Entry:
    """A value in the file, and the key under which it stands there."""

    where: str
    key: str
    value: Any

    def refuse(self, problem: str, remedy: str = _REMEDY) -> NoReturn:
        raise DataError(self.where, f"{self.key}: {problem}" if self.key else problem, remedy)

    def __getitem__(self, name: str) -> _Entry:
        if not isinstance(self.value, dict):
            self.refuse(f"{{…}} expected, not {_shown(self.value)}")
        if name not in self.value:
            self.refuse(f"the key '{name}' is missing")
        return _Entry(self.where, f"{self.key}.{name}" if self.key else name, self.value[name])

    def entries(self, *, empty: bool = False) -> Iterator[_Entry]:
        if not isinstance(self.value, list) or not (self.value or empty):
            self.refuse(f"a list of at least one entry expected, not {_shown(self.value)}")
        for n, value in enumerate(self.value):
            yield _Entry(self.where, f"{self.key}[{n}]", value)

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            self.refuse(f"a text expected, not {_shown(self.value)}")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse(f"true or false expected, not {_shown(self.value)}")
        return self.value

    def integer(self, low: int, high: int | None = None) -> int:
        if type(self.value) is not int:
            self.refuse(f"a whole number expected, not {_shown(self.value)}")
        if self.value < low or (high is not None and self.value > high):
            self.refuse(f"{_shown(self.value)} is not {_interval(low, high)}")
        return self.value

    def number(self, low: float | None = None, high: float | None = None) -> float:
        if type(self.value) not in (int, float):
            self.refuse(f"a number expected, not {_shown(self.value)}")
        try:
            value = float(self.value)
        except OverflowError:
            value = float("inf")
        if not abs(value) <= _HIGHEST:
            self.refuse("too large for a number")
        if (low is not None and value < low) or (high is not None and value > high):
            self.refuse(f"{_shown(self.value)} is not {_interval(low, high)}")
        return value

    def positive(self, high: float | None = None) -> float:
        value = self.number(0.0, high)
        if value == 0:
            self.refuse("0 is not above 0")
        return value

    def numbers(self, length: int, low: float | None = None) -> list[float]:
        values = [entry.number(low) for entry in self.entries()]
        if len(values) != length:
            self.refuse(f"{len(values)} values for {length} picks")
        return values


def _version(version: _Entry) -> int:
    value = version.integer(1)
    if value > VERSION:
        version.refuse(f"{value} is not known to this program, which reads up to {VERSION}", "update vastsum")
    return value


def _video(entry: _Entry) -> SourceVideo:
    return SourceVideo(
        path=Path(entry["path"].text()),
        duration_s=entry["duration_s"].positive(),
        fps=entry["fps"].positive(),
        n_frames=entry["n_frames"].integer(1, 2**53),
        width=entry["width"].integer(1),
        height=entry["height"].integer(1),
    )


def _budget(entry: _Entry, video: SourceVideo) -> Budget:
    fraction, seconds = entry["fraction"].positive(high=1.0), entry["seconds"].positive()
    if not isclose(seconds, fraction * video.duration_s, rel_tol=1e-6, abs_tol=_TIME_TOLERANCE_S):
        entry.refuse(f"{seconds} s are not {fraction} of the video's {video.duration_s} s")
    return Budget(fraction, seconds)


def _decoder(entry: _Entry) -> Decoder:
    """Within bounds that leave exp() and powers finite."""
    return Decoder(entry["sharpness"].number(0.0, 5.0), entry["length_power"].number(0.0, 2.0))


def _picks(entry: _Entry, n_frames: int) -> list[int]:
    picks = [pick.integer(0, n_frames - 1) for pick in entry.entries()]
    for n, (before, pick) in enumerate(pairwise(picks)):
        if pick <= before:
            entry.refuse(f"picks must increase, but {pick} follows {before} at place {n + 1}")
    return picks


def _segments(entry: _Entry, video: SourceVideo, version: int) -> tuple[SummarySegment, ...]:
    segments: list[SummarySegment] = []
    next_frame, next_s = 0, 0.0
    for row in entry.entries():
        segment = _segment(row, video.n_frames, version)
        if segment.start_frame != next_frame:
            row["start_frame"].refuse(
                f"segments must follow one another: {next_frame} expected, not {segment.start_frame}"
            )
        if abs(segment.start_s - next_s) > _TIME_TOLERANCE_S:
            row["start_s"].refuse(f"segments must follow one another: {next_s} s expected, not {segment.start_s}")
        if not segment.end_s > segment.start_s:
            row["end_s"].refuse(f"{segment.end_s} s is not after the start, {segment.start_s} s")
        next_frame, next_s = segment.end_frame + 1, segment.end_s
        segments.append(segment)
    if next_frame != video.n_frames:
        entry.refuse(f"they end at frame {next_frame - 1}, the video at {video.n_frames - 1}")
    if abs(next_s - video.duration_s) > _TIME_TOLERANCE_S:
        entry.refuse(f"they end at {next_s} s, the video at {video.duration_s} s")
    if not any(segment.selected for segment in segments):
        entry.refuse("none is selected, but a summary is never empty")
    return tuple(segments)


def _segment(row: _Entry, n_frames: int, version: int) -> SummarySegment:
    start_frame = row["start_frame"].integer(0, n_frames - 1)
    return SummarySegment(
        start_frame=start_frame,
        end_frame=row["end_frame"].integer(start_frame, n_frames - 1),
        start_s=row["start_s"].number(low=0.0),
        end_s=row["end_s"].number(low=0.0),
        importance=row["importance"].number(),
        uncertainty=row["uncertainty"].number(low=0.0),
        chance=row["chance"].number(0.0, 1.0) if version > 1 else 0.0,
        selected=row["selected"].flag(),
    )


def _starts(entry: _Entry, segments: tuple[SummarySegment, ...]) -> tuple[int, ...]:
    starts = _frames(entry, segments[-1].end_frame + 1)
    if starts[:1] != (0,) or not {segment.start_frame for segment in segments}.issuperset(starts):
        entry.refuse("the first must be 0, and at each a segment must start")
    return starts


def _marks(entry: _Entry, n_frames: int) -> Marks:
    cuts, pauses = (_frames(entry[name], n_frames) for name in ("cuts", "pauses"))
    speech = tuple(_stretches(entry["speech"], n_frames))
    empty = [
        one._replace(kind=row["kind"].text())
        for one, row in zip(_stretches(entry["empty"], n_frames), entry["empty"].entries(empty=True), strict=True)
    ]
    return Marks(cuts, pauses, speech, tuple(empty))


def _frames(entry: _Entry, n_frames: int) -> tuple[int, ...]:
    frames = [frame.integer(0, n_frames - 1) for frame in entry.entries(empty=True)]
    if any(frame <= before for before, frame in pairwise(frames)):
        entry.refuse("frames must increase")
    return tuple(frames)


def _stretches(entry: _Entry, n_frames: int) -> list[Stretch]:
    stretches: list[Stretch] = []
    for row in entry.entries(empty=True):
        first = row["first_frame"].integer(stretches[-1].last_frame + 1 if stretches else 0, n_frames - 1)
        stretches.append(Stretch(first, row["last_frame"].integer(first, n_frames - 1)))
    return stretches


def _check_totals(entry: _Entry, summary: Summary) -> None:
    if entry["n_frames"].integer(1) != summary.n_frames:
        entry["n_frames"].refuse(f"the selected segments hold {summary.n_frames} frames, not {entry['n_frames'].value}")
    for name, actual in (("duration_s", summary.duration_s), ("fraction", summary.fraction)):
        if not isclose(entry[name].positive(), actual, rel_tol=1e-6, abs_tol=_TIME_TOLERANCE_S):
            entry[name].refuse(f"the selected segments give {actual}, not {entry[name].value}")


def _interval(low: float | None, high: float | None) -> str:
    return f"at least {low}" if high is None else f"between {low} and {high}"


def _shown(value: object) -> str:
    """Short enough for a message, however large the value is."""
    if isinstance(value, dict | list):
        return "{…}" if isinstance(value, dict) else f"a list of {len(value)}"
    if isinstance(value, int) and abs(value) > 10**30:
        return "a huge number"
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "…"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")
