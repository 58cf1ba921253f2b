"""The knapsack is exact, never empty when it need not be, and always gives the same answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.selection import knapsack


def best_value_by_trying_all(values: np.ndarray, weights: np.ndarray, capacity: int) -> float | None:
    sets = np.array(list(product([False, True], repeat=len(values))))
    allowed = sets[(sets @ weights <= capacity) & sets.any(axis=1)]
    return float((allowed @ values).max()) if len(allowed) else None


def plain_dynamic_program(values: list[float], weights: list[int], capacity: int) -> float:
    best = [0.0] * (capacity + 1)
    for value, weight in zip(values, weights, strict=True):
        for c in range(capacity, weight - 1, -1):
            best[c] = max(best[c], best[c - weight] + value)
    return best[capacity]


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, int]:
    n_items = draw(st.integers(1, 9))
    # Few distinct values make ties common; the floats make rounding matter.
    value = st.one_of(st.integers(-2, 3).map(float), st.floats(-1e3, 1e3), st.sampled_from([0.1, 0.2, 0.3]))
    values = draw(st.lists(st.lists(value, min_size=n_items, max_size=n_items), min_size=1, max_size=4))
    weights = draw(st.lists(st.integers(1, 12), min_size=n_items, max_size=n_items))
    return np.array(values), np.array(weights), draw(st.integers(0, 40))


@settings(max_examples=400, deadline=None)
@given(problems())
def test_equals_the_best_of_all_sets(problem: tuple[np.ndarray, np.ndarray, int]) -> None:
    values, weights, capacity = problem
    for row, taken in zip(values, knapsack(values, weights, capacity), strict=True):
        best = best_value_by_trying_all(row, weights, capacity)
        if best is None:
            assert not taken.any()
        else:
            assert taken.any()
            assert taken @ weights <= capacity
            assert row[taken].sum() == pytest.approx(best, abs=1e-9 * max(1.0, np.abs(row).sum()))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(30, 120), st.sampled_from(["random", "tied", "near-ties"]))
def test_equals_a_plain_dynamic_program_on_real_sizes(seed: int, n_items: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(10, 200, n_items)
    values = {
        "random": rng.random((3, n_items)),
        "tied": np.ones((3, n_items)),
        "near-ties": 1 + 1e-6 * rng.random((3, n_items)),
    }[kind]
    capacity = int(0.15 * weights.sum())
    for row, taken in zip(values, knapsack(values, weights, capacity), strict=True):
        assert taken @ weights <= capacity
        assert row[taken].sum() == pytest.approx(plain_dynamic_program(list(row), weights.tolist(), capacity), abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_a_row_gives_the_same_answer_alone_and_in_a_batch(problem: tuple[np.ndarray, np.ndarray, int]) -> None:
    values, weights, capacity = problem
    batch = knapsack(values, weights, capacity)
    for row, taken in zip(values, batch, strict=True):
        assert (knapsack(row, weights, capacity) == taken).all()


def test_ties_go_to_the_earlier_item() -> None:
    assert knapsack(np.array([1.0, 1.0, 1.0]), np.array([2, 2, 2]), 4).tolist() == [True, True, False]


def test_negative_values_still_give_a_summary() -> None:
    assert knapsack(np.array([-3.0, -1.0, -2.0]), np.array([1, 1, 1]), 3).tolist() == [False, True, False]


def test_negative_values_are_left_out_beside_positive_ones() -> None:
    assert knapsack(np.array([1.0, -0.1, 2.0]), np.array([1, 1, 1]), 3).tolist() == [True, False, True]


def test_the_best_segment_is_passed_over_if_it_is_too_long() -> None:
    assert knapsack(np.array([9.0, -1.0]), np.array([10, 2]), 5).tolist() == [False, True]


def test_nothing_fits() -> None:
    assert not knapsack(np.ones((2, 3)), np.array([5, 6, 7]), 4).any()


def test_ten_hours_of_video_are_selected_from_exactly() -> None:
    """7 000 segments, a budget of 160 000 frames: the plain table would hold a thousand million cells."""
    rng = np.random.default_rng(0)
    weights = rng.integers(60, 250, 7000)
    values = rng.random(7000)
    capacity = int(0.15 * weights.sum())
    taken = knapsack(values, weights, capacity)
    order = np.argsort(-values / weights)
    fitting = np.cumsum(weights[order]) <= capacity
    relaxed = values[order][fitting].sum() + (values / weights).max() * weights.max()
    assert taken @ weights <= capacity
    assert values[order][fitting].sum() <= values[taken].sum() <= relaxed


@given(seed=st.integers(0, 2**32))
def test_problems_with_weights_of_their_own_are_solved_as_if_alone(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_problems, n_items = rng.integers(1, 6), rng.integers(1, 12)
    values = rng.normal(size=(n_problems, n_items)).round(1)
    weights = rng.integers(1, 30, (n_problems, n_items)) * rng.choice([1, 5])
    capacities = rng.integers(0, 120, n_problems)
    together = knapsack(values, weights, capacities)
    for row in range(n_problems):
        assert together[row].tolist() == knapsack(values[row], weights[row], int(capacities[row])).tolist()
