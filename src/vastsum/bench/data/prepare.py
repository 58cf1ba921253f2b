"""One's own videos in, a benchmark file out: what `vastsum train` learns from.

Watching is what takes long, so what is seen of each video is kept beside the output (`<output>.parts/`, one .npz a
video) until the whole file is written: a run that was stopped goes on where it was, and a corrected annotation file
costs seconds. Annotations are put on frames at the end and are no part of what is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from unicodedata import normalize
from zipfile import BadZipFile

import numpy as np

from vastsum import __version__
from vastsum.bench.data.annotations import AnnotatedVideo, Annotations, read_annotations
from vastsum.errors import ConfigError, DataError, MissingExtraError, OutputError, VastsumError, VideoError
from vastsum.features import DEFAULT_BACKBONE, Backbone, load_backbone
from vastsum.features.watching import watch
from vastsum.files import atomic_path
from vastsum.segmentation import max_segment_s, segment
from vastsum.selection import knapsack, segment_means
from vastsum.selection.decode import DEFAULT_BUDGET
from vastsum.types import FloatArray, IntArray, Kind, Segments
from vastsum.video import Timeline

if TYPE_CHECKING:
    import h5py

Progress = Callable[[Path, float, float | None], None]
"""Told as work goes on: the video, the seconds of it that were watched, and of how many where that is known."""

DEFAULT_FPS = 2.0
LOWEST_FPS, HIGHEST_FPS = 0.001, 1000.0
PARTS_FORMAT = 1


@dataclass(frozen=True, eq=False)
class SeenVideo:
    """What was seen of a video: all of its group in the file but the annotations."""

    features: FloatArray  # (T, D), rows of length one
    segments: Segments
    timeline: Timeline


@dataclass(frozen=True)
class PreparedVideo:
    """A group of the file. `reused`: it had been watched by an earlier run."""

    path: Path
    name: str
    n_picks: int
    n_frames: int
    n_segments: int
    n_annotators: int
    warnings: tuple[str, ...]
    reused: bool


@dataclass(frozen=True)
class Prepared:
    """What was written, what was left out and why, and the folder that is kept if something was."""

    path: Path
    kind: Kind | None  # None where there are no annotations
    videos: tuple[PreparedVideo, ...]
    failures: tuple[tuple[Path, VastsumError], ...]
    parts: Path | None


def prepare(
    videos: Sequence[str | os.PathLike[str]],
    destination: str | os.PathLike[str],
    *,
    annotations: str | os.PathLike[str] | None = None,
    fps: float = DEFAULT_FPS,
    backbone: str = DEFAULT_BACKBONE,
    weights: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Prepared:
    """Build a benchmark file from videos and, where given, what people said of them (docs/annotations.md).

    A group is named after its video's file (see `group_names`). A video that cannot be read, or whose annotations do
    not fit its length, is left out and reported among the `failures`; if none is left, that is an error.
    """
    _need_h5py()
    destination = Path(destination)
    paths = group_names([Path(video) for video in videos])
    if not LOWEST_FPS <= fps <= HIGHEST_FPS:
        raise ConfigError("fps", f"{fps} is not a sampling rate", "give a number above 0, such as 2")
    said = read_annotations(Path(annotations)) if annotations is not None else None
    people = said.matched(paths) if said else {}
    network = load_backbone(backbone, Path(weights) if weights is not None else None)
    parts = _Parts(destination, {"fps": fps, "backbone": backbone, "weights": _checksum(weights)})

    done: list[PreparedVideo] = []
    failures: list[tuple[Path, VastsumError]] = []
    for name, path in paths.items():
        try:
            done.append(_prepare_one(name, path, network, fps, parts, said, people.get(name), progress))
        except (VideoError, DataError) as error:
            failures.append((path, error))
    if not done:
        parts.remove_if_empty()
        _refuse_all(destination, failures)
    attributes = {"backbone": backbone, "normalised": "l2", "fps": fps} | ({"dataset": said.kind} if said else {})
    with atomic_path(destination) as temporary:
        _write(temporary, attributes, done, parts, said, people)
    if not failures:
        parts.remove()
    return Prepared(
        destination, said.kind if said else None, tuple(done), tuple(failures), parts.folder if failures else None
    )


def group_names(videos: Iterable[Path]) -> dict[str, Path]:
    """Each video under the name of its group: its file name without the ending, anything but letters, digits, '-',
    '.' and '_' replaced by '_'. Two videos of one name are an error: annotations could not tell them apart.
    """
    found: dict[str, Path] = {}
    for path in videos:
        name = _safe(path.stem)
        if name in found:
            problem = f"would have the same name in the file as {found[name]} ('{name}')"
            raise ConfigError(path, problem, "rename one of the two")
        found[name] = path
    if not found:
        raise ConfigError("videos", "none were given", "name at least one")
    return found


def see(video: Path, backbone: Backbone, fps: float, progress: Progress | None = None) -> SeenVideo:
    """Sample a video, turn the frames into vectors and cut it where they change.

    Segments are those of published files: kernel change points. None is so long that it cannot be chosen.
    """
    report = (lambda done_s, total_s: progress(video, done_s, total_s)) if progress else None
    features, picks, timeline, _ = watch(video, backbone, fps, progress=report)
    longest_s = max_segment_s(timeline.duration_s, DEFAULT_BUDGET)
    segments = segment(features, picks, timeline.n_frames, timeline.fps, max_s=longest_s)
    return SeenVideo(features.astype(np.float16), segments, timeline)


def _prepare_one(
    name: str,
    path: Path,
    backbone: Backbone,
    fps: float,
    parts: _Parts,
    said: Annotations | None,
    people: AnnotatedVideo | None,
    progress: Progress | None,
) -> PreparedVideo:
    stamp = parts.stamp(path)
    seen = parts.find(name, stamp)
    reused = seen is not None
    if seen is None:
        seen = see(path, backbone, fps, progress)
        parts.save(name, stamp, seen)
    if said and people:
        said.frames(people, seen.timeline)  # whether they fit is known only now
    return PreparedVideo(
        path=path,
        name=name,
        n_picks=len(seen.segments.picks),
        n_frames=seen.timeline.n_frames,
        n_segments=len(seen.segments),
        n_annotators=len(people.annotators) if people else 0,
        warnings=seen.timeline.warnings,
        reused=reused,
    )


def _write(
    destination: Path,
    attributes: Mapping[str, object],
    videos: Sequence[PreparedVideo],
    parts: _Parts,
    said: Annotations | None,
    people: Mapping[str, AnnotatedVideo],
) -> None:
    import h5py

    with h5py.File(destination, "w", locking=False) as file:
        file.attrs.update(attributes)
        for video in videos:
            seen = parts.load(video.name)
            content = _content(video.path, seen)
            if said:
                content |= _opinions(said, people[video.name], seen)
            _fill(file.create_group(video.name), content)


def _content(path: Path, seen: SeenVideo) -> dict[str, object]:
    segments = seen.segments
    return {
        "features": seen.features,
        "picks": segments.picks,
        "n_frames": segments.n_frames,
        "n_steps": len(segments.picks),
        "change_points": segments.bounds,
        "n_frame_per_seg": segments.lengths,
        "fps": seen.timeline.fps,
        "video_name": _encodable(path.stem),
    }


def _opinions(said: Annotations, people: AnnotatedVideo, seen: SeenVideo) -> dict[str, object]:
    """The annotations as the benchmarks hold them. `gtscore` is the mean person at the picks, from 0 to 1.

    Where people gave scores, the summary each would have made is what the knapsack takes at the default budget: that
    is how TVSum's were made, and what F1 is measured on.
    """
    rows = said.frames(people, seen.timeline)  # (U, N)
    mean = rows.mean(axis=0)[seen.segments.picks]  # (T,)
    if said.kind == "summe":
        return {"user_summary": rows.astype(np.uint8), "gtscore": mean}
    lengths, bounds = seen.segments.lengths, seen.segments.bounds
    values = np.stack([segment_means(row, bounds) for row in rows])  # (U, M)
    chosen = knapsack(values, lengths, int(DEFAULT_BUDGET * seen.segments.n_frames))
    summaries = np.repeat(chosen, lengths, axis=1).astype(np.uint8)
    return {"user_scores": rows, "user_summary": summaries, "gtscore": (mean - 1) / 4}


def _fill(group: h5py.Group, content: Mapping[str, object]) -> None:
    for key, value in content.items():
        # One value a frame and person, most of them the same as the one before: a thousandth of the size when packed.
        packing = {"compression": "gzip", "shuffle": True} if key.startswith("user_") else {}
        group.create_dataset(key, data=value, **packing)


class _Parts:
    """What was seen of each video, on disk until the output is whole. A part that does not fit any more is ignored."""

    def __init__(self, destination: Path, settings: dict[str, object]) -> None:
        self.folder = destination.with_name(destination.name + ".parts")
        self._settings = settings | {"format": PARTS_FORMAT, "vastsum": __version__}
        if destination.is_dir():
            raise OutputError(destination, "is a folder", "give the name of a file with -o")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                self.folder, f"cannot be made ({error.strerror})", "choose another place with -o"
            ) from error

    def _path(self, name: str) -> Path:
        return self.folder / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}.npz"

    def stamp(self, path: Path) -> str:
        """Says of which state of a video, under which settings, a part is made."""
        try:
            status = path.stat()
        except OSError:
            return ""  # no part has this one; watching it will say what is wrong
        return json.dumps([_encodable(path.name), status.st_size, status.st_mtime_ns, self._settings], sort_keys=True)

    def save(self, name: str, stamp: str, seen: SeenVideo) -> None:
        timeline, segments = seen.timeline, seen.segments
        with atomic_path(self._path(name)) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                stamp=np.array(stamp),
                features=seen.features,
                picks=segments.picks,
                bounds=segments.bounds,
                pts=timeline.pts,
                time_base=np.array([timeline.time_base.numerator, timeline.time_base.denominator]),
                last_frame_duration=np.array(timeline.last_frame_duration),
                keyframes=timeline.keyframes,
                warnings=np.array(timeline.warnings, dtype=np.str_),
            )

    def find(self, name: str, stamp: str) -> SeenVideo | None:
        """What an earlier run saw, if it was of the same video under the same settings and can be read."""
        try:
            with np.load(self._path(name), allow_pickle=False) as part:
                return _restored(part) if str(part["stamp"]) == stamp else None
        except (OSError, ValueError, KeyError, EOFError, BadZipFile):
            return None

    def load(self, name: str) -> SeenVideo:
        """What this run saw or found."""
        try:
            with np.load(self._path(name), allow_pickle=False) as part:
                return _restored(part)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise OutputError(self.folder, "lost a part while it was needed", "run the command again") from error

    def remove(self) -> None:
        """Remove our files, and the folder unless somebody else's are in it."""
        for file in [*self.folder.glob("*.npz"), *self.folder.glob(".*.part")]:
            with suppress(OSError):
                file.unlink()
        self.remove_if_empty()

    def remove_if_empty(self) -> None:
        with suppress(OSError):
            self.folder.rmdir()


def _restored(part: Mapping[str, Any]) -> SeenVideo:
    pts: IntArray = part["pts"]
    timeline = Timeline(
        pts=pts,
        time_base=Fraction(*map(int, part["time_base"])),
        last_frame_duration=int(part["last_frame_duration"]),
        keyframes=part["keyframes"],
        warnings=tuple(map(str, part["warnings"])),
    )
    return SeenVideo(part["features"], Segments(part["bounds"], part["picks"], len(pts), timeline.fps), timeline)


def _refuse_all(destination: Path, failures: Sequence[tuple[Path, VastsumError]]) -> NoReturn:
    first = failures[0][1]
    if len(failures) == 1:
        raise first
    problem = f"none of the {len(failures)} videos can be used, so nothing is written"
    raise DataError(destination, problem, f"the first: {first}")


def _need_h5py() -> None:
    try:
        import h5py  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("h5py", "train") from error


def _checksum(weights: str | os.PathLike[str] | None) -> str:
    """Which weights they are, wherever they lie; embedded ones change with the version only."""
    return "embedded" if weights is None else hashlib.sha256(Path(weights).read_bytes()).hexdigest()


def _safe(stem: str) -> str:
    # NFKC turns ² into 2: what Python counts as a digit but cannot read as one would upset those who sort by number.
    readable = (
        char if (char.isalnum() and (char.isdecimal() or not char.isdigit())) or char in "-._" else "_"
        for char in normalize("NFKC", _encodable(stem))
    )
    return "".join(readable).strip(".") or "video"


def _encodable(text: str) -> str:
    """File names may hold bytes that are no text; HDF5's may not."""
    return text.encode("utf-8", "replace").decode("utf-8")
