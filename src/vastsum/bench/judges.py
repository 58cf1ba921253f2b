"""Judging predictions takes longer than making them; many are judged at once, by as many processes as there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.measures import judge, measure
from vastsum.jobs.local import local_pool
from vastsum.jobs.pool import Do, Pool, Tell
from vastsum.types import Kind, Prediction

Measured = tuple[dict[str, float | None], int]
Predicted = Sequence[tuple[Prediction, BenchmarkVideo]]


class Judges:
    """Judges predictions for the videos of one benchmark; with one worker, in this process."""

    def __init__(self, kind: Kind, videos: Iterable[BenchmarkVideo], n_workers: int = 1) -> None:
        self.kind: Kind = kind
        self._pool: Pool | None = None
        if n_workers > 1:
            # What people said is enough to judge by; features would only be carried about.
            nothing = np.zeros((0, 0), np.float32)
            bare = {video.name: replace(video, features=nothing) for video in videos}
            self._pool = local_pool(partial(_start, kind, bare), n_workers, threads=1)

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._pool is not None:
            self._pool.close()

    def judge(self, predicted: Predicted) -> Iterable[tuple[float, float]]:
        """τ and ρ of each. Workers begin at once; they are waited for when these are read."""
        return self._all(judge, predicted)

    def measure(self, predicted: Predicted) -> list[Measured]:
        """Every metric of each."""
        return list(self._all(measure, predicted))

    def _all(self, how: Callable[..., Any], predicted: Predicted) -> Iterable[Any]:
        if self._pool is None:
            return [how(prediction, video, self.kind) for prediction, video in predicted]
        named = [(prediction, video.name) for prediction, video in predicted]
        size = -(-len(named) // self._pool.n_workers) or 1
        parts = [self._pool.submit((how, named[first : first + size])) for first in range(0, len(named), size)]
        return chain.from_iterable(part.result() for part in parts)


def _start(kind: Kind, videos: dict[str, BenchmarkVideo]) -> Do:
    def judge_some(task: tuple[Callable[..., Any], Sequence[tuple[Prediction, str]]], _: Tell) -> list[Any]:
        how, named = task
        return [how(prediction, videos[name], kind) for prediction, name in named]

    return judge_some
