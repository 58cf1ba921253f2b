"""A pass that is recorded on a GPU and replayed finds what the network itself does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from vastsum.data import Dataset
from vastsum.scorers.csta import Csta
from vastsum.training.loop import Member, Trainer
from vastsum.training.replaying import Program, Replays


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_replays_what_it_would_find_without(tvsum: Dataset) -> None:
    """Convolutions on a GPU differ from time to time, and trainings with them: losses are compared, not weights. By the
    third epoch those of two trainings without recordings were seen to differ by 2.5 %."""
    videos = tuple(tvsum.videos.values())[:4]
    logs: list[list[dict[str, float]]] = []
    for replayed in (True, False):
        trainer = Trainer(Csta(thinner=16), [Member(videos, seed=0)], "cuda")
        if not replayed:
            trainer._replays = None
        logs.append([])
        for epoch in range(4):  # met, recorded, replayed
            logs[-1].append(trainer.train_epoch(epoch)[0])
            trainer.importance([videos])
        scores = trainer.importance([videos])[0]
        assert (trainer._replays is not None) == replayed
        trainer._replays = None
        for found, expected in zip(scores, trainer.importance([videos])[0], strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-3)
    for found, expected in zip(*logs, strict=True):
        assert found["total"] == pytest.approx(expected["total"], rel=5e-2)


class Rerun(Replays):
    """A GPU replays a recording; here its program is run again, with a network that is as it was when it was recorded:
    at work, or learning."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.recorded: list[torch.Size] = []

    def _record(self, program: Program, given: Tensor) -> Any:
        self.recorded.append(given.shape)
        return _Rerunning(self.network, program, given)


class _Rerunning:
    def __init__(self, network: nn.Module, program: Program, given: Tensor) -> None:
        self.program, self.given, self.graph = program, given, self
        self.network, self.learns, self.differentiates = network, network.training, torch.is_grad_enabled()
        self.found: Any = None

    def replay(self) -> None:
        self.network.train(self.learns)
        with torch.set_grad_enabled(self.differentiates):
            self.found = self.program(self.given)
        assert not any(isinstance(each, Tensor) and each.requires_grad for each in tree_leaves(self.found))


@pytest.mark.parametrize("after_each_step", [False, True])
def test_steps_and_scores_by_replay_are_those_without(tvsum: Dataset, after_each_step: bool) -> None:
    videos = tuple(tvsum.videos.values())[:4]
    outcomes = []
    for replayed in (False, True):
        trainer = Trainer(Csta(thinner=16), [Member(videos, seed=0)])
        replays = Rerun(trainer.skeleton)
        trainer._replays = replays if replayed else None
        trainer._picks_at_once = 10**6  # as on a GPU: scored all at once
        score = partial(trainer.importance, [videos[1:]])
        after_step = score if after_each_step else lambda: None
        outcomes.append([(trainer.train_epoch(epoch, after_step), score()[0]) for epoch in range(3)])
    for (expected_logs, expected_scores), (logs, scores) in zip(*outcomes, strict=True):
        assert logs == expected_logs
        for found, expected in zip(scores, expected_scores, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert sorted(replays.recorded) == [(1, 1)] * len(videos) + [(1, 3)]  # a step a video; three are scored at once


def test_without_memory_for_recordings_none_are_made(tvsum: Dataset) -> None:
    class Greedy:
        def run(self, *_: Any) -> Any:
            raise torch.OutOfMemoryError("CUDA out of memory")

    videos = tuple(tvsum.videos.values())[:2]
    logs = []
    for replays in (Greedy(), None):
        trainer = Trainer(Csta(thinner=16), [Member(videos, seed=0)])
        trainer._replays = replays  # type: ignore[assignment]
        logs.append(trainer.train_epoch(0)[0])
        assert trainer._replays is None
    assert logs[0] == logs[1]
