"""Where shots begin, and where nothing is to be seen: found from glimpses of the frames that pass by while watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from vastsum.types import FloatArray, IntArray
from vastsum.video.glimpse import CELLS, COLOUR, COLUMNS, ROWS, glimpse
from vastsum.video.reader import FrameRange, FrameReader
from vastsum.video.source import Source, UInt8Array
from vastsum.video.timeline import Timeline

BoolArray = NDArray[np.bool_]

_CHUNK = 192  # frames judged at once
_CONTEXT = 16  # frames before and after them that are looked at, too

# Cuts. A change is the mean absolute difference of luma plus that of colour, in levels of 8 bits.
_LEAST_CHANGE = 7.0
_TIMES_THE_MOTION = 2.5  # how far a cut stands out of the changes around it
_NEIGHBOURS = 3  # of these, on either side
_LEAST_SHARE = 0.45  # of what changes over several frames; where it is less, it is a dissolve
_FLASH_S = 0.3
_UNDONE = 0.4  # a change is undone where less than this part of it is left
_JERK = (4, 6)  # cells a camera may move from frame to frame

# Dead stretches.
_BLACK, _WHITE_SPECK = 32, 40  # luma of nearly all pixels, and of the brightest cell
_BLANK_RANGE = 8
_STILL_PIXELS, _STILL_CELL = 1.5, 3  # mean and greatest change; a key frame is coded a little differently
_QUIET_PIXELS, _QUIET_PART = 0.1, 0.7  # nearly all frames of a frozen stretch repeat the one before exactly
_LEAST_EMPTY_S, _LEAST_STILL_S = 0.2, 2.0
_KINDS = ("", "black", "blank", "test card")

# Fades.
_FADED_IN = 8.0  # the least spread of luma, in levels
_LONGEST_FADE_S, _LEAST_FADE_FRAMES = 3.0, 4


@dataclass(frozen=True, slots=True)
class Stretch:
    """Frames from `first` to `last`, both included."""

    first: int
    last: int
    kind: str


@dataclass(frozen=True, eq=False)
class Shots:
    """All in frames of the timeline."""

    cuts: IntArray  # increasing; the first frame of each new shot
    dead: tuple[Stretch, ...]  # "black", "blank", "frozen" or "test card"; in order, apart from one another
    fades: tuple[Stretch, ...]  # "fade in" or "fade out"
    exact: bool = True  # False where only key frames were looked at


class ShotFinder:
    """Takes the glimpses of decoded frames in order of presentation, keeps a few numbers of each, and lets them go."""

    def __init__(self) -> None:
        self._indices: list[int] = []
        self._times: list[float] = []
        self._glimpses: list[UInt8Array] = []
        self._n_judged = 0  # of these
        self._cuts: list[FrameRange] = []  # the frames seen last before and first after one

    def add(self, index: int, time_s: float, values: UInt8Array) -> None:
        if self._indices and index <= self._indices[-1]:
            return
        self._indices.append(index)
        self._times.append(time_s)
        self._glimpses.append(values)
        if len(self._indices) >= self._n_judged + _CHUNK + _CONTEXT:
            self._judge(len(self._indices) - _CONTEXT)

    def finish(self, timeline: Timeline, reopened: Callable[[], Source]) -> Shots:
        self._judge(len(self._indices))
        cuts = [after for before, after in self._cuts if after == before + 1]
        gaps = [cut for cut in self._cuts if cut[1] > cut[0] + 1]
        if gaps:
            with reopened() as source:
                cuts += _looked_closer(source, timeline, gaps)
        return Shots(np.unique(np.array(cuts, np.int64)), (), ())

    def _judge(self, until: int) -> None:
        if until <= self._n_judged:
            return
        indices, times, seen = np.array(self._indices), np.array(self._times), np.array(self._glimpses)
        for at in _hard_cuts(seen, indices, times, self._n_judged, until):
            self._cuts.append((int(indices[at - 1]), int(indices[at])))
        forget = max(0, until - _CONTEXT)
        del self._indices[:forget], self._times[:forget], self._glimpses[:forget]
        self._n_judged = until - forget


def _hard_cuts(seen: UInt8Array, indices: IntArray, times_s: FloatArray, begin: int, end: int) -> Iterator[int]:
    """Which frames from `begin` until `end` begin a new shot, judged by those around them."""
    changes = np.zeros(len(seen), np.float32)  # of each frame to the one before it
    changes[1:] = _differences(seen[1:], seen[:-1])
    gaps = np.diff(indices, prepend=indices[0] - 1)
    for at in begin + np.flatnonzero(changes[begin:end] >= _LEAST_CHANGE):
        if (
            _stands_out(changes, gaps, int(at))
            and _is_sudden(seen, changes, int(at))
            and not _is_undone(seen, times_s, float(changes[at]), int(at))
            and not _is_motion(seen[at - 1], seen[at])
        ):
            yield int(at)


def _differences(some: UInt8Array, others: UInt8Array) -> FloatArray:
    differences = np.maximum(some, others) - np.minimum(some, others)
    luma = differences[..., CELLS].mean(axis=-1, dtype=np.float32)
    return np.asarray(luma + differences[..., COLOUR].mean(axis=-1, dtype=np.float32))


def _stands_out(changes: FloatArray, gaps: IntArray, at: int) -> bool:
    """Against the motion around, of which one may be another cut. Motion over skipped frames adds up, in part."""
    around = [n for n in range(max(1, at - _NEIGHBOURS), min(len(changes), at + _NEIGHBOURS + 1)) if n != at]
    motion = sorted(float(changes[n]) * (gaps[at] / gaps[n]) ** 0.5 for n in around)[:-1]
    return not motion or float(changes[at]) >= _TIMES_THE_MOTION * sum(motion) / len(motion)


def _is_sudden(seen: UInt8Array, changes: FloatArray, at: int) -> bool:
    before, after = max(0, at - 1 - _NEIGHBOURS), min(len(seen) - 1, at + _NEIGHBOURS)
    return bool(changes[at] >= _LEAST_SHARE * _differences(seen[before], seen[after]))


def _is_undone(seen: UInt8Array, times_s: FloatArray, change: float, at: int) -> bool:
    """A flash: what was there before comes back, or has just come back."""
    later = slice(at + 1, int(np.searchsorted(times_s, times_s[at] + _FLASH_S, side="right")))
    earlier = slice(int(np.searchsorted(times_s, times_s[at - 1] - _FLASH_S)), at - 1)
    returns = np.concatenate([_differences(seen[later], seen[at - 1]), _differences(seen[earlier], seen[at])])
    return bool(np.any(returns < _UNDONE * change))


def _is_motion(before: UInt8Array, after: UInt8Array) -> bool:
    """Whether a shift of the whole picture explains most of the change."""
    one, other = (values[CELLS].reshape(ROWS, COLUMNS).astype(np.float32) for values in (before, after))
    least = total = float(np.abs(one - other).mean())
    for down in range(-_JERK[0], _JERK[0] + 1):
        for right in range(-_JERK[1], _JERK[1] + 1):
            moved = other[max(0, down) : ROWS + min(0, down), max(0, right) : COLUMNS + min(0, right)]
            stayed = one[max(0, -down) : ROWS - max(0, down), max(0, -right) : COLUMNS - max(0, right)]
            least = min(least, float(np.abs(moved - stayed).mean()))
    return least < 0.5 * total


def _looked_closer(source: Source, timeline: Timeline, gaps: list[FrameRange]) -> Iterator[int]:
    """The exact frames of the cuts that lie between frames of which those between were not decoded."""
    scaler = VideoReformatter()
    reader = FrameReader(source, timeline, gaps)
    for first, last in gaps:
        looked = [(timeline.index_of(frame.pts or 0), glimpse(frame, scaler)) for frame in reader.frames(first, last)]
        indices = np.array([index for index, values in looked if values is not None])
        seen = np.array([values for _, values in looked if values is not None])
        if len(seen) > 1:
            yield from (int(indices[at]) for at in _hard_cuts(seen, indices, timeline.times_s[indices], 1, len(seen)))
