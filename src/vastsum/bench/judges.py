"""Judging predictions takes longer than making them; many are judged at once, by as many processes as there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.measures.measure import measure
from vastsum.bench.measures.metrics import judge
from vastsum.jobs.local import local_pool
from vastsum.jobs.pool import Do, Tell
from vastsum.types import Kind, Prediction

if TYPE_CHECKING:
    from vastsum.bench.plan import Benchmark

Measured = tuple[dict[str, float | None], int]

_CHUNK = 8


class Judges:
    """Judges predictions for the videos of one benchmark; with one worker, in this process."""

    def __init__(self, benchmark: Benchmark, n_workers: int = 1) -> None:
        self.kind: Kind = benchmark.dataset.kind
        # What people said is enough to judge by; features would only be carried about.
        nothing = np.zeros((0, 0), np.float32)
        self._videos = {name: replace(video, features=nothing) for name, video in benchmark.dataset.videos.items()}
        self._pool = local_pool(partial(_start, self.kind, self._videos), n_workers) if n_workers > 1 else None

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._pool is not None:
            self._pool.close()

    def judge(self, predicted: Sequence[tuple[Prediction, BenchmarkVideo]]) -> Iterable[tuple[float, float]]:
        """τ and ρ of each. Workers begin at once; they are waited for when these are read."""
        return self._each(judge, predicted)

    def measure(self, predicted: Sequence[tuple[Prediction, BenchmarkVideo]]) -> list[Measured]:
        """Every metric of each."""
        return list(self._each(measure, predicted))

    def _each(
        self, function: Callable[..., Any], predicted: Sequence[tuple[Prediction, BenchmarkVideo]]
    ) -> Iterable[Any]:
        if self._pool is None:
            return [function(prediction, video, self.kind) for prediction, video in predicted]
        named = [(prediction, video.name) for prediction, video in predicted]
        chunks = [named[first : first + _CHUNK] for first in range(0, len(named), _CHUNK)]
        promised = [self._pool.submit((function, chunk)) for chunk in chunks]
        return (result for chunk in promised for result in chunk.result())


def _start(kind: Kind, videos: dict[str, BenchmarkVideo]) -> Do:
    return partial(_do, kind, videos)


def _do(
    kind: Kind,
    videos: dict[str, BenchmarkVideo],
    task: tuple[Callable[..., Any], list[tuple[Prediction, str]]],
    _: Tell,
) -> list[Any]:
    function, named = task
    return [function(prediction, videos[name], kind) for prediction, name in named]
