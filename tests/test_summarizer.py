"""Summarising a video whose frames the scorer finds worthless still fills the budget."""

from __future__ import annotations

import numpy as np

from vastsum.selection import select
from vastsum.summarizer import _above_zero
from vastsum.types import Prediction, Segments


def test_a_dull_video_is_summarised_to_its_full_budget() -> None:
    segments = Segments(np.array([[s, s + 9] for s in range(0, 200, 10)]), np.arange(0, 200, 10), 200)
    dull = Prediction(np.random.default_rng(0).uniform(-0.5, -0.1, 20), np.full(20, 0.3))
    assert select(dull, segments).chosen.sum() == 1
    assert select(_above_zero(dull), segments).chosen.sum() == 3


def test_order_and_real_importance_stay_as_they_are() -> None:
    mean = np.linspace(-1, 1, 50)
    shown = _above_zero(Prediction(mean, np.ones(50)))
    assert (np.diff(shown.mean) > 0).all()
    assert (shown.mean > 0).all()
    assert np.abs(shown.mean - mean)[mean > 0.2].max() < 1e-3
    assert (shown.std == 1).all()
