"""Judging predictions takes longer than making them; many are judged at once, by as many processes as there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.measures.measure import measure
from vastsum.bench.measures.metrics import judge
from vastsum.errors import VastsumError
from vastsum.scale.crew import Attempt
from vastsum.scale.local import LocalCrew
from vastsum.types import Kind, Prediction

Measured = tuple[dict[str, float | None], int]
Predicted = Sequence[tuple[Prediction, BenchmarkVideo]]


class Judges:
    """Judges predictions for the videos of one benchmark; with one worker, in this process."""

    def __init__(self, kind: Kind, videos: Iterable[BenchmarkVideo], n_workers: int = 1) -> None:
        self.kind: Kind = kind
        self._crew: LocalCrew | None = None
        if n_workers > 1:
            # What people said is enough to judge by; features would only be carried about.
            nothing = np.zeros((0, 0), np.float32)
            bare = {video.name: replace(video, features=nothing) for video in videos}
            self._crew = LocalCrew(partial(_start, kind, bare), n_workers, threads=1)
            while self._crew.n_idle < n_workers:
                self._crew.news()
        self._n_workers = n_workers

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._crew is not None:
            self._crew.close()

    def judge(self, predicted: Predicted) -> Iterable[tuple[float, float]]:
        """τ and ρ of each. Workers begin at once; they are waited for when these are read."""
        return self._all(judge, predicted)

    def measure(self, predicted: Predicted) -> list[Measured]:
        """Every metric of each."""
        return list(self._all(measure, predicted))

    def _all(self, how: Callable[..., Any], predicted: Predicted) -> Iterable[Any]:
        if self._crew is None:
            return [how(prediction, video, self.kind) for prediction, video in predicted]
        named = [(prediction, video.name) for prediction, video in predicted]
        size = -(-len(named) // self._n_workers)
        for first in range(0, len(named), size or 1):
            self._crew.hand(Attempt((first, how, named[first : first + size]), 1))
        return self._heard(self._crew)

    @staticmethod
    def _heard(crew: LocalCrew) -> Iterator[Any]:
        """What the workers say, in the order that was asked for."""
        answers: dict[int, list[Any]] = {}
        while crew.n_busy:
            for finished in crew.news():
                if isinstance(finished.answer, VastsumError):
                    raise finished.answer
                answers[finished.attempt.task[0]] = finished.answer
        for _, answer in sorted(answers.items()):
            yield from answer


def _start(kind: Kind, videos: dict[str, BenchmarkVideo]) -> Callable[[Attempt[Any]], list[Any]]:
    def judge_some(attempt: Attempt[Any]) -> list[Any]:
        _, how, named = attempt.task
        return [how(prediction, videos[name], kind) for prediction, name in named]

    return judge_some
