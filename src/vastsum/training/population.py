"""Train a method for many splits and seeds, as few programs as it allows, and keep what each protocol asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from vastsum.data import BenchmarkVideo
from vastsum.scorers.base import Scorer
from vastsum.scorers.learned import LearnedMethod
from vastsum.training.loop import Member, Trainer, Weights
from vastsum.types import FloatArray, Kind

Judge = Callable[[Sequence[tuple[FloatArray, BenchmarkVideo]]], Iterable[tuple[float, float]]]
"""τ and ρ of each predicted importance, for all at once; it may still be at work when it returns, and be waited for
when they are read."""


@dataclass(frozen=True)
class Assignment:
    """What one member trains on, and which videos choose its epoch."""

    member: Member
    watched: tuple[BenchmarkVideo, ...]


@dataclass(frozen=True)
class Trained:
    """`best` is the epoch with the highest τ on the watched videos, of those to choose from; `last` the final one."""

    best: Scorer
    last: Scorer
    chosen_epoch: int
    watched_tau: list[float]  # after every epoch
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
    report: Callable[[int], None] = lambda _: None,
    device: str = "cpu",
) -> list[Trained]:
    """`report` is told after every epoch how many are done."""
    trainer = Trainer(method, [assignment.member for assignment in assignments], device)
    best = trainer.snapshot()
    highest = np.full(len(assignments), -np.inf)
    chosen = np.zeros(len(assignments), int)
    taus: list[FloatArray] = []
    for epoch, (weights, tau) in enumerate(_judged_epochs(trainer, assignments, judge, report)):
        better = (tau > highest) & method.recipe.may_choose(epoch + 1)
        highest, chosen = np.where(better, tau, highest), np.where(better, epoch + 1, chosen)
        _keep(best, weights, better)
        taus.append(tau)
    n_parameters = sum(weight[0].numel() for weight in trainer.weights.values())
    return [
        Trained(
            best=method.scorer(trainer.network(n, best), kind),
            last=method.scorer(trainer.network(n), kind),
            chosen_epoch=int(chosen[n]),
            watched_tau=[float(tau[n]) for tau in taus],
            n_parameters=n_parameters,
        )
        for n in range(len(assignments))
    ]


def _judged_epochs(
    trainer: Trainer, assignments: Sequence[Assignment], judge: Judge, report: Callable[[int], None]
) -> Iterator[tuple[Weights, FloatArray]]:
    """Every epoch's weights (K, …) and the mean τ (K,) of each member on its watched videos. While an epoch is judged,
    the next one trains."""
    watched = [assignment.watched for assignment in assignments]
    owners = np.repeat(np.arange(len(watched)), [len(videos) for videos in watched])
    judged: tuple[Weights, Iterable[tuple[float, float]]] | None = None

    def finished(weights: Weights, measured: Iterable[tuple[float, float]]) -> tuple[Weights, FloatArray]:
        return weights, np.bincount(owners, [tau for tau, _ in measured]) / np.bincount(owners)

    for epoch in range(trainer.recipe.epochs):
        trainer.train_epoch(epoch)
        if judged is not None:
            yield finished(*judged)
        scores = trainer.importance(watched)
        pairs = [pair for own, videos in zip(scores, watched, strict=True) for pair in zip(own, videos, strict=True)]
        judged = trainer.snapshot(), judge(pairs)
        report(epoch + 1)
    if judged is not None:
        yield finished(*judged)


@torch.no_grad()
def _keep(best: Weights, now: Weights, better: np.ndarray) -> None:
    """Take over what is now for the members who have become better."""
    members = torch.from_numpy(np.flatnonzero(better))
    for name, tensor in best.items():
        where = members.to(tensor.device)
        tensor[where] = now[name][where]
