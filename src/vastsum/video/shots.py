"""Where shots begin, and where nothing is to be seen: found from glimpses of the frames that pass by while watching."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from vastsum.types import FloatArray, IntArray, Stretch
from vastsum.video.glimpse import CELLS, CHROMA_ROWS, COLOUR, COLUMNS, PIXELS, ROWS, glimpse
from vastsum.video.reader import FrameRange, FrameReader
from vastsum.video.source import Source, UInt8Array
from vastsum.video.timeline import Timeline

BoolArray = NDArray[np.bool_]

_CHUNK = 192  # frames judged at once
_CONTEXT = 16  # frames before and after them that are looked at, too

# Cuts. Changes are in levels of 8 bits.
_LEAST_CHANGE = 12.0
_FLAT, _USUAL_CONTRAST, _GREATEST_GAIN = 2.0, 30.0, 3.0
_TIMES_THE_MOTION = 2.5, 1.5  # how far a cut stands out of the changes around it; across skipped frames, to look closer
_NEIGHBOURS = 3  # of these, on either side
_BEAT_SLACK = 0.98
_MOST_LOOKED, _LOOKED_ANYWAY = 4, 500  # frames decoded for a closer look, for each decoded before, and in all
_PLAIN_CHANGE = 30.0  # across skipped frames; worth a closer look, whatever the motion
_LEAST_SHARE, _SOFT_FRAMES = 0.33, 3  # of what changes from so many frames before to so many after
_FLASH_S = 0.3
_UNDONE = 0.4, 15.0  # a change is undone where less than this part of it is left, and no more than this
_JERK = (4, 6)  # cells a camera may move from frame to frame

# Dead stretches.
_BLACK, _WHITE_SPECK = 32, 40  # luma of nearly all pixels, and of the brightest cell
_BLANK_RANGE = 8
_STILL_PIXELS, _STILL_CELL = 2.0, 10  # mean and greatest change; a key frame is coded a little differently
_QUIET_PIXELS, _QUIET_PART = 0.05, 0.5  # most frames of a frozen stretch repeat the one before exactly
_QUIET_KEYFRAME_PIXELS = 0.5
_LEAST_EMPTY_S, _LEAST_STILL_S = 0.2, 2.0
_KINDS = ("", "black", "blank", "test card")
_BAR_RANGE, _BARS_PART, _SATURATED, _BAR_HUES = 8, 0.8, 25, 4

# Fades.
_FADED_IN = 8.0  # the least spread of luma, in levels
_LONGEST_FADE_S, _LEAST_FADE_FRAMES = 3.0, 4

_SERIES = np.dtype([("index", "i8"), ("spread", "f4"), ("kind", "u1"), ("still", "u1")])  # of each frame seen


@dataclass(frozen=True, eq=False)
class Shots:
    """All in frames of the timeline."""

    cuts: IntArray  # increasing; the first frame of each new shot
    dead: tuple[Stretch, ...]  # "black", "blank", "frozen" or "test card"; in order, apart from one another
    fades: tuple[Stretch, ...]  # "fade in" or "fade out"
    exact: bool = True  # False where only key frames were seen: then cuts are likely, and others are missed


class ShotFinder:
    """Takes the glimpses of decoded frames in order of presentation, keeps a few numbers of each, and lets them go."""

    def __init__(self, *, keyframes_only: bool) -> None:
        self._keyframes_only = keyframes_only
        self._indices: list[int] = []
        self._times: list[float] = []
        self._after_calm: list[bool] = []
        self._glimpses: list[UInt8Array] = []
        self._n_judged = 0  # of these
        self._cuts: list[FrameRange] = []  # the frames seen last before and first after one
        self._still_since: UInt8Array | None = None  # the first frame of what stands still
        self._series: list[NDArray[np.void]] = []

    def add(self, index: int, time_s: float, values: UInt8Array, *, after_calm: bool = False) -> None:
        """`after_calm`: frames that were skipped just before this one look as the one before them."""
        if self._indices and index <= self._indices[-1]:
            return
        self._indices.append(index)
        self._times.append(time_s)
        self._after_calm.append(after_calm)
        self._glimpses.append(values)
        if len(self._indices) >= self._n_judged + _CHUNK + _CONTEXT:
            self._judge(len(self._indices) - _CONTEXT)

    def finish(self, timeline: Timeline, source: Source) -> Shots:
        """`source` is opened anew, where frames have to be looked at that were skipped."""
        self._judge(len(self._indices))
        series = np.concatenate([np.empty(0, _SERIES), *self._series])
        exact = [after for before, after in self._cuts if after == before + 1]
        gaps = [(before, after) for before, after in self._cuts if after > before + 1]
        if self._keyframes_only:
            exact += _at_key_frames(timeline, gaps)
        else:
            exact += _looked_closer(source, timeline, _affordable(gaps, timeline, len(series)))
        cuts = np.unique(np.array(exact, np.int64))
        fades = () if self._keyframes_only else tuple(_fades(series, timeline))
        return Shots(cuts, tuple(_dead(series, cuts, timeline)), fades, exact=not self._keyframes_only)

    def _judge(self, until: int) -> None:
        begin = self._n_judged
        if until <= begin:
            return
        indices, times, seen = np.array(self._indices), np.array(self._times), np.array(self._glimpses)
        if self._keyframes_only:
            at = np.arange(max(begin, 1), until)
            at = at[_changes(seen[at - 1], seen[at]) >= _LEAST_CHANGE]
            self._cuts += zip(indices[at - 1].tolist(), indices[at].tolist(), strict=True)
        else:
            self._cuts += _hard_cuts(seen, indices, times, np.array(self._after_calm), begin, until)
        series = np.empty(until - begin, _SERIES)
        series["index"] = indices[begin:until]
        series["spread"] = _spread(_centred(seen[begin:until, CELLS])[0])
        series["kind"] = _kinds(seen[begin:until])
        series["still"] = self._stillness(seen[max(begin - 1, 0)], seen[begin:until])
        self._series.append(series)
        forget = max(0, until - _CONTEXT)
        for kept in (self._indices, self._times, self._after_calm, self._glimpses):
            del kept[:forget]
        self._n_judged = until - forget

    def _stillness(self, before: UInt8Array, seen: UInt8Array) -> UInt8Array:
        """Of each frame: 1 if it looks like the one before and like the first of those that do, 2 if it repeats it."""
        pixels = np.concatenate([before[None, PIXELS], seen[:, PIXELS]]).astype(np.int16)
        change = np.abs(np.diff(pixels, axis=0)).mean(axis=1)
        quiet = _QUIET_KEYFRAME_PIXELS if self._keyframes_only else _QUIET_PIXELS
        still = np.where(change <= quiet, 2, change <= _STILL_PIXELS).astype(np.uint8)
        for at, values in enumerate(seen):
            first = self._still_since
            if still[at] == 0 or first is None or _greatest_change(first, values) > _STILL_CELL:
                still[at], self._still_since = 0, values
        return still


def _hard_cuts(
    seen: UInt8Array, indices: IntArray, times_s: FloatArray, after_calm: BoolArray, begin: int, end: int
) -> Iterator[FrameRange]:
    """The frames of this shot and the next between which there is a cut, the next shot's among `begin` … `end` - 1."""
    changes = _steps(seen)
    pure = ~_mixed(seen, changes)
    if not pure.all():
        begin, end = int(pure[:begin].sum()), int(pure[:end].sum())
        seen, indices, times_s, after_calm = seen[pure], indices[pure], times_s[pure], after_calm[pure]
        changes = _steps(seen)
    gaps = np.where(after_calm, 1, np.diff(indices, prepend=indices[0] - 1))
    for at in begin + np.flatnonzero(changes[begin:end] >= _LEAST_CHANGE):
        if (
            _stands_out(changes, gaps, int(at))
            and _is_sudden(seen, indices, float(changes[at]), int(at))
            and not _is_undone(seen, times_s, float(changes[at]), int(at))
            and not _is_motion(seen[at - 1], seen[at])
        ):
            yield int(indices[at] - gaps[at]), int(indices[at])


def _steps(seen: UInt8Array) -> FloatArray:
    """What changes from the frame before to each."""
    return np.concatenate([np.zeros(1, np.float32), _changes(seen[:-1], seen[1:])])


def _mixed(seen: UInt8Array, changes: FloatArray) -> BoolArray:
    """Single frames that mix the one before and the one after, as at cuts of a film whose frame rate was changed."""
    steps = np.append(changes, 0)
    mixed = np.zeros(len(seen), np.bool_)
    for at in 1 + np.flatnonzero(np.minimum(steps[1:-2], steps[2:-1]) >= _LEAST_CHANGE / 2):
        before, mean, after = (seen[n, CELLS].astype(np.float32) for n in (at - 1, at, at + 1))
        alone = max(steps[at - 1], steps[at + 2]) < min(steps[at], steps[at + 1]) / 3
        mixed[at] = alone and np.abs(2 * mean - before - after).mean() < 0.2 * np.abs(after - before).mean()
    return mixed


def _changes(before: UInt8Array, after: UInt8Array) -> FloatArray:
    """How much of what is to be seen differs, in levels; the less so, the better the two correlate.

    That all is brighter counts only where both are blank: light changes within a shot, too. What has little contrast
    counts for more.
    """
    (one, light), (other, other_light) = (_centred(values[..., CELLS]) for values in (before, after))
    spread, other_spread = _spread(one), _spread(other)
    likeness = (one * other).mean(axis=-1) / np.maximum(spread * other_spread, 1)
    contrast = np.maximum(spread, other_spread)
    gain = np.clip(_USUAL_CONTRAST / np.maximum(contrast, 1), 1, _GREATEST_GAIN)
    colours = _difference(before[..., COLOUR], after[..., COLOUR])
    levels = np.abs(one - other).mean(axis=-1) + colours.mean(axis=-1, dtype=np.float32)
    changes = levels * gain * np.sqrt(np.clip(1 - likeness, 0, 1))
    return np.asarray(np.where(contrast < _FLAT, levels + np.abs(light - other_light), changes))


def _difference(one: UInt8Array, other: UInt8Array) -> UInt8Array:
    return np.maximum(one, other) - np.minimum(one, other)


def _centred(cells: UInt8Array) -> tuple[FloatArray, FloatArray]:
    light = cells.mean(axis=-1, dtype=np.float32)
    return np.asarray(cells - light[..., None]), light


def _spread(centred: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((centred * centred).mean(axis=-1)))


def _stands_out(changes: FloatArray, gaps: IntArray, at: int) -> bool:
    """Against the motion on either side, whichever is faster. Motion over skipped frames adds up, in part."""
    if gaps[at] > 1 and changes[at] >= _PLAIN_CHANGE:
        return True
    sides = slice(max(1, at - _NEIGHBOURS), at), slice(at + 1, at + 1 + _NEIGHBOURS)
    motions = [changes[side] * (gaps[at] / gaps[side]) ** 0.5 for side in sides]
    # Not the mean: one of three may be another cut.
    fastest = max((float(np.sort(motion)[(len(motion) - 1) // 2]) for motion in motions if len(motion)), default=0.0)
    return float(changes[at]) >= _TIMES_THE_MOTION[int(gaps[at] > 1)] * fastest


def _is_sudden(seen: UInt8Array, indices: IntArray, change: float, at: int) -> bool:
    """And no step of a dissolve, which goes on before and after."""
    before = int(np.searchsorted(indices, indices[at - 1] - _SOFT_FRAMES))
    after = int(np.searchsorted(indices, indices[at] + _SOFT_FRAMES, side="right")) - 1
    return bool(change >= _LEAST_SHARE * _changes(seen[before], seen[after]))


def _is_undone(seen: UInt8Array, times_s: FloatArray, change: float, at: int) -> bool:
    """A flash: what was there before comes back, or has just come back."""
    later = slice(at + 1, int(np.searchsorted(times_s, times_s[at] + _FLASH_S, side="right")))
    earlier = slice(int(np.searchsorted(times_s, times_s[at - 1] - _FLASH_S)), at - 1)
    returns = np.concatenate([_changes(seen[at - 1], seen[later]), _changes(seen[earlier], seen[at])])
    return bool(np.any(returns < min(_UNDONE[0] * change, _UNDONE[1])))


def _is_motion(before: UInt8Array, after: UInt8Array) -> bool:
    """Whether a shift of the whole picture explains most of the change."""
    one, other = (values[CELLS].reshape(ROWS, COLUMNS).astype(np.float32) for values in (before, after))
    changes = np.einsum("drij,drij->dr", np.abs(_shifts(other) - one), _OVERLAP) / _OVERLAP.sum(axis=(2, 3))
    return bool(changes.min() < 0.5 * changes[_JERK])


def _shifts(cells: FloatArray) -> FloatArray:
    """The picture moved by up to _JERK cells, 0 beyond its edges: (2 down + 1, 2 right + 1, rows, columns)."""
    return sliding_window_view(np.pad(cells, [(most, most) for most in _JERK]), cells.shape)


_OVERLAP = _shifts(np.ones((ROWS, COLUMNS), np.float32))


def _greatest_change(before: UInt8Array, after: UInt8Array) -> int:
    return int(_difference(before[CELLS], after[CELLS]).max())


def _kinds(seen: UInt8Array) -> UInt8Array:
    """Of each frame, which of _KINDS it is."""
    cells, pixels, colour = seen[:, CELLS], seen[:, PIXELS], seen[:, COLOUR].reshape(len(seen), 2, -1)
    black = ((pixels <= _BLACK).mean(axis=1) >= 0.99) & (cells.max(axis=1) <= _WHITE_SPECK)
    blank = (np.ptp(cells, axis=1) <= _BLANK_RANGE) & (np.ptp(colour, axis=2) <= _BLANK_RANGE).all(axis=1)
    return np.select([black, blank, _bars(seen)], [1, 2, 3], 0).astype(np.uint8)


def _bars(seen: UInt8Array) -> BoolArray:
    """Whether most of the height, or of the width, is bars of one colour each, saturated and of several hues."""
    luma = seen[:, CELLS].reshape(-1, ROWS, COLUMNS)
    colour = seen[:, COLOUR].reshape(-1, 2, CHROMA_ROWS, COLUMNS)
    return _upright_bars(luma, colour) | _upright_bars(luma.swapaxes(1, 2), colour.swapaxes(2, 3))


def _upright_bars(luma: UInt8Array, colour: UInt8Array) -> BoolArray:
    luma = luma[:, : luma.shape[1] * 3 // 5]
    bars = (_difference(luma[:, 0], luma[:, -1]) <= _BAR_RANGE).mean(axis=1) >= _BARS_PART  # spares most a closer look
    luma, colour = luma[bars], colour[bars, :, : colour.shape[2] * 3 // 5]
    constant = (np.ptp(luma, axis=1) <= _BAR_RANGE).mean(axis=1) >= _BARS_PART
    u, v = np.median(colour.astype(np.float32) - 128, axis=2).swapaxes(0, 1)  # (n, bars)
    hues = np.floor(np.arctan2(v, u) / (np.pi / 3))
    saturated = np.hypot(u, v) >= _SATURATED
    n_hues = np.sum([(saturated & (hues == sector)).any(axis=1) for sector in range(-3, 3)], axis=0)
    bars[bars] = constant & (n_hues >= _BAR_HUES)
    return bars


def _dead(series: NDArray[np.void], cuts: IntArray, timeline: Timeline) -> Iterator[Stretch]:
    if not len(series):
        return
    bounds = np.concatenate([[0], cuts, [timeline.n_frames]])
    times_s = np.append(timeline.times_s, timeline.duration_s)
    frozen = len(_KINDS)
    state = np.where((series["kind"] == 0) & (series["still"] > 0), frozen, series["kind"])
    after = -1
    for begin, end in _runs(state):
        kind = int(state[begin])
        if kind == 0:
            continue
        start = max(begin - 1, 0) if kind == frozen else begin  # what the first still frame looks like
        first, last = _up_to_cuts(series["index"], start, end, bounds)
        first = max(first, after + 1)
        length_s = times_s[last + 1] - times_s[first]
        if kind < 3:
            whole_shot = first in bounds and last + 1 in bounds
            long_enough = whole_shot or length_s >= _LEAST_EMPTY_S
        else:
            quiet = kind != frozen or (series["still"][begin:end] == 2).mean() >= _QUIET_PART
            long_enough = quiet and length_s >= _LEAST_STILL_S
        if long_enough:
            after = last
            yield Stretch(first, last, _KINDS[kind] if kind < frozen else "frozen")


def _runs(state: IntArray) -> Iterator[tuple[int, int]]:
    changes = np.flatnonzero(np.diff(state)) + 1
    yield from zip([0, *changes.tolist()], [*changes.tolist(), len(state)], strict=True)


def _up_to_cuts(indices: IntArray, begin: int, end: int, bounds: IntArray) -> FrameRange:
    """The first and last frame of what was seen from `begin` until `end`; skipped frames belong to it up to a cut."""
    first, last = int(indices[begin]), int(indices[end - 1])
    shot = int(np.searchsorted(bounds, first, side="right")) - 1
    if begin == 0 or bounds[shot] > indices[begin - 1]:
        first = int(bounds[shot])
    next_cut = int(bounds[np.searchsorted(bounds, last, side="right")])
    if end == len(indices) or next_cut <= indices[end]:
        last = next_cut - 1
    return first, last


def _fades(series: NDArray[np.void], timeline: Timeline) -> Iterator[Stretch]:
    """Where a picture grows steadily out of an empty one, or into it."""
    empty = (series["kind"] == 1) | (series["kind"] == 2)
    for begin, end in _runs(empty):
        if not empty[begin]:
            continue
        n_out = _fade_length(series[:begin][::-1], timeline)
        n_in = _fade_length(series[end:], timeline)
        if n_out:
            yield Stretch(int(series["index"][begin - n_out]), int(series["index"][begin]) - 1, "fade out")
        if n_in:
            yield Stretch(int(series["index"][end - 1]) + 1, int(series["index"][end + n_in - 1]), "fade in")


def _fade_length(away: NDArray[np.void], timeline: Timeline) -> int:
    """How many of these frames, in order away from an empty one, belong to a fade."""
    if not len(away):
        return 0
    times_s = timeline.times_s[away["index"]]
    spread = away["spread"][np.abs(times_s - times_s[0]) <= _LONGEST_FADE_S]
    steps = np.diff(spread, prepend=0)
    n = int(np.argmax(np.append(steps < 0.01 * spread.max(), True)))
    full = float(spread[n - 1]) if n else 0.0
    gradual = n >= _LEAST_FADE_FRAMES and steps[:n].max() <= 0.5 * full
    return n if gradual and full >= _FADED_IN else 0


def _looked_closer(source: Source, timeline: Timeline, gaps: list[FrameRange]) -> list[int]:
    """The exact frames of the cuts that lie between frames of which those between were not decoded."""

    def cuts(some: list[FrameRange]) -> list[int]:
        with source.for_one_thread() as again:
            reader, scaler = FrameReader(again, timeline, some), VideoReformatter()
            return [cut for gap in some for cut in _cuts_between(reader.frames(*gap), timeline, scaler)]

    n = source.n_decoders
    shares = [gaps[len(gaps) * k // n : len(gaps) * (k + 1) // n] for k in range(n)]
    with ThreadPoolExecutor(n) as pool:
        return [cut for found in pool.map(cuts, filter(None, shares)) for cut in found]


def _cuts_between(frames: Iterator[VideoFrame], timeline: Timeline, scaler: VideoReformatter) -> list[int]:
    looked = {timeline.index_of(frame.pts or 0): glimpse(frame, scaler) for frame in frames}
    seen = {index: values for index, values in looked.items() if values is not None}
    if len(seen) < 2:
        return []
    indices = np.array(list(seen))
    none_skipped = np.ones(len(seen), np.bool_)
    cuts = _hard_cuts(np.array(list(seen.values())), indices, timeline.times_s[indices], none_skipped, 1, len(seen))
    return [after for _, after in cuts]


def _affordable(gaps: list[FrameRange], timeline: Timeline, n_seen: int) -> list[FrameRange]:
    """The cheapest to look at closer. Only where all frames are key frames, of which few were seen, are some left."""
    n_frames = _MOST_LOOKED * n_seen + _LOOKED_ANYWAY
    costs = [last - timeline.keyframe_before(first) + 1 for first, last in gaps]
    cheapest = np.argsort(costs, kind="stable")
    n = int(np.searchsorted(np.cumsum(np.array(costs)[cheapest]), n_frames, side="right"))
    return [gaps[at] for at in sorted(cheapest[:n].tolist())]


def _at_key_frames(timeline: Timeline, gaps: list[FrameRange]) -> Iterator[int]:
    """Cuts for which the encoder made a key frame: one that comes before the usual number of frames is over."""
    keyframes = timeline.keyframes
    n_since = np.diff(keyframes)
    early = keyframes[1:][n_since < _BEAT_SLACK * n_since.max()] if len(n_since) else keyframes[:0]
    for before, after in gaps:
        between = early[(early > before) & (early <= after)]
        if len(between) == 1:
            yield int(between[0])
