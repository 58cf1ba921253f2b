"""Train a method for many splits and seeds, as few programs as it allows, and keep what each protocol asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.training.bookmarks import Bookmark
from vastsum.bench.training.loop import Member, Trainer, Weights
from vastsum.scoring.base import Scorer
from vastsum.types import FloatArray, Kind, Prediction

Judge = Callable[[Sequence[tuple[Prediction, BenchmarkVideo]]], Iterable[tuple[float, float]]]
"""τ and ρ of each prediction, for all at once. It may still be at work when it returns, and be waited for when they are
read."""


@dataclass(frozen=True)
class Assignment:
    """What one member trains on, and which videos choose its epoch."""

    member: Member
    watched: tuple[BenchmarkVideo, ...]


@dataclass(frozen=True)
class Trained:
    """`best` is the epoch with the highest τ on the watched videos, of those to choose from; `last` the final one. They
    are the same where no videos are watched."""

    best: Scorer
    last: Scorer
    chosen_epoch: int
    watched_tau: list[float]  # after every epoch; nothing where no videos are watched
    n_parameters: int


def groups(method: LearnedMethod, assignments: Sequence[Assignment], at_most: int) -> Iterator[list[int]]:
    """Which assignments train together: those that take equally many steps, `at_most` at a time."""
    by_steps: dict[int, list[int]] = {}
    for index, assignment in enumerate(assignments):
        by_steps.setdefault(Trainer.n_steps(method, assignment.member), []).append(index)
    size = at_most if method.stackable else 1
    for together in by_steps.values():
        yield from (together[first : first + size] for first in range(0, len(together), size))


def train_together(
    method: LearnedMethod,
    kind: Kind,
    assignments: Sequence[Assignment],
    judge: Judge,
    report: Callable[[float], None] = lambda _: None,
    device: str = "cpu",
    bookmark: Bookmark | None = None,
) -> list[Trained]:
    """`report` is told after every epoch what share of all that were to be done it was: those that a bookmark says are
    done are not done again."""
    trainer = Trainer(method, [assignment.member for assignment in assignments], device)
    choice = _Choice(trainer)
    found = bookmark.read() if bookmark else None
    if found is not None and _fits(found[0], trainer.state() | choice.state()):
        trainer.load_state(found[0])
        choice.load_state(*found)
    _train(trainer, choice, assignments, judge, report, bookmark)
    n_parameters = sum(weight[0].numel() for weight in trainer.weights.values())
    return [
        Trained(
            best=method.scorer(trainer.network(n, choice.best), kind),
            last=method.scorer(trainer.network(n), kind),
            chosen_epoch=int(choice.chosen[n]),
            watched_tau=[float(tau[n]) for tau in choice.taus] if assignments[n].watched else [],
            n_parameters=n_parameters,
        )
        for n in range(len(assignments))
    ]


def _fits(tensors: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> bool:
    """Whether they are of such a network: somebody may have changed it meanwhile. Fresh optimisers hold nothing."""
    own = {name: tensor.shape for name, tensor in tensors.items() if not name.startswith("optimizer.")}
    return own == {name: tensor.shape for name, tensor in fresh.items()}


class _Choice:
    """The best epoch of each member so far, by its τ on the watched videos."""

    def __init__(self, trainer: Trainer) -> None:
        self._recipe = trainer.recipe
        self.best = trainer.snapshot()
        self.highest = np.full(len(trainer.members), -np.inf)
        self.chosen = np.zeros(len(trainer.members), int)
        self.taus: list[FloatArray] = []

    def add(self, weights: Weights, tau: FloatArray) -> None:
        """The next epoch's weights (K, …) and τ (K,)."""
        _keep(self.best, weights, self._better(tau))

    def _better(self, tau: FloatArray) -> np.ndarray:
        self.taus.append(tau)
        epoch = len(self.taus)
        better = (tau > self.highest) & self._recipe.may_choose(epoch)
        self.highest, self.chosen = np.where(better, tau, self.highest), np.where(better, epoch, self.chosen)
        return better

    def state(self) -> dict[str, Tensor]:
        return {f"best.{name}": tensor for name, tensor in self.best.items()}

    @torch.no_grad()
    def load_state(self, tensors: Mapping[str, Tensor], taus: Sequence[Sequence[float]]) -> None:
        for name, own in self.best.items():
            own.copy_(tensors[f"best.{name}"])
        for tau in taus:
            self._better(np.array(tau))


def _train(
    trainer: Trainer,
    choice: _Choice,
    assignments: Sequence[Assignment],
    judge: Judge,
    report: Callable[[float], None],
    bookmark: Bookmark | None,
) -> None:
    """All epochs that the choice has not seen. While one is judged, the next one trains."""
    watched = [assignment.watched for assignment in assignments]
    owners = np.repeat(np.arange(len(watched)), [len(videos) for videos in watched])
    judged: tuple[Weights, Iterable[tuple[float, float]]] | None = None

    def finish() -> None:
        if judged is not None:
            weights, measured = judged
            if len(owners):
                tau = np.bincount(owners, [tau for tau, _ in measured]) / np.bincount(owners)
            else:
                tau = np.full(len(watched), float(len(choice.taus)))  # nothing to choose by: the last is the best
            choice.add(weights, tau)

    epochs = range(len(choice.taus), trainer.recipe.epochs)
    for epoch in epochs:
        trainer.train_epoch(epoch)
        finish()
        scores = trainer.importance(watched)
        pairs = [
            (Prediction.certain(score, trainer.method.decoder), video)
            for own, videos in zip(scores, watched, strict=True)
            for score, video in zip(own, videos, strict=True)
        ]
        judged = trainer.snapshot(), judge(pairs)
        report(1 / len(epochs))
        if bookmark is not None and bookmark.is_due:
            finish()
            judged = None
            bookmark.write(trainer.state() | choice.state(), [tau.tolist() for tau in choice.taus])
    finish()


@torch.no_grad()
def _keep(best: Weights, now: Weights, better: np.ndarray) -> None:
    """Take over what is now for the members who have become better."""
    members = torch.from_numpy(np.flatnonzero(better))
    for name, tensor in best.items():
        where = members.to(tensor.device)
        tensor[where] = now[name][where]
