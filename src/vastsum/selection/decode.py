"""From scores on the picks to chosen segments: expand, pool, knapsack (paper, Section IV-E)."""

from __future__ import annotations

import numpy as np

from vastsum.selection.knapsack import knapsack
from vastsum.types import PAPER_DECODER, BoolArray, Decoder, FloatArray, IntArray, Prediction, Segments, Selection

DEFAULT_BUDGET = 0.15
DEFAULT_DECODER = Decoder(sharpness=1.0, length_power=0.5)
DECODERS = {"default": DEFAULT_DECODER, "paper": PAPER_DECODER}
FLAT = 1e-9  # scores that differ by less, relative to their size, differ by rounding
FURTHEST = 6.0  # deviations from the mean, so that exp() of one odd score does not drown all others


def expand(scores: FloatArray, picks: IntArray, n_frames: int) -> FloatArray:
    """f_n = score of the last pick at or before frame n; frames before the first pick take the first score."""
    pick_in_force = np.searchsorted(picks, np.arange(n_frames), side="right") - 1
    return np.asarray(scores)[np.maximum(pick_in_force, 0)]  # (N,)


def segment_means(frame_scores: FloatArray, bounds: IntArray) -> FloatArray:
    """Mean of the frame scores within each inclusive [start, end], by prefix sums; to single precision."""
    prefix = np.concatenate([[0.0], np.cumsum(frame_scores, dtype=np.float64)])
    starts, ends = bounds[:, 0], bounds[:, 1]
    return _single((prefix[ends + 1] - prefix[starts]) / (ends - starts + 1))  # (M,)


def _single(values: FloatArray) -> FloatArray:
    """To single precision: the rest is rounding, and must not decide between segments of equal score."""
    return values.astype(np.float32).astype(np.float64)


def segment_values(scores: FloatArray, segments: Segments, decoder: Decoder = PAPER_DECODER) -> FloatArray:
    """v_k: what each segment is worth to the knapsack; by the paper's decoder, its mean expanded score."""
    means = segment_means(frame_worth(scores, segments, decoder), segments.bounds)
    return _single(means * segments.lengths**decoder.length_power)  # (M,)


def frame_worth(scores: FloatArray, segments: Segments, decoder: Decoder) -> FloatArray:
    """What each frame adds to the mean of its segment."""
    if decoder.sharpness:
        scores = np.exp(decoder.sharpness * standardised(scores))
    return expand(scores, segments.picks, segments.n_frames)  # (N,)


def standardised(scores: FloatArray) -> FloatArray:
    """z: mean 0 and deviation 1 over the video; zeros where all scores are alike."""
    return np.clip(standing(scores, scores), -FURTHEST, FURTHEST)  # (T,)


def standing(values: FloatArray, scores: FloatArray) -> FloatArray:
    """By how many deviations of the video's scores `values` lie above their mean; 0 where all scores are alike."""
    scores = np.asarray(scores, np.float64)
    deviation = float(scores.std())
    if not deviation > FLAT * np.abs(scores).max():
        return np.zeros(np.shape(values))
    return np.asarray((values - scores.mean()) / deviation)


def select(
    prediction: Prediction, segments: Segments, budget: float = DEFAULT_BUDGET, decoder: Decoder | None = None
) -> Selection:
    """The most valuable segments that fit in `budget` (a fraction of the video). No model is involved.

    `decoder` replaces the one that the prediction asks for.
    """
    budget_frames = int(budget * segments.n_frames)
    values = segment_values(prediction.mean, segments, decoder or prediction.decoder)
    return Selection(knapsack(values, segments.lengths, budget_frames), values, budget_frames)


def summary_mask(chosen: BoolArray, segments: Segments) -> BoolArray:
    """y_n: the chosen segments on the original timeline."""
    return np.repeat(chosen, segments.lengths)  # (N,)
