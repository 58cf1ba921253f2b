"""From cuts between picks to segments on the original timeline, none too short and none too long."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np

from vastsum.errors import ConfigError, DataError
from vastsum.segmentation.scatter import segment_sizes, segment_sums
from vastsum.segmentation.segmenters import DEFAULT_SEGMENTER, SEGMENTERS, KernelSegmenter, Segmenter
from vastsum.types import FloatArray, IntArray, Segments

MIN_SEGMENT_S = 1.0
BUDGET_SHARE = 0.5


def max_segment_s(duration_s: float, budget: float, share: float = BUDGET_SHARE, min_s: float = MIN_SEGMENT_S) -> float:
    """The longest a segment may be: a share of the summary, so that one static shot cannot fill it.

    In a very short video that share may be under twice `min_s`, the least that can be split in two; then that is the
    limit, but never more than the whole budget, or nothing could be chosen.
    """
    budget_s = budget * duration_s
    return min(max(share * budget_s, 2 * min_s), budget_s)


def segment(
    features: FloatArray,
    picks: IntArray,
    n_frames: int,
    fps: float,
    *,
    segmenter: str | Segmenter = DEFAULT_SEGMENTER,
    strength: float | None = None,
    min_s: float = MIN_SEGMENT_S,
    max_s: float | None = None,
) -> Segments:
    """Cut a video of `n_frames` frames where the features (T, D) of its picks (T,) change.

    Segments shorter than `min_s` join the neighbour they resemble more; longer than `max_s` they are split evenly (had
    there been a change inside, there would be a cut). Where the two conflict, `max_s` holds. `strength` is KTS's v:
    the higher, the fewer segments.
    """
    features, picks = np.asarray(features), np.asarray(picks, dtype=np.int64)
    _check(features, picks, n_frames, fps, max_s)
    cuts = _find(segmenter, strength).cuts(features, n_frames / fps)
    cuts = merge_short(features, picks, cuts, n_frames, min_frames=ceil(min_s * fps - 1e-9))
    starts = np.concatenate([[0], picks[cuts]])
    if max_s is not None:
        starts = split_long(starts, n_frames, max_frames=max(int(max_s * fps + 1e-9), 1))
    ends = np.concatenate([starts[1:], [n_frames]]) - 1
    return Segments(np.stack([starts, ends], axis=1).astype(np.int64), picks, n_frames, fps)


def snap(segments: Segments, places: IntArray) -> Segments:
    """The same segments with each start moved back to the nearest of `places` (frames), or to the beginning.

    Segments that would start at one place become one.
    """
    allowed = np.concatenate([[0], places])
    starts = np.unique(allowed[np.searchsorted(allowed, segments.bounds[:, 0], side="right") - 1])
    ends = np.append(starts[1:], segments.n_frames) - 1
    return replace(segments, bounds=np.stack([starts, ends], axis=1).astype(np.int64))


def merge_short(features: FloatArray, picks: IntArray, cuts: IntArray, n_frames: int, min_frames: int) -> IntArray:
    """The cuts that remain when each segment of fewer than `min_frames`, from the left, joins the nearer neighbour."""
    starts = [0, *cuts.tolist()]
    frames = np.diff([0, *picks[cuts], n_frames]).tolist()
    sums = list(segment_sums(features, cuts))
    sizes = segment_sizes(len(picks), cuts).tolist()

    def distance(k: int, other: int) -> float:
        if not 0 <= other < len(starts):
            return np.inf
        return float(np.linalg.norm(sums[k] / sizes[k] - sums[other] / sizes[other]))

    k = 0
    while k < len(starts) and len(starts) > 1:
        if frames[k] >= min_frames:
            k += 1
            continue
        left = k - 1 if distance(k, k - 1) <= distance(k, k + 1) else k
        for values in (frames, sums, sizes):
            values[left] = values[left] + values.pop(left + 1)
        starts.pop(left + 1)
        k = left  # which may still be too short
    return np.asarray(starts[1:], dtype=np.int64)


def split_long(starts: IntArray, n_frames: int, max_frames: int) -> IntArray:
    """First frames of the segments once each longer than `max_frames` is split into as few equal parts as it takes."""
    ends = np.append(starts[1:], n_frames)
    parts = [
        start + np.arange(n_parts) * (end - start) // n_parts
        for start, end in zip(starts, ends, strict=True)
        for n_parts in [-(-(end - start) // max_frames)]
    ]
    return np.concatenate(parts)


def _find(segmenter: str | Segmenter, strength: float | None) -> Segmenter:
    if strength is not None:
        if segmenter != "kts":
            raise ConfigError("strength", "only the segmenter 'kts' has one")
        if not 0 < strength < np.inf:
            raise ConfigError(f"strength = {strength}", "not a positive number")
        return KernelSegmenter(strength)
    if not isinstance(segmenter, str):
        return segmenter
    if segmenter not in SEGMENTERS:
        raise ConfigError(f"segmenter {segmenter!r}", "unknown segmenter", f"choose one of {', '.join(SEGMENTERS)}")
    return SEGMENTERS[segmenter]()


def _check(features: FloatArray, picks: IntArray, n_frames: int, fps: float, max_s: float | None) -> None:
    if features.ndim != 2 or not len(features) or not np.isfinite(features).all():
        raise DataError("segment", f"features of shape {features.shape} are not finite vectors, one a pick")
    if picks.shape != (len(features),) or picks[0] < 0 or picks[-1] >= n_frames or (np.diff(picks) <= 0).any():
        raise DataError("segment", f"{len(features)} increasing picks in 0 … {n_frames - 1} expected")
    if not 0 < fps < np.inf:
        raise DataError("segment", f"{fps} is not a frame rate")
    if max_s is not None and not max_s > 0:
        raise ConfigError(f"max_s = {max_s}", "not a positive number of seconds")
