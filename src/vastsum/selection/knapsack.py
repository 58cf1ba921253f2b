"""Exact 0/1 knapsack, for many value vectors over the same weights at once."""

from __future__ import annotations

import numpy as np

from vastsum.types import BoolArray, FloatArray, IntArray


def knapsack(values: FloatArray, weights: IntArray, capacity: int | IntArray) -> BoolArray:
    """The most valuable non-empty set of items whose weights sum to at most `capacity`.

    `values` is (B, M), one problem a row, or (M,) for a single problem; `weights` is (M,), positive integers shared by
    all rows, or (B, M); `capacity` is one number or (B,). Returns a mask of the shape of `values`.

    - An item heavier than the capacity is never taken. If no item fits, the row is all False.
    - A value of zero or below never adds to a sum, so such items are left out, except that a set is never empty while
      any item fits: where no fitting item has a positive value, the single most valuable one is taken (which then is
      the best non-empty set).
    - Ties are broken the same way every time: an item is taken only if that is strictly better than leaving it, decided
      from the last item to the first, so earlier items win.

    Two steps. For all rows at once, bounds settle the items on which every best set agrees (`_settle`). What they leave
    open, a handful of items and a little room, goes to a dynamic program (`_solve`), a row at a time.
    """
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))  # (B, M)
    weights = np.atleast_2d(np.asarray(weights, dtype=np.int64))
    unit = np.gcd.reduce(weights, axis=1, keepdims=True)
    weights, room = weights // unit, np.reshape(capacity, (-1, 1)) // unit  # (B or 1, M), (B or 1, 1)
    weights, room = np.broadcast_to(weights, rows.shape), np.broadcast_to(room, (len(rows), 1))
    fits = weights <= room

    taken, open_items = _settle(np.where(fits, rows, 0.0), weights, room)
    left = room[:, 0] - (taken * weights).sum(axis=1)  # (B,)
    for b in np.flatnonzero(open_items.any(axis=1)):
        items = np.flatnonzero(open_items[b])
        taken[b, items] = _solve(rows[b, items], weights[b, items], int(left[b]))

    empty = np.flatnonzero(~taken.any(axis=1) & fits.any(axis=1))
    taken[empty, np.where(fits[empty], rows[empty], -np.inf).argmax(axis=1)] = True
    return taken.reshape(np.shape(values))


def _settle(values: FloatArray, weights: IntArray, capacity: IntArray) -> tuple[BoolArray, BoolArray]:
    """Which items are certainly in each row's best sets, and which remain open; all others are certainly out.

    The relaxed problem (items may be taken in part) is solved by filling up in order of value per weight; its value is
    an upper bound. Forcing an item the other way lowers that bound by at least |value − weight · price|, where price is
    the value per weight at which the relaxed solution runs out of room. Where the lowered bound is below what a whole
    solution reaches already, the item is settled. (B rows, M items; capacity is (B, 1).)
    """
    density = values / weights
    order = np.argsort(-density, axis=1, kind="stable")
    values_by_density = np.take_along_axis(values, order, axis=1)
    weights_by_density = np.take_along_axis(weights, order, axis=1)
    load = np.cumsum(weights_by_density, axis=1)
    within = (load <= capacity) & (values_by_density > 0)

    reached = np.where(within, values_by_density, 0.0).sum(axis=1, keepdims=True)
    left = capacity - np.where(within, weights_by_density, 0).sum(axis=1, keepdims=True)
    first_out = np.minimum(within.sum(axis=1, keepdims=True), values.shape[1] - 1)
    density_first_out = np.take_along_axis(values_by_density / weights_by_density, first_out, axis=1)
    price = np.where(within.all(axis=1, keepdims=True), 0.0, np.maximum(density_first_out, 0.0))
    upper = reached + left * price
    # A better whole solution settles more: also fill what is left with the best single later item that fits.
    spare = np.where(~within & (weights_by_density <= left), values_by_density, 0.0).max(axis=1, keepdims=True)
    lower = reached + np.maximum(spare, 0.0)

    rounding = 1e-9 * np.abs(values).sum(axis=1, keepdims=True)
    slack = values - weights * price  # (B, M) positive: the relaxed solution holds the item whole
    open_items = (upper - np.abs(slack) >= lower - rounding) & (values > 0)
    return (slack > 0) & (values > 0) & ~open_items, open_items


def _solve(values: FloatArray, weights: IntArray, capacity: int) -> BoolArray:
    """Dynamic program: best[c] is the highest value within capacity c; an item is one vectorised pass over capacities.

    A pass covers only the capacities that matter: below `capacity` minus the weight of all later items, nothing is read
    again.
    """
    capacity = min(capacity, int(weights.sum()))
    best = np.zeros(capacity + 1)
    takes = np.zeros((len(weights), capacity + 1), dtype=bool)
    weight_after = weights.sum() - np.cumsum(weights)
    for k, (weight, after) in enumerate(zip(weights.tolist(), weight_after.tolist(), strict=True)):
        low = max(weight, capacity - after)
        if low > capacity:
            continue
        candidate = best[low - weight : capacity + 1 - weight] + values[k]
        np.greater(candidate, best[low:], out=takes[k, low:])
        np.maximum(candidate, best[low:], out=best[low:])

    taken = np.zeros(len(weights), dtype=bool)
    room = capacity
    for k in range(len(weights) - 1, -1, -1):
        if takes[k, room]:
            taken[k] = True
            room -= int(weights[k])
    return taken
