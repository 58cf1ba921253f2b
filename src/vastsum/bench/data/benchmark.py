"""Reading benchmark files: one HDF5 file a dataset, one group a video, in all the variants found in the wild.

What differs between files without changing their meaning is accepted. Whatever cannot be used is a `Problem` that names
the video, the key and the remedy: `load_dataset` raises the first one, `vastsum check` lists them all.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from vastsum.bench.data.global_heaps import has_endless_heap
from vastsum.bench.data.scores_tsv import read_scores_tsv
from vastsum.errors import DataError, MissingExtraError
from vastsum.types import BoolArray, FloatArray, IntArray, Kind, Segments

if TYPE_CHECKING:
    import h5py


MAX_FPS = 1000
_LARGEST_FEATURE = 1e15  # so that squares can be summed in single precision

# What h5py raises where a file is damaged in its structure: names that are no text, objects that are not what they
# say, sizes beyond all memory.
_DAMAGE = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError, MemoryError)


@dataclass(frozen=True, eq=False)
class BenchmarkVideo:
    """One video of a benchmark: what a scorer sees, and what people said of it."""

    name: str
    features: FloatArray  # (T, D)
    segments: Segments
    user_scores: FloatArray | None  # (U, N) importance in [0, 1]
    user_summaries: BoolArray | None  # (U, N)
    title: str = ""
    category: str = ""

    @property
    def kind(self) -> Kind:
        """How people annotated it."""
        return "summe" if self.user_scores is None else "tvsum"

    @property
    def said(self) -> FloatArray | BoolArray:
        """What each person said of each frame: the scores, or the summaries where there are none."""
        said = self.user_summaries if self.user_scores is None else self.user_scores
        assert said is not None, "the reader guarantees one of the two"
        return said  # (U, N)

    @cached_property
    def annotations(self) -> FloatArray:
        """What each person said at each pick: s^(a) in [0, 1], or y^(a) in {0, 1} where there are no scores."""
        return self.said[:, self.segments.picks].astype(np.float32)  # (U, T)

    def with_channels(self) -> BenchmarkVideo:
        from vastsum.features.relative import with_channels  # scipy takes time to load

        return replace(self, features=with_channels(self.features, self.segments.times_s))

    @cached_property
    def people_value(self) -> FloatArray:
        """h: people's mean score of each frame, or the share of people who took it."""
        return self.said.mean(axis=0, dtype=np.float64)  # (N,)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark file in memory. `kind` says how people annotated it: tvsum by scores, summe by binary summaries."""

    path: Path
    kind: Kind
    videos: dict[str, BenchmarkVideo]
    notes: tuple[Problem, ...] = ()

    @property
    def feature_width(self) -> int:
        return next(iter(self.videos.values())).features.shape[1]

    @cached_property
    def relative(self) -> Dataset:
        """The same videos, features about their mean, with relative channels beside them."""
        return replace(self, videos={name: video.with_channels() for name, video in self.videos.items()})

    def seen(self, *, relative: bool) -> Dataset:
        return self.relative if relative else self

    @cached_property
    def fingerprint(self) -> str:
        """Identifies the content, wherever the file lies: what was trained on it can be recognised again."""
        digest = hashlib.sha256(self.kind.encode())
        for name, video in sorted(self.videos.items()):
            digest.update(f"{name} {video.features.shape}".encode())
            for array in (video.features, video.segments.bounds, video.segments.picks, video.annotations):
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Problem:
    """Something wrong with a file. A note was dealt with as it says; anything else makes the video unusable."""

    video: str
    key: str
    message: str
    remedy: str = ""
    is_note: bool = False

    def __str__(self) -> str:
        place = "/".join(part for part in (self.video, self.key) if part)
        return f"{place}: {self.message}" + (f"; {self.remedy}" if self.remedy else "")


@dataclass
class Inspection:
    """Everything found in a file: the usable videos, every problem, and a line a video on what is there."""

    path: Path
    kind: Kind
    videos: dict[str, BenchmarkVideo] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    contents: dict[str, str] = field(default_factory=dict)

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if not problem.is_note]


def load_dataset(path: Path, *, kind: Kind | None = None, scores: Path | None = None) -> Dataset:
    """The whole file, or a DataError that names its first problem."""
    found = inspect_file(path, kind=kind, scores=scores)
    if found.errors:
        first, n_more = found.errors[0], len(found.errors) - 1
        more = f" (and {n_more} more: run 'vastsum check {path}')" if n_more else ""
        raise DataError(path, f"{first}{more}")
    notes = tuple(problem for problem in found.problems if problem.is_note)
    return Dataset(Path(path), found.kind, found.videos, notes)


def inspect_file(path: Path, *, kind: Kind | None = None, scores: Path | None = None) -> Inspection:
    """Read every video and collect what is wrong, rather than stop at the first problem."""
    path = Path(path)
    try:
        return _inspected(path, kind, scores)
    except _DAMAGE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(path, f"is damaged ({reason})", "download or make the file again") from error


def _inspected(path: Path, kind: Kind | None, scores: Path | None) -> Inspection:
    with _open(path) as file:
        _refuse_other_files(path, file)
        groups = {name: file[name] for name in sorted(file, key=_natural) if _is_group(file, name)}
        if not groups:
            raise DataError(
                path, "holds no groups, so no videos", "a benchmark file has one group a video (video_1, …)"
            )
        titles = {name: _text(group, "video_name") for name, group in groups.items()}
        tsv = read_scores_tsv(scores, titles) if scores else {}
        found = Inspection(path, kind or _guess_kind(path, file.attrs, groups, has_tsv=bool(tsv)))
        for name, group in groups.items():
            found.contents[name] = _contents(group)
            reader = _VideoReader(name, group, found.kind, tsv.get(name))
            video = reader.read()
            found.problems += reader.problems
            if video is not None:
                found.videos[name] = video
    found.problems += _width_problems(found.videos)
    return found


def _open(path: Path) -> h5py.File:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "train") from error
    if not path.exists():
        raise DataError(
            path, "does not exist", "give the path of a benchmark .h5 file, or make one with 'vastsum synth'"
        )
    if not path.is_file():  # opening a pipe would wait for someone to write to it
        kind = "folder" if path.is_dir() else "pipe or a device"
        raise DataError(path, f"is a {kind}", "give the path of a benchmark .h5 file")
    try:
        if has_endless_heap(path):
            raise DataError(path, "is damaged: its texts cannot be read", "download or make the file again")
        return h5py.File(path, "r")
    except OSError as error:
        reason = (
            "cannot be read (permission denied)"
            if isinstance(error, PermissionError)
            else "is not a readable HDF5 file"
        )
        raise DataError(path, reason, "check that the download is complete and is a benchmark .h5 file") from error


def _refuse_other_files(path: Path, file: h5py.File) -> None:
    """An HDF5 file may name others, by links or as the place of its numbers, and so have us read any file there is."""
    _refuse_named_files(path, file)
    for name in file:
        if _is_group(file, name):
            _refuse_named_files(path, file[name])


def _refuse_named_files(path: Path, group: h5py.Group) -> None:
    import h5py

    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise DataError(path, f"{group.name.rstrip('/')}/{name} is only a link", "store the data itself there")
        item = group[name]
        if isinstance(item, h5py.Dataset) and (item.external or item.is_virtual):
            raise DataError(path, f"{item.name} is kept in other files", "make one file that holds everything")


def _is_group(file: h5py.File, name: str) -> bool:
    return hasattr(file[name], "keys")


def _natural(name: str) -> list[Any]:
    """video_2 before video_10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


def _guess_kind(path: Path, attributes: Mapping[str, Any], groups: Mapping[str, h5py.Group], *, has_tsv: bool) -> Kind:
    declared = attributes.get("dataset")
    declared = declared.decode() if isinstance(declared, bytes) else declared
    if declared in ("summe", "tvsum"):
        return cast(Kind, declared)
    if has_tsv or any("user_scores" in group for group in groups.values()):
        return "tvsum"
    if "tvsum" in path.name.lower():
        raise DataError(
            path,
            "looks like TVSum but has no 'user_scores'",
            "give --scores ydata-tvsum50-anno.tsv, or --dataset summe to learn from its binary summaries",
        )
    return "summe"


def _contents(group: h5py.Group) -> str:
    shapes = {key: group[key].shape for key in group if hasattr(group[key], "shape")}
    return ", ".join(
        f"{key} {'empty' if shape is None else '×'.join(map(str, shape)) or 'scalar'}" for key, shape in shapes.items()
    )


def _width_problems(videos: Mapping[str, BenchmarkVideo]) -> list[Problem]:
    widths = {name: video.features.shape[1] for name, video in videos.items()}
    if len(set(widths.values())) < 2:
        return []
    usual = max(set(widths.values()), key=list(widths.values()).count)
    return [
        Problem(
            name, "features", f"is {width} wide where the other videos have {usual}", "extract all with one backbone"
        )
        for name, width in widths.items()
        if width != usual
    ]


def _text(group: h5py.Group, key: str) -> str:
    if key not in group:
        return ""
    if not _is_text(group[key]):
        raise ValueError(f"{group.name}/{key} is no text")
    value = np.asarray(group[key][()]).reshape(-1)
    first = value[0] if len(value) else ""
    return first.decode("utf-8", "replace") if isinstance(first, bytes) else str(first)


def _is_text(item: Any) -> bool:
    """Asked before it is read: libhdf5 crashes on lists of any length whose kind is damaged."""
    import h5py

    return hasattr(item, "dtype") and (item.dtype.kind == "S" or h5py.check_string_dtype(item.dtype) is not None)


class _UnusableError(Exception):
    """Raised inside the reader once a key cannot be used; the problem is recorded already."""


class _VideoReader:
    """Reads one group, key by key, keeping a list of what is wrong."""

    def __init__(self, name: str, group: h5py.Group, kind: Kind, tsv_scores: FloatArray | None) -> None:
        self.name, self.group, self.kind, self.tsv_scores = name, group, kind, tsv_scores
        self.problems: list[Problem] = []

    def read(self) -> BenchmarkVideo | None:
        # Each part is read even where another is broken, so that one run of `check` shows everything.
        features = self._attempt(self._features)
        n_frames = self._attempt(self._n_frames)
        picks = self._attempt(self._picks, n_frames)
        bounds = self._attempt(self._bounds, n_frames)
        user_summaries = self._attempt(self._user_summaries, n_frames)
        user_scores = self._attempt(self._user_scores, n_frames)
        fps = self._fps()
        if features is not None and picks is not None:
            features, picks = self._align(features, picks)
        if any(not problem.is_note for problem in self.problems):
            return None
        return BenchmarkVideo(
            name=self.name,
            features=features,
            segments=Segments(bounds, picks, n_frames, fps),
            user_scores=user_scores,
            user_summaries=user_summaries,
            title=_text(self.group, "video_name"),
            category=_text(self.group, "category"),
        )

    def _attempt(self, read: Any, *needs: Any) -> Any:
        if any(need is None for need in needs):
            return None
        try:
            return read(*needs)
        except _UnusableError:
            return None

    def _note(self, key: str, message: str) -> None:
        self.problems.append(Problem(self.name, key, message, is_note=True))

    def _fail(self, key: str, message: str, remedy: str) -> _UnusableError:
        self.problems.append(Problem(self.name, key, message, remedy))
        return _UnusableError()

    def _array(self, key: str, remedy: str) -> Any:
        if key not in self.group:
            raise self._fail(key, "is missing", remedy)
        item = self.group[key]
        if not hasattr(item, "shape"):
            raise self._fail(key, "is a group where an array belongs", remedy)
        if item.shape is None:
            raise self._fail(key, "is empty", remedy)
        if item.dtype.kind not in "biuf":
            raise self._fail(key, f"holds {item.dtype} where numbers belong", remedy)
        try:
            array = np.asarray(item[()])
        except OSError:
            raise self._fail(key, "cannot be read (damaged file)", "download or make the file again") from None
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._fail(
                key, f"holds {int((~np.isfinite(array)).sum())} NaN or infinite values", "extract it again"
            )
        return array

    def _whole_numbers(self, key: str, remedy: str) -> IntArray:
        array = self._array(key, remedy)
        if array.dtype.kind == "f" and (array != np.round(array)).any():
            raise self._fail(key, "holds fractions where frame numbers belong", remedy)
        return array.astype(np.int64)

    def _features(self) -> FloatArray:
        features = self._array("features", "extract features first: one vector a pick")
        if features.ndim != 2 or 0 in features.shape:
            raise self._fail("features", f"has shape {features.shape}", "it must be T×D with at least one vector")
        if max(float(features.max()), -float(features.min())) > _LARGEST_FEATURE:
            raise self._fail("features", f"holds values beyond {_LARGEST_FEATURE:g}", "extract it again")
        return features.astype(np.float32)

    def _n_frames(self) -> int:
        if "n_frames" not in self.group and "user_summary" in self.group and self.group["user_summary"].ndim == 2:
            n_frames = int(self.group["user_summary"].shape[1])
            self._note("n_frames", f"is missing; taken as {n_frames} from user_summary")
            return n_frames
        values = self._whole_numbers("n_frames", "store the number of frames of the video").reshape(-1)
        if len(values) != 1 or values[0] < 1:
            raise self._fail("n_frames", "is not one positive number", "store the number of frames of the video")
        return int(values[0])

    def _fps(self) -> float:
        """Frames a second; where the file does not say, the default of Segments."""
        if "fps" not in self.group:
            return Segments.fps
        values = np.asarray(self.group["fps"][()]).reshape(-1)
        if len(values) == 1 and values.dtype.kind in "iuf" and 1 <= values[0] <= MAX_FPS:
            return float(values[0])
        self._note("fps", f"is no frame rate; {Segments.fps:g} frames a second are assumed")
        return Segments.fps

    def _picks(self, n_frames: int) -> IntArray:
        picks = self._whole_numbers("picks", "store the frame index of each feature vector (0, 15, 30, …)").reshape(-1)
        if not len(picks):
            raise self._fail("picks", "is empty", "store the frame index of each feature vector")
        if (np.diff(picks) <= 0).any():
            place = int(np.flatnonzero(np.diff(picks) <= 0)[0]) + 1
            raise self._fail("picks", f"does not increase at position {place}", "sort them and drop repeats")
        if picks[0] < 0 or picks[-1] >= n_frames:
            message = f"is out of range: {picks[0]} … {picks[-1]} in a video of {n_frames} frames"
            raise self._fail("picks", message, "picks must lie in 0 … n_frames − 1")
        return picks

    def _bounds(self, n_frames: int) -> IntArray:
        bounds = self._whole_numbers("change_points", "store segments as inclusive [start, end] rows")
        if bounds.ndim != 2 or bounds.shape[1] != 2 or not len(bounds):
            raise self._fail("change_points", f"has shape {bounds.shape}", "it must be M×2 with at least one segment")
        bounds = self._inclusive(bounds, n_frames)
        if (bounds[:, 1] < bounds[:, 0]).any():
            row = int(np.flatnonzero(bounds[:, 1] < bounds[:, 0])[0])
            raise self._fail("change_points", f"row {row} ends before it starts", "store [start, end] with start ≤ end")
        steps = bounds[1:, 0] - bounds[:-1, 1]
        for wrong, word in ((steps < 1, "overlap"), (steps > 1, "leave a gap")):
            if wrong.any():
                row = int(np.flatnonzero(wrong)[0])
                pair = f"rows {row} and {row + 1} ({bounds[row].tolist()}, {bounds[row + 1].tolist()})"
                raise self._fail("change_points", f"{pair} {word}", "segments must be contiguous and disjoint")
        if bounds[0, 0] != 0 or bounds[-1, 1] != n_frames - 1:
            message = f"covers {bounds[0, 0]} … {bounds[-1, 1]} of 0 … {n_frames - 1}"
            raise self._fail("change_points", message, "segments must cover the whole video")
        self._check_lengths(bounds)
        return bounds

    def _inclusive(self, bounds: IntArray, n_frames: int) -> IntArray:
        """Two conventions end at N and can be told apart: every end exclusive, or only the last one off by one."""
        if bounds[-1, 1] != n_frames:
            return bounds
        bounds = bounds.copy()
        if len(bounds) > 1 and (bounds[1:, 0] == bounds[:-1, 1]).all():
            self._note("change_points", "has exclusive ends; read as inclusive [start, end − 1]")
            bounds[:, 1] -= 1
        else:
            self._note("change_points", f"ends at {n_frames}; read as ending at the last frame, {n_frames - 1}")
            bounds[-1, 1] -= 1
        return bounds

    def _check_lengths(self, bounds: IntArray) -> None:
        if "n_frame_per_seg" not in self.group:
            return
        stated = self._whole_numbers("n_frame_per_seg", "store the length of each segment").reshape(-1)
        lengths = bounds[:, 1] - bounds[:, 0] + 1
        if len(stated) != len(lengths):
            message = f"has {len(stated)} entries for {len(lengths)} segments"
            raise self._fail("n_frame_per_seg", message, "store the length of each segment, or leave the key out")
        if (stated != lengths).any():
            self._note("n_frame_per_seg", "disagrees with change_points, which decide")

    def _user_summaries(self, n_frames: int) -> BoolArray | None:
        if "user_summary" not in self.group and self.kind == "tvsum":
            self._note("user_summary", "is missing; F1 cannot be computed")
            return None
        summaries = self._array("user_summary", "store one binary row a person")
        self._check_rows("user_summary", summaries, n_frames)
        if not np.isin(summaries, (0, 1)).all():
            raise self._fail("user_summary", "holds values other than 0 and 1", "store one binary row a person")
        return summaries.astype(bool)

    def _user_scores(self, n_frames: int) -> FloatArray | None:
        if self.kind == "summe":
            return None
        remedy = "give --scores ydata-tvsum50-anno.tsv, or --dataset summe"
        scores = self.tsv_scores if self.tsv_scores is not None else self._array("user_scores", remedy)
        self._check_rows("user_scores", scores, n_frames)
        if scores.min() < 1 or scores.max() > 5:
            message = f"runs from {scores.min():g} to {scores.max():g}"
            raise self._fail("user_scores", message, "importance is given on a scale of 1 to 5")
        return (scores.astype(np.float32) - 1) / 4

    def _check_rows(self, key: str, rows: Any, n_frames: int) -> None:
        if rows.ndim != 2 or not len(rows):
            raise self._fail(key, f"has shape {rows.shape}", "it must be U×N, one row a person")
        if rows.shape[1] != n_frames:
            message = f"has {rows.shape[1]} columns for {n_frames} frames"
            raise self._fail(key, message, "it needs one value a frame of the video")

    def _align(self, features: FloatArray, picks: IntArray) -> tuple[FloatArray, IntArray]:
        """Files made by different tools differ by one sampled frame at the end; more than that is an error."""
        n_steps = min(len(features), len(picks))
        if abs(len(features) - len(picks)) > 1:
            message = f"has {len(features)} vectors for {len(picks)} picks"
            self.problems.append(Problem(self.name, "features", message, "it needs one vector a pick"))
        elif len(features) != len(picks):
            self._note("features", f"has {len(features)} vectors for {len(picks)} picks; the first {n_steps} are used")
        for key in ("gtscore", "n_steps"):
            self._check_steps(key, n_steps)
        return features[:n_steps], picks[:n_steps]

    def _check_steps(self, key: str, n_steps: int) -> None:
        if key not in self.group:
            return
        item = self.group[key]
        stated = (
            int(np.asarray(item[()]).reshape(-1)[0]) if key == "n_steps" else int(item.shape[0]) if item.shape else 0
        )
        if abs(stated - n_steps) > 1:
            message = f"says {stated} steps where features and picks have {n_steps}"
            self.problems.append(Problem(self.name, key, message, "extract the file again, or leave the key out"))
        elif stated != n_steps:
            self._note(key, f"says {stated} steps where features and picks have {n_steps}; it is not used")
