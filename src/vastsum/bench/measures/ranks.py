"""Rank correlations of one prediction with many references at once, for references that take few values.

People score on a scale of a few steps. That makes Kendall's τ-b countable by level, for all people at once; an
evaluation needs thousands of them, and one pair at a time takes several times as long. It agrees with scipy's (tested).
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from vastsum.types import BoolArray, FloatArray, IntArray

_MANY_LEVELS = 20


def kendall_tau_b(scores: FloatArray | BoolArray, references: FloatArray) -> FloatArray:
    """τ-b (U,) of `scores` (n,) with each row of `references` (U, n); NaN where a side is constant."""
    values, flat = np.unique(references, return_inverse=True)
    if len(values) > _MANY_LEVELS or len(references) == 1:
        return np.array([stats.kendalltau(scores, reference).statistic for reference in references])
    order = np.argsort(scores, kind="stable")
    levels = flat.reshape(references.shape)[:, order]  # (U, n) in order of score
    in_order = np.asarray(scores)[order]
    first_equal = np.searchsorted(in_order, in_order, side="left")  # (n,) where the run of equal scores begins
    excess = _concordant_minus_discordant(levels, len(values), first_equal)

    n = len(in_order)
    n_pairs = n * (n - 1) / 2
    untied_scores = n_pairs - _tied_pairs(np.unique(first_equal, return_counts=True)[1])
    counts = np.stack([(levels == level).sum(axis=1) for level in range(len(values))], axis=1)  # (U, L)
    untied_references = n_pairs - _tied_pairs(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(excess / np.sqrt(untied_scores * untied_references))


def spearman_rho(scores: FloatArray | BoolArray, references: FloatArray) -> FloatArray:
    """ρ (U,) of `scores` (n,) with each row of `references` (U, n); NaN where a side is constant."""
    x = stats.rankdata(scores)
    y = stats.rankdata(references, axis=1)
    x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((y @ x) / np.sqrt((x**2).sum() * (y**2).sum(axis=1)))


def _concordant_minus_discordant(levels: IntArray, n_levels: int, first_equal: IntArray) -> IntArray:
    """For every pick, over the picks of strictly lower score: those of lower level minus those of higher level."""
    excess = np.zeros(len(levels), np.int64)
    so_far = np.zeros((levels.shape[0], levels.shape[1] + 1), np.int32)
    for level in range(n_levels):
        np.cumsum(levels == level, axis=1, out=so_far[:, 1:])
        excess += (np.sign(levels - level) * so_far[:, first_equal]).sum(axis=1)
    return excess


def _tied_pairs(counts: IntArray) -> FloatArray:
    return np.asarray((counts.astype(np.float64) * (counts - 1) / 2).sum(axis=-1))
