"""A pass that is recorded on a GPU and replayed finds what the network itself does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from vastsum.data import Dataset
from vastsum.scorers.csta import Csta
from vastsum.training.loop import Member, Trainer


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_replay_finds_what_the_network_does(tvsum: Dataset) -> None:
    """Not compared with another training: convolutions on a GPU differ from time to time, and trainings with them."""
    videos = tuple(tvsum.videos.values())[:4]
    trainer = Trainer(Csta(thinner=16), [Member(videos, seed=0)], "cuda")
    for epoch in range(3):  # met, recorded, replayed
        trainer.train_epoch(epoch)
        scores = trainer.importance([videos])[0]
    assert trainer._replays is not None
    trainer.skeleton.train()
    steps = list(trainer._steps(3))
    replayed = [_copied(trainer._gradients(rows, 3)) for rows in steps]
    trainer._replays = None
    for own, expected in zip(scores, trainer.importance([videos])[0], strict=True):
        assert own == pytest.approx(expected, abs=1e-3)
    trainer.skeleton.train()
    for rows, (gradients, sums) in zip(steps, replayed, strict=True):
        expected_gradients, expected_sums = trainer._gradients(rows, 3)
        torch.testing.assert_close(sums, expected_sums, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(_norm(gradients), _norm(expected_gradients), rtol=2e-2, atol=1e-5)


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


def _copied(found: Any) -> Any:
    return torch.utils._pytree.tree_map(
        lambda value: value.clone() if isinstance(value, torch.Tensor) else value, found
    )


def _norm(gradients: Any) -> torch.Tensor:
    found = [gradient for phase in gradients.values() for gradient in phase if gradient is not None]
    return torch.stack(torch._foreach_norm(found)).norm()
