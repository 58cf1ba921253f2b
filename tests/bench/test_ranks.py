"""Our rank correlations are scipy's, only quicker."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vastsum.bench.measures import kendall_tau_b, spearman_rho


def scipys(statistic: object, scores: np.ndarray, references: np.ndarray) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about constant sides, which are NaN in both
        return [statistic(scores, reference).statistic for reference in references]


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32), n=st.integers(2, 60), n_references=st.integers(1, 4),
    score_levels=st.sampled_from([1, 2, 5, 1000]), reference_levels=st.sampled_from([1, 2, 5, 20, 1000]),
)  # fmt: skip
def test_they_equal_scipys(seed: int, n: int, n_references: int, score_levels: int, reference_levels: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, score_levels, n) / 7
    references = rng.integers(0, reference_levels, (n_references, n)) / 4
    assert kendall_tau_b(scores, references) == pytest.approx(
        scipys(stats.kendalltau, scores, references), abs=1e-12, nan_ok=True
    )
    assert spearman_rho(scores, references) == pytest.approx(
        scipys(stats.spearmanr, scores, references), abs=1e-12, nan_ok=True
    )


def test_a_binary_summary_of_many_frames() -> None:
    rng = np.random.default_rng(0)
    summary, people = rng.random(9000) < 0.15, rng.binomial(15, 0.2, (1, 9000)) / 15
    assert kendall_tau_b(summary, people) == pytest.approx(scipys(stats.kendalltau, summary, people), abs=1e-12)
