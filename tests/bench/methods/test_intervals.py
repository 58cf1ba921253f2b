"""Keyshots as intervals, against loops over picks and detections."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from vastsum.bench.methods.nn.intervals import best_cover, centreness, overlap, reaches


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_reaches_lead_to_the_ends_of_the_run(labels: list[bool]) -> None:
    found = reaches(torch.tensor([labels], dtype=torch.float32))[0]
    for place, inside in enumerate(labels):
        left = right = 0
        while inside and place - left - 1 >= 0 and labels[place - left - 1]:
            left += 1
        while inside and place + right + 1 < len(labels) and labels[place + right + 1]:
            right += 1
        assert found[place].tolist() == [left, right]


def test_the_middle_of_an_interval_is_its_centre() -> None:
    labels = torch.tensor([[0.0, 1, 1, 1, 1, 1, 0]])
    np.testing.assert_allclose(centreness(reaches(labels))[0], [0, 0, 1 / 3, 1, 1 / 3, 0, 0], atol=1e-6)


def test_a_pick_gets_the_best_score_that_covers_it() -> None:
    scores = torch.tensor([[0.9, 0.5, 0.4]])
    intervals = torch.tensor([[[1.2, 3.0], [2.0, 6.0], [3.9, 9.0]]])
    mask = torch.arange(8)[None] < 6
    found = best_cover(scores, intervals, mask, limit=0.4)[0]
    np.testing.assert_allclose(found, [0, 0.9, 0.9, 0.5, 0.5, 0.5, 0, 0])


@given(st.integers(0, 10_000), st.integers(1, 60), st.floats(0.2, 0.9))
def test_detections_are_kept_as_if_taken_one_by_one(seed: int, n_detections: int, limit: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    ends = torch.rand(2, n_detections, 2, generator=generator) * 34 - 2
    intervals, scores = ends.sort(dim=-1).values, torch.rand(2, n_detections, generator=generator)
    mask = torch.arange(30)[None] < torch.tensor([[30], [21]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vastsum.bench.methods.nn.intervals.AT_ONCE", 7)
        found = best_cover(scores, intervals, mask, limit)
    for video, n_picks in enumerate((30, 21)):
        expected = torch.zeros(30)
        kept: list[torch.Tensor] = []
        for which in scores[video].argsort(descending=True):
            interval = intervals[video, which].clamp(0, n_picks).round()
            if interval[0] < interval[1] and all(overlap(interval, other) < limit for other in kept):
                kept.append(interval)
                inside = slice(int(interval[0]), int(interval[1]))
                expected[inside] = expected[inside].maximum(scores[video, which])
        np.testing.assert_array_equal(found[video], expected)
