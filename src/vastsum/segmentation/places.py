"""Where it is good to cut: segments that begin and end at hard cuts, beside fades, and where speech pauses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vastsum.segmentation.timeline import MIN_SEGMENT_S, split_long
from vastsum.types import FLASH_S, IntArray, Marks, Segments, Stretch

LONGEST_S = 4.0  # people's own pieces last 1.9 to 5.1 s in the quartiles; what follows one another is one piece
CUT_REACH_S = 0.7  # a boundary this near to a hard cut moves there


PauseNear = Callable[[int], int | None]
"""The frame of the best pause near another frame; None where there is none."""


def at_good_places(
    segments: Segments,
    marks: Marks,
    *,
    fades: Sequence[Stretch] = (),
    pause_near: PauseNear | None = None,
    max_s: float,
) -> Segments:
    """The same video cut where a person would cut.

    A segment is a part of one shot, or several whole shots where these are short. Stretches that show
    nothing are segments of their own. What is longer than `max_s` is split, at pauses if there are any.
    """
    n_frames, fps = segments.n_frames, segments.fps
    hard = sorted({0, *marks.cuts, *(edge for one in marks.empty for edge in (one.first_frame, one.last_frame + 1))})
    hard = [place for place in hard if place < n_frames]
    soft = _away_from(segments.bounds[1:, 0].tolist(), hard, CUT_REACH_S * fps)
    split = split_long(np.array(sorted({*hard, *soft})), n_frames, max(int(max_s * fps + 1e-9), 1))
    soft = [_moved(place, hard, fades, pause_near) for place in sorted(set(split.tolist()) - set(hard))]
    empty = {(one.first_frame, one.last_frame + 1) for one in marks.empty}
    starts = _without_short(sorted({*hard, *soft} - {n_frames}), n_frames, set(hard), empty, MIN_SEGMENT_S * fps - 1e-6)
    starts = _without_flashes(
        starts, [*hard, n_frames], {edge for one in empty for edge in one}, FLASH_S * fps, max_s * fps
    )
    ends = np.append(starts[1:], n_frames) - 1
    return replace(segments, bounds=np.stack([starts, ends], axis=1).astype(np.int64))


def _away_from(places: list[int], hard: list[int], reach: float) -> list[int]:
    def is_near(place: int) -> bool:
        n = bisect_left(hard, place)
        return any(abs(place - near) <= reach for near in hard[max(n - 1, 0) : n + 1])

    return [place for place in places if not is_near(place)]


def _moved(place: int, hard: list[int], fades: Sequence[Stretch], pause_near: PauseNear | None) -> int:
    """Out of a fade, or to a pause; never over a hard cut."""
    for fade in fades:
        if fade.first_frame < place <= fade.last_frame:
            before, after = fade.first_frame, fade.last_frame + 1
            return before if place - before < after - place else after
    moved = pause_near(place) if pause_near else None
    if moved is None:
        return place
    low, high = min(place, moved), max(place, moved)
    return moved if bisect_right(hard, high) == bisect_left(hard, low) else place


def _without_short(
    starts: list[int], n_frames: int, hard: set[int], empty: set[tuple[int, int]], least: float
) -> IntArray:
    """Without the boundaries that make segments shorter than `least` frames, from the left.

    A boundary of a change goes first, then a hard cut, and that of an `empty` stretch last. Such a stretch may be as
    short as it is.
    """
    edges, fixed = [*starts, n_frames], {edge for stretch in empty for edge in stretch}
    k = 0
    while k < len(edges) - 1:
        ends = [n for n in (k, k + 1) if 0 < n < len(edges) - 1]
        if edges[k + 1] - edges[k] >= least or (edges[k], edges[k + 1]) in empty or not ends:
            k += 1
            continue
        neighbour = {n: edges[n] - edges[n - 1] if n == k else edges[n + 1] - edges[n] for n in ends}
        gone = min(ends, key=lambda n: (edges[n] in fixed, edges[n] in hard, neighbour[n]))
        edges.pop(gone)
        k = max(gone - 1, 0)
    return np.array(edges[:-1], np.int64)


def _without_flashes(starts: IntArray, hard: list[int], fixed: set[int], flash: float, most: float) -> IntArray:
    """Without boundaries beside a shot shorter than `flash` frames, which lies within a segment then.

    Not where that would make a segment longer than `most`, and not at the `fixed` places.
    """
    edges = [*starts.tolist(), hard[-1]]
    k = 1
    while k < len(edges) - 1:
        n = bisect_left(hard, edges[k])
        beside = [hard[m + 1] - hard[m] for m in (n - 1, n)] if hard[n] == edges[k] else []
        if edges[k] not in fixed and any(length < flash for length in beside) and edges[k + 1] - edges[k - 1] <= most:
            edges.pop(k)
        else:
            k += 1
    return np.array(edges[:-1], np.int64)
