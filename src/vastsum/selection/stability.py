"""How firmly a selection stands: the knapsack is solved again under perturbed segment values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vastsum.selection.decode import FLAT, FURTHEST, segment_values
from vastsum.selection.knapsack import knapsack
from vastsum.types import BoolArray, Decoder, FloatArray, IntArray, Prediction, Segments


def viewer_values(prediction: Prediction, segments: Segments, decoder: Decoder) -> tuple[FloatArray, FloatArray]:
    """What segments are worth to one viewer, and by how much viewers differ: a standard deviation of the value, or of
    its logarithm if the decoder is sharp.

    A sharp decoder sees scores relative to their spread. One viewer's spread further than the mean's, by what viewers
    disagree about; so the differences within the mean count for less.
    """
    if not decoder.sharpness:
        return segment_values(prediction.mean, segments, decoder), segment_values(prediction.std, segments, decoder)
    spread = float(np.std(prediction.mean))
    of_viewer = float(np.hypot(spread, np.sqrt(np.mean(prediction.std**2)))) or 1.0
    blunter = replace(decoder, sharpness=decoder.sharpness * max(spread / of_viewer, FLAT))
    disagreement = np.minimum(segment_values(prediction.std, segments) / of_viewer, FURTHEST)
    return segment_values(prediction.mean, segments, blunter), decoder.sharpness * disagreement  # (M,), (M,)


def perturbed_choices(
    values: FloatArray,
    weights: IntArray,
    capacity: int,
    *,
    noise: float | FloatArray,
    draws: int,
    rng: np.random.Generator,
    on_logarithm: bool = False,
) -> BoolArray:
    """Knapsack solutions for `draws` noisy copies of `values`.

    `noise` is a standard deviation of the values, scalar or (M,), or else of their logarithms.
    """
    added = noise * rng.standard_normal((draws, len(values)))
    return knapsack(values * np.exp(added) if on_logarithm else values + added, weights, capacity)  # (R, M)


def stability(chosen: BoolArray, perturbed: BoolArray) -> FloatArray:
    """For each segment, the share of perturbed solutions that agree with its place in or out of the summary."""
    return (perturbed == chosen).mean(axis=0)  # (M,)
