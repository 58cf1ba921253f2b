"""What choosing buys where nothing is learned: random scores stand in for every epoch."""

from __future__ import annotations

import json

import numpy as np

from vastsum.evaluation.bench.plan import Benchmark, Plan
from vastsum.evaluation.metrics import judge
from vastsum.files import write_json
from vastsum.types import FloatArray

N_SEEDS = 3


def chance(plan: Plan, benchmark: Benchmark, n_epochs: int) -> FloatArray:
    """τ (trainings, epochs) on the test videos of every split, as if each epoch had drawn its scores. Judged once and
    kept in the bench's folder."""
    path = plan.folder / "chance.json"
    known: dict[str, list[list[float]]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if benchmark.name not in known or len(known[benchmark.name][0]) < n_epochs:
        known[benchmark.name] = np.concatenate([_drawn(benchmark, seed, n_epochs) for seed in range(N_SEEDS)]).tolist()
        write_json(path, known)
    return np.array(known[benchmark.name])[:, :n_epochs]


def _drawn(benchmark: Benchmark, seed: int, n_epochs: int) -> FloatArray:
    """(splits, epochs)"""
    videos, kind = benchmark.dataset.videos, benchmark.dataset.kind
    tests = [split.test for split in benchmark.splits.splits]
    by_epoch = []
    for epoch in range(n_epochs):
        rng = np.random.default_rng([seed, epoch])
        tau = {name: judge(rng.random(len(video.segments.picks)), video, kind)[0] for name, video in videos.items()}
        by_epoch.append([np.mean([tau[name] for name in test]) for test in tests])
    return np.array(by_epoch).T
