"""Kernel temporal segmentation (Potapov et al., ECCV 2014) with the linear kernel, exact, without the T×T kernel.

Of all numbers of cuts m and all places for them, find those that minimise

    J(m) / n + v·m / (2n) · (log(n / m) + 1)

where J(m) is the least within-segment scatter that m cuts can reach, n the number of picks and v the strength. Times n,
the penalty is g(m) = v·m/2 · (log(n/m) + 1). It is concave: it lies below its tangent at the best m, so the best m also
minimises J(m) + β·m with β = g'(m) = v/2 · log(n/m). Hence only solutions of the penalised problem need be looked at
(the corners of the lower convex hull of J), and of these only as many as the bounds below leave in question.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import inf, log

import numpy as np

from vastsum.segmentation.penalised import solve_penalised
from vastsum.segmentation.scatter import centred, scatter
from vastsum.types import FloatArray, IntArray

FIRST_SEGMENT_SIZES = (40.0, 20.0, 10.0, 5.0)  # picks a segment at which the search begins
ROUNDING = 1e-10  # relative to the whole scatter


@dataclass
class Corner:
    """A corner of the lower hull of J: optimal for every β in [least, most] as far as is known."""

    cuts: IntArray
    cost: float  # J
    least: float
    most: float

    @property
    def m(self) -> int:
        return len(self.cuts)


@dataclass(frozen=True)
class Criterion:
    """What is minimised, times n, over at most `max_cuts` cuts."""

    n: int
    strength: float
    max_cuts: int

    def penalty(self, m: float) -> float:
        """g(m)."""
        return self.strength * m / 2 * (log(self.n / m) + 1) if m > 0 else 0.0

    def slope(self, m: float) -> float:
        """g'(m)."""
        return self.strength / 2 * log(self.n / m)

    def value(self, corner: Corner) -> float:
        return corner.cost + self.penalty(corner.m) if corner.m <= self.max_cuts else inf

    def lower_bound(self, left: Corner, right: Corner) -> float:
        """What no number of cuts strictly between two corners can get below.

        J lies above the supporting lines of both, of slopes −left.least and −right.most. A line plus the concave
        penalty is concave, so the least value is at an end or where the lines cross.
        """
        first, last = left.m + 1, min(right.m - 1, self.max_cuts)
        fall = left.least - right.most
        crossing = left.m + (left.cost - right.cost - right.most * (right.m - left.m)) / fall

        def bound(m: float) -> float:
            from_left = left.cost - left.least * (m - left.m)
            from_right = right.cost + right.most * (right.m - m)
            return max(from_left, from_right) + self.penalty(m)

        return min(bound(m) for m in (first, last, min(max(crossing, first), last)))

    def open_questions(self, left: Corner, right: Corner, target: float) -> list[float]:
        """The β to solve for next if a corner between two neighbours may get below `target`."""
        if right.m - left.m < 2 or left.m >= self.max_cuts:
            return []
        chord = (left.cost - right.cost) / (right.m - left.m)
        lowest, highest = right.most, left.least
        if not lowest < chord < highest or self.lower_bound(left, right) >= target:
            return []  # either the two are joined by an edge of the hull, or nothing between them is good enough
        if right.m <= self.max_cuts:
            # The best m is optimal for β = g'(m), and lies between the two.
            lowest, highest = max(lowest, self.slope(right.m - 1)), min(highest, self.slope(left.m + 1))
            if lowest > highest:
                return []
            chord = min(max(chord, lowest), highest)
        # One β is enough to go on; three share a pass over the vectors and save the next one.
        return [chord, (lowest + chord) / 2, (chord + min(highest, 2 * chord)) / 2]


def kernel_cuts(features: FloatArray, strength: float, max_cuts: int | None = None) -> IntArray:
    """The picks that start a new segment under the criterion above, `strength` > 0.

    Where `max_cuts` is less than the best number of cuts, the answer is the best corner that keeps to it: still the
    optimal places for its number of cuts, which may be a few below `max_cuts`.
    """
    n = len(features)
    none, everywhere = np.zeros(0, dtype=np.int64), np.arange(1, n, dtype=np.int64)
    if n < 2:
        return none
    criterion = Criterion(n, strength, n - 1 if max_cuts is None else max_cuts)
    vectors = centred(features)
    corners = {0: Corner(none, scatter(vectors, none), inf, inf), n - 1: Corner(everywhere, 0.0, 0.0, 0.0)}
    rounding = ROUNDING * corners[0].cost

    asked: set[float] = set()
    betas = [criterion.slope(n / size) for size in FIRST_SEGMENT_SIZES if size < n]
    while True:
        for beta, (cuts, cost) in zip(betas, solve_penalised(vectors, betas), strict=True):
            found = corners.setdefault(len(cuts), Corner(cuts, cost, beta, beta))
            found.least, found.most = min(found.least, beta), max(found.most, beta)
        target = min(map(criterion.value, corners.values())) - rounding
        neighbours = pairwise(sorted(corners.values(), key=lambda corner: corner.m))
        questions = {beta for left, right in neighbours for beta in criterion.open_questions(left, right, target)}
        asked.update(betas)
        betas = sorted(questions - asked)
        if not betas:
            return min(corners.values(), key=criterion.value).cuts
