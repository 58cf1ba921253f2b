"""The cuts that minimise scatter + β · (number of cuts), for given β: optimal partitioning with PELT's pruning.

`ruptures` does this in C, evaluating one kernel value after another. On a video that keeps changing that is quick, but
through a still stretch nothing can be pruned and its time is quadratic: for one β, 9 s measured on half a still hour
(2 picks a second, 1280-D), which makes an hour for ten. So ruptures takes the short videos, where even the worst case
is hundredths of a second, and `solve_in_blocks` the long ones: the same recursion, but with the kernel values of many
picks at a time from one matrix product, shared by all β. Neither holds more than a band of the T×T kernel, and both are
exact; `solve_in_blocks` is quadratic on a still video too, only with a far smaller constant (benchmarks/kts.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vastsum.segmentation.scatter import Doubles, scatter
from vastsum.types import FloatArray, IntArray

RUPTURES_UP_TO = 300  # picks
BLOCK = 64  # picks
CHUNK = 1024  # picks whose vectors are in double at one time


class Solution(NamedTuple):
    """Optimal for one β: the cuts (picks that start a new segment, increasing) and the scatter they leave."""

    cuts: IntArray
    scatter: float


def solve_penalised(vectors: FloatArray, betas: Sequence[float]) -> list[Solution]:
    """The optimum for each β > 0, of at least two vectors."""
    if len(vectors) <= RUPTURES_UP_TO:
        return solve_with_ruptures(vectors, betas)
    return solve_in_blocks(vectors, betas)


def solve_with_ruptures(vectors: FloatArray, betas: Sequence[float]) -> list[Solution]:
    from ruptures.detection import KernelCPD  # here, since it takes most of a second, and long videos do not need it

    detector = KernelCPD(kernel="linear", min_size=1).fit(vectors)
    all_cuts = [np.asarray(detector.predict(pen=beta)[:-1], dtype=np.int64) for beta in betas]
    return [Solution(cuts, scatter(vectors, cuts)) for cuts in all_cuts]


def solve_in_blocks(vectors: FloatArray, betas: Sequence[float], block: int = BLOCK) -> list[Solution]:
    """V(t) = min_s V(s) + scatter(s … t−1) + β, from left to right; a start s that cannot win again is forgotten."""
    n = len(vectors)
    penalty = np.asarray(betas, dtype=np.float64)  # (B,)
    squares = np.einsum("td,td->t", vectors, vectors, dtype=np.float64)
    energy = np.concatenate([[0.0], np.cumsum(squares)])  # Σ |x|² before t
    best = np.zeros((len(penalty), n + 1))  # V
    last_start = np.zeros((len(penalty), n + 1), dtype=np.int64)
    first = 0  # the oldest start that may still win, for any β
    sums = np.zeros(0)  # |Σ x|² from each start in first … t−1 up to t
    for t0 in range(0, n, block):
        t1 = min(t0 + block, n)
        costs, sums = _block_costs(vectors, squares, energy, sums, first, t0, t1)  # (t1 − t0, t1 − first)
        for row, t in enumerate(range(t0 + 1, t1 + 1)):
            totals = best[:, first:t] + costs[row, : t - first]  # (B, t − first)
            best[:, t] = totals.min(axis=1) + penalty
            last_start[:, t] = totals.argmin(axis=1) + first
        # PELT: cutting at t1 is at least as good as any segment from s that goes on past t1.
        alive = np.flatnonzero((best[:, first:t1] + costs[-1] < best[:, [t1]]).any(axis=0))
        oldest = int(alive[0]) if len(alive) else t1 - first
        sums, first = sums[oldest:], first + oldest
    all_cuts = [_trace(starts) for starts in last_start]
    return [
        Solution(cuts, max(total - beta * (len(cuts) + 1), 0.0))
        for cuts, total, beta in zip(all_cuts, best[:, -1].tolist(), betas, strict=True)
    ]


def _block_costs(
    vectors: FloatArray, squares: Doubles, energy: Doubles, sums: Doubles, first: int, t0: int, t1: int
) -> tuple[Doubles, Doubles]:
    """Scatter of s … t−1 for every t in t0+1 … t1 and every start s in first … t1−1 (nonsense where s ≥ t)."""
    kernel = _products(vectors[t0:t1], vectors[first:t1])  # (block, window)
    not_yet = np.triu(np.ones((t1 - t0, t1 - t0), dtype=bool), k=1)  # pick t is before start s
    kernel[:, t0 - first :][not_yet] = 0.0
    # |Σ x|² grows by 2 x_t·(x_s + … + x_t) − |x_t|² when pick t joins the segment that starts at s.
    growth = np.cumsum(kernel[:, ::-1], axis=1)[:, ::-1]
    growth *= 2
    growth -= squares[t0:t1, None]
    growth[:, t0 - first :][not_yet] = 0.0
    growth[0, : len(sums)] += sums
    squared_sums = np.cumsum(growth, axis=0, out=kernel)
    sizes = np.arange(t0 + 1, t1 + 1, dtype=np.float64)[:, None] - np.arange(first, t1)
    costs = energy[t0 + 1 : t1 + 1, None] - energy[first:t1]
    costs -= squared_sums / np.maximum(sizes, 1, out=sizes)
    return costs, squared_sums[-1].copy()


def _products(block: FloatArray, window: FloatArray) -> Doubles:
    rows = block.astype(np.float64)
    chunks = (window[start : start + CHUNK].astype(np.float64) for start in range(0, len(window), CHUNK))
    return np.concatenate([rows @ chunk.T for chunk in chunks], axis=1)


def _trace(last_start: IntArray) -> IntArray:
    cuts = []
    t = int(last_start[-1])
    while t > 0:
        cuts.append(t)
        t = int(last_start[t])
    return np.asarray(cuts[::-1], dtype=np.int64)
