"""Within-segment scatter, the cost that kernel temporal segmentation minimises for the linear kernel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vastsum.types import FloatArray, IntArray

Doubles = NDArray[np.float64]


def centred(features: FloatArray) -> FloatArray:
    """The same vectors about their mean: scatter is unchanged and far less is lost to rounding.

    Single precision stays single, since this is by far the largest array of all; what is reckoned from it is double.
    """
    vectors = np.array(features, dtype=np.result_type(features, np.float32))
    vectors -= vectors.mean(axis=0, dtype=np.float64)
    return vectors  # (T, D)


def segment_sums(features: FloatArray, cuts: IntArray) -> Doubles:
    """Sum of the vectors of each segment; a cut is the index of the pick that starts a new one."""
    bounds = pairwise([0, *cuts.tolist(), len(features)])
    # One by one: np.add.reduceat would first make doubles of them all.
    return np.stack([features[start:end].sum(axis=0, dtype=np.float64) for start, end in bounds])  # (M, D)


def segment_sizes(n_picks: int, cuts: IntArray) -> IntArray:
    return np.diff(np.concatenate([[0], cuts, [n_picks]])).astype(np.int64)  # (M,)


def scatter(vectors: FloatArray, cuts: IntArray) -> float:
    """Σ_k Σ_{t in k} |x_t − μ_k|², as Σ|x_t|² − Σ_k |Σ_{t in k} x_t|² / size_k."""
    sums = segment_sums(vectors, cuts)
    within = np.einsum("td,td->", vectors, vectors, dtype=np.float64) - np.sum(
        np.einsum("kd,kd->k", sums, sums) / segment_sizes(len(vectors), cuts)
    )
    return max(float(within), 0.0)
