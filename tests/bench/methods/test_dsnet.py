"""DSNet's detection on the timeline, against the plain loops it stands for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.bench.batches import VideoTensors, pad
from vastsum.bench.data import Dataset
from vastsum.bench.methods import dsnet
from vastsum.bench.methods.learned import Moment
from vastsum.bench.methods.nn.intervals import best_cover, reaches


def cover_one_by_one(scores: np.ndarray, intervals: np.ndarray, n_picks: int) -> np.ndarray:
    importance = np.zeros(n_picks)
    kept: list[tuple[int, int]] = []
    for n in np.argsort(-scores, kind="stable"):
        left, right = np.clip(intervals[n], 0, n_picks).round().astype(int)
        common = [max(0, min(right, b) - max(left, a)) for a, b in kept]
        overlaps = [c / (right - left + b - a - c) for c, (a, b) in zip(common, kept, strict=True) if right > left]
        if right > left and all(overlap < dsnet.OVERLAP_LIMIT for overlap in overlaps):
            kept.append((left, right))
            importance[left:right] = np.maximum(importance[left:right], scores[n])
    return importance


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 60))
def test_the_best_intervals_are_kept_and_cover_their_picks(seed: int, n_picks: int, n_intervals: int) -> None:
    rng = np.random.default_rng(seed)
    centre, width = rng.uniform(-3, n_picks + 3, n_intervals), rng.exponential(6, n_intervals)
    intervals = np.stack([centre - width / 2, centre + width / 2], axis=1).astype(np.float32)
    scores = rng.random(n_intervals).astype(np.float32)
    found = best_cover(
        torch.tensor(scores)[None], torch.tensor(intervals)[None], torch.ones(1, n_picks).bool(), dsnet.OVERLAP_LIMIT
    )
    np.testing.assert_allclose(found[0], cover_one_by_one(scores, intervals, n_picks), atol=1e-6)


def test_keyshots_become_intervals_and_distances_to_their_ends(tvsum: Dataset) -> None:
    videos = [VideoTensors.of(video) for video in list(tvsum.videos.values())[:2]]
    chosen = torch.zeros(2, max(video.n_picks for video in videos))
    chosen[0, :3] = chosen[0, 7] = chosen[1, 4:6] = 1
    runs, real = dsnet._runs(replace(pad(videos), keyshots=chosen))
    assert [run[here].tolist() for run, here in zip(runs, real, strict=True)] == [[[0, 3], [7, 8]], [[4, 6]]]
    to_ends = reaches((chosen > 0).float())
    assert to_ends[0, :3].tolist() == [[0, 2], [1, 1], [2, 0]]
    assert to_ends[1, 4:6].tolist() == [[0, 1], [1, 0]]


def test_an_anchor_moved_by_the_offsets_it_is_taught_becomes_the_keyshot() -> None:
    keyshot, anchor = torch.tensor([3.0, 12.0]), torch.tensor([4.0, 8.0])
    move, stretch = dsnet._offsets(keyshot, anchor)
    centre, width = 6 + move * 4, 4 * stretch.exp()
    torch.testing.assert_close(torch.stack([centre - width / 2, centre + width / 2]), keyshot)


def test_anchors_that_fail_are_drawn_in_proportion_to_those_that_fit() -> None:
    lots = torch.rand(2, 10, 4)
    candidates = torch.rand(2, 10, 4) < 0.5
    drawn = dsnet._drawn(lots, candidates, torch.tensor([3, 1000]))
    assert drawn.sum(dim=(1, 2)).tolist() == [3, candidates[1].sum()]
    assert not (drawn & ~candidates).any()


def test_a_video_without_keyshots_teaches_nothing(tvsum: Dataset) -> None:
    batch = pad([VideoTensors.of(video) for video in list(tvsum.videos.values())[:2]])
    batch = replace(batch, keyshots=batch.keyshots * torch.tensor([[1.0], [0.0]]))
    for method in (dsnet.AnchorBased(), dsnet.AnchorFree()):
        network = method.build(24)
        moment = Moment(0, [np.random.default_rng(n) for n in range(2)])
        taught, untaught = method.losses(network(*method.inputs(batch)), batch, moment)["total"].tolist()
        assert taught > 0
        assert untaught == 0
