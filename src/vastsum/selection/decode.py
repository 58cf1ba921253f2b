"""From scores on the picks to chosen segments: expand, pool, knapsack (paper, Section IV-E)."""

from __future__ import annotations

import numpy as np

from vastsum.selection.knapsack import knapsack
from vastsum.types import BoolArray, FloatArray, IntArray, Prediction, Segments, Selection

DEFAULT_BUDGET = 0.15


def expand(scores: FloatArray, picks: IntArray, n_frames: int) -> FloatArray:
    """f_n = score of the last pick at or before frame n; frames before the first pick take the first score."""
    pick_in_force = np.searchsorted(picks, np.arange(n_frames), side="right") - 1
    return np.asarray(scores)[np.maximum(pick_in_force, 0)]  # (N,)


def segment_means(frame_scores: FloatArray, bounds: IntArray) -> FloatArray:
    """Mean of the frame scores within each inclusive [start, end], by prefix sums.

    To single precision: the rest is rounding of the sums, and must not decide between segments of equal score.
    """
    prefix = np.concatenate([[0.0], np.cumsum(frame_scores, dtype=np.float64)])
    starts, ends = bounds[:, 0], bounds[:, 1]
    means = (prefix[ends + 1] - prefix[starts]) / (ends - starts + 1)
    return means.astype(np.float32).astype(np.float64)  # (M,)


def segment_values(scores: FloatArray, segments: Segments) -> FloatArray:
    """v_k: the mean expanded score of each segment."""
    return segment_means(expand(scores, segments.picks, segments.n_frames), segments.bounds)


def select(prediction: Prediction, segments: Segments, budget: float = DEFAULT_BUDGET) -> Selection:
    """The segments of highest total importance that fit in `budget` (a fraction of the video). No model is involved."""
    budget_frames = int(budget * segments.n_frames)
    importance = segment_values(prediction.mean, segments)
    return Selection(knapsack(importance, segments.lengths, budget_frames), importance, budget_frames)


def summary_mask(chosen: BoolArray, segments: Segments) -> BoolArray:
    """y_n: the chosen segments on the original timeline."""
    return np.repeat(chosen, segments.lengths)  # (N,)
