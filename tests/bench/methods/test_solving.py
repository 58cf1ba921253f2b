"""The knapsack of a GPU, run on a CPU: it finds what the decoder's finds."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vastsum.bench.methods.nn.solving import _dynamic_program, solve
from vastsum.selection import knapsack


@given(st.integers(0, 2**31), st.integers(1, 12), st.booleans())
def test_it_takes_what_the_decoder_takes(seed: int, n_items: int, with_ties: bool) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-2, 4, (6, n_items)) / 4 if with_ties else rng.normal(0.3, 0.5, (6, n_items))
    weights, capacities = rng.integers(1, 30, (6, n_items)), rng.integers(0, 80, 6)
    expected = knapsack(values, weights, capacities)
    given_ = torch.from_numpy(values), torch.from_numpy(weights), torch.from_numpy(capacities)
    np.testing.assert_array_equal(_dynamic_program(*given_), expected)
    np.testing.assert_array_equal(solve(*given_), expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_takes_the_same() -> None:
    rng = np.random.default_rng(0)
    problems = (
        torch.from_numpy(rng.random((50, 40), np.float32)),
        torch.from_numpy(rng.integers(10, 300, (50, 40))),
        torch.from_numpy(rng.integers(100, 900, 50)),
    )
    there = solve(*(tensor.cuda() for tensor in problems)).cpu()
    values = problems[0]
    torch.testing.assert_close((values * there).sum(1), (values * solve(*problems)).sum(1))
