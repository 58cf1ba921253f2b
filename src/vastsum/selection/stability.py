"""How firmly a selection stands: the knapsack is solved again under perturbed segment values."""

from __future__ import annotations

import numpy as np

from vastsum.selection.knapsack import knapsack
from vastsum.types import BoolArray, FloatArray, IntArray


def perturbed_choices(
    values: FloatArray,
    weights: IntArray,
    capacity: int,
    *,
    noise: float | FloatArray,
    draws: int,
    rng: np.random.Generator,
) -> BoolArray:
    """Knapsack solutions for `draws` noisy copies of `values`; `noise` is a standard deviation, scalar or (M,)."""
    perturbed = values + noise * rng.standard_normal((draws, len(values)))
    return knapsack(perturbed, weights, capacity)  # (R, M)


def stability(chosen: BoolArray, perturbed: BoolArray) -> FloatArray:
    """For each segment, the share of perturbed solutions that agree with its place in or out of the summary."""
    return (perturbed == chosen).mean(axis=0)  # (M,)
