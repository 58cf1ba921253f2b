"""Kernel temporal segmentation against a direct dynamic program over all numbers of cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from vastsum.segmentation import kernel_cuts
from vastsum.segmentation.penalised import solve_in_blocks, solve_with_ruptures

Matrix = NDArray[np.float64]


def all_scatters(features: Matrix) -> Matrix:
    """C[s, t]: scatter of picks s … t−1; infinite where s ≥ t."""
    n = len(features)
    sums = np.concatenate([np.zeros((1, features.shape[1])), np.cumsum(features, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum((features**2).sum(axis=1))])
    costs = np.full((n + 1, n + 1), np.inf)
    for s in range(n):
        sizes = np.arange(1, n - s + 1)
        costs[s, s + 1 :] = squares[s + 1 :] - squares[s] - ((sums[s + 1 :] - sums[s]) ** 2).sum(axis=1) / sizes
    return costs


def least_scatter(features: Matrix) -> Matrix:
    """J(m) for m = 0 … n − 1 by the direct dynamic program."""
    costs = np.ascontiguousarray(all_scatters(features).T)  # (t, s)
    best, result = costs[:, 0].copy(), [costs[-1, 0]]
    for m in range(1, len(features)):
        best[m:] = (best[m:] + costs[m:, m:]).min(axis=1)  # m segments need m picks
        best[:m] = np.inf
        result.append(best[-1])
    return np.maximum(result, 0)


def criterion(cost: Matrix | float, m: Matrix | int, n: int, strength: float) -> Matrix:
    m = np.asarray(m, dtype=float)
    return cost / n + strength * m / (2 * n) * (np.log(n / np.maximum(m, 1)) + 1)


def scatter_of(features: Matrix, cuts: NDArray[np.int64]) -> float:
    return sum(float(((part - part.mean(axis=0)) ** 2).sum()) for part in np.split(features, cuts))


def planted(n: int, width: int, n_scenes: int, noise: float, seed: int) -> Matrix:
    """Vectors of length one: scenes of random lengths, each about a direction of its own."""
    rng = np.random.default_rng(seed)
    scene = np.sort(rng.integers(0, n_scenes, n))
    vectors = rng.normal(size=(n_scenes, width))[scene] + noise * rng.normal(size=(n, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def assert_optimal(features: Matrix, strength: float) -> None:
    n = len(features)
    cuts = kernel_cuts(features, strength)
    reached = criterion(scatter_of(features, cuts), len(cuts), n, strength)
    possible = criterion(least_scatter(features), np.arange(n), n, strength).min()
    assert reached == pytest.approx(possible, rel=1e-9, abs=1e-12)


seeds = st.integers(0, 2**32 - 1)
strengths = st.floats(-3, 1.5).map(lambda power: 10.0**power)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(1, 120), st.integers(1, 6), st.integers(1, 30), st.floats(0, 1.5), strengths, st.integers(0, 2**32 - 1)
)
@example(n=1, width=3, n_scenes=1, noise=0.0, strength=1.0, seed=0)
@example(n=2, width=1, n_scenes=2, noise=0.0, strength=0.01, seed=0)
def test_is_as_good_as_trying_every_number_of_cuts(
    n: int, width: int, n_scenes: int, noise: float, strength: float, seed: int
) -> None:
    assert_optimal(planted(n, width, n_scenes, noise, seed), strength)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=1, max_size=80), strengths)
def test_is_as_good_where_vectors_repeat_and_costs_tie(values: list[int], strength: float) -> None:
    assert_optimal(np.array(values, dtype=float)[:, None], strength)


@settings(max_examples=12, deadline=None)
@given(st.integers(280, 600), st.integers(1, 60), st.floats(0.05, 1), strengths, seeds)
@example(n=600, n_scenes=40, noise=0.3, strength=0.2, seed=1)
def test_is_as_good_on_long_inputs(n: int, n_scenes: int, noise: float, strength: float, seed: int) -> None:
    assert_optimal(planted(n, 8, n_scenes, noise, seed), strength)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 150),
    st.integers(1, 5),
    st.floats(0, 1),
    st.lists(strengths, min_size=1, max_size=4),
    st.sampled_from([1, 3, 16, 64]),
    seeds,
)
def test_both_solvers_of_the_penalised_problem_are_optimal(
    n: int, width: int, noise: float, betas: list[float], block: int, seed: int
) -> None:
    features = planted(n, width, 8, noise, seed)
    cost_of_count = least_scatter(features)
    for solve in (solve_with_ruptures, lambda vectors, betas: solve_in_blocks(vectors, betas, block)):
        for beta, solution in zip(betas, solve(features, betas), strict=True):
            assert solution.scatter == pytest.approx(scatter_of(features, solution.cuts), abs=1e-9)
            reached = solution.scatter + beta * len(solution.cuts)
            assert reached == pytest.approx((cost_of_count + beta * np.arange(n)).min(), rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 90), st.floats(0, 1.5), strengths, st.integers(0, 90), seeds)
def test_a_limit_on_the_cuts_is_kept_and_their_places_are_optimal(
    n: int, noise: float, strength: float, max_cuts: int, seed: int
) -> None:
    features = planted(n, 4, 12, noise, seed)
    cost_of_count = least_scatter(features)
    cuts = kernel_cuts(features, strength, max_cuts)
    assert len(cuts) <= max_cuts
    assert scatter_of(features, cuts) == pytest.approx(cost_of_count[len(cuts)], abs=1e-9)
    free = kernel_cuts(features, strength)
    if len(free) <= max_cuts:
        assert criterion(cost_of_count[len(cuts)], len(cuts), n, strength) == pytest.approx(
            criterion(cost_of_count[len(free)], len(free), n, strength), abs=1e-12
        )


def test_a_limit_that_binds_is_all_but_used_up() -> None:
    features = planted(400, 16, 80, 0.5, seed=3)
    assert len(kernel_cuts(features, 0.01)) > 40
    assert 36 <= len(kernel_cuts(features, 0.01, max_cuts=40)) <= 40


@pytest.mark.parametrize("n", [200, 2000])
def test_finds_the_scenes_that_are_there(n: int) -> None:
    rng = np.random.default_rng(0)
    scenes = np.repeat(np.arange(n // 20), 20)
    vectors = rng.normal(size=(n // 20, 64))[scenes] + 0.1 * rng.normal(size=(n, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert kernel_cuts(vectors, strength=0.3).tolist() == list(range(20, n, 20))


@pytest.mark.parametrize("n", [1, 2, 299, 700])
def test_a_still_video_has_no_cuts(n: int) -> None:
    assert len(kernel_cuts(np.ones((n, 5), dtype=np.float32) / np.sqrt(5), strength=0.2)) == 0


def test_half_precision_input_is_no_worse() -> None:
    features = planted(500, 32, 30, 0.3, seed=5)
    assert kernel_cuts(features.astype(np.float16), 0.3).tolist() == kernel_cuts(features, 0.3).tolist()
