"""Judging predictions takes longer than making them; many are judged at once, by as many processes as there are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.measures.measure import measure
from vastsum.bench.measures.metrics import judge
from vastsum.bench.training.workers import Workers
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
        self._pool: Workers | None = None
        if n_workers > 1:
            self._pool = Workers(n_workers, _start, self.kind, self._videos)

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._pool is not None:
            self._pool.dismiss()

    def judge(self, predicted: Sequence[tuple[Prediction, BenchmarkVideo]]) -> Iterable[tuple[float, float]]:
        """τ and ρ of each. Workers begin at once; they are waited for when these are read."""
        if self._pool is None:
            return [judge(prediction, video, self.kind) for prediction, video in predicted]
        named = [(prediction, video.name) for prediction, video in predicted]
        return self._pool.map(_judge, named, chunksize=_CHUNK)

    def measure(self, predicted: Sequence[tuple[Prediction, BenchmarkVideo]]) -> list[Measured]:
        """Every metric of each."""
        if self._pool is None:
            return [measure(prediction, video, self.kind) for prediction, video in predicted]
        named = [(prediction, video.name) for prediction, video in predicted]
        return list(self._pool.map(_measure, named, chunksize=_CHUNK))


_own: dict[str, Any] = {}  # what a worker process judges by; set once by _start


def _start(kind: Kind, videos: dict[str, BenchmarkVideo]) -> None:
    _own.update(kind=kind, videos=videos)


def _judge(named: tuple[Prediction, str]) -> tuple[float, float]:
    return judge(named[0], _own["videos"][named[1]], _own["kind"])


def _measure(named: tuple[Prediction, str]) -> Measured:
    return measure(named[0], _own["videos"][named[1]], _own["kind"])
