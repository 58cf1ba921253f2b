"""Keyshots as intervals, against loops over picks and detections."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from vastsum.scorers.intervals import centreness, painted, reaches, suppressed


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


def greedy(scores: np.ndarray, starts: np.ndarray, ends: np.ndarray, threshold: float) -> list[int]:
    kept: list[int] = []
    for n in np.argsort(-scores, kind="stable"):
        if starts[n] >= ends[n]:
            continue
        both = [min(ends[n], ends[m]) - max(starts[n], starts[m]) for m in kept]
        either = [max(ends[n], ends[m]) - min(starts[n], starts[m]) for m in kept]
        if all(shared < threshold * joined for shared, joined in zip(both, either, strict=True)):
            kept.append(int(n))
    return sorted(kept)


def test_suppression_of_many_videos_at_once_is_the_greedy_one() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((30, 40)).round(1)  # ties
    starts = rng.integers(0, 30, (30, 40)).astype(float)
    ends = starts + rng.integers(0, 12, (30, 40))
    kept = suppressed(torch.tensor(scores), torch.tensor(starts), torch.tensor(ends), 0.4)
    for row in range(30):
        assert torch.nonzero(kept[row]).flatten().tolist() == greedy(scores[row], starts[row], ends[row], 0.4)


def test_a_pick_gets_the_best_score_that_covers_it() -> None:
    scores, starts, ends = (
        torch.tensor([[0.9, 0.5, 0.4]]),
        torch.tensor([[1.2, 2.0, 3.9]]),
        torch.tensor([[3.0, 6.0, 9.0]]),
    )
    mask = torch.arange(8)[None] < 6
    found = painted(scores, starts, ends, mask, threshold=0.4)[0]
    np.testing.assert_allclose(found, [0, 0.9, 0.9, 0.5, 0.5, 0.5, 0, 0])
