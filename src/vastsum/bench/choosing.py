"""What it buys to choose the epoch on the test videos, as 5fcv does; and what it buys where nothing is learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np

from vastsum.bench.measures import judge
from vastsum.bench.plan import Benchmark, Plan
from vastsum.bench.rows import MethodRow
from vastsum.bench.table import NOTHING, Table, decimals
from vastsum.files import write_json
from vastsum.types import FloatArray, Prediction

FIRST_EPOCHS = (10, 40)
RANDOM = "Random"
CHANCE_SEEDS = 3


def every_epoch(plan: Plan, benchmark: Benchmark, rows: Sequence[MethodRow]) -> dict[str, FloatArray]:
    """τ (trainings, epochs) on the test videos by method, after those of random scores; nothing where nothing is
    trained."""
    trained = {row.title: row.test_tau for row in rows if row.test_tau is not None}
    if not trained:
        return {}
    return {RANDOM: chance(plan, benchmark, max(tau.shape[1] for tau in trained.values()))} | trained


def choosing_table(benchmark: Benchmark, trained: Mapping[str, FloatArray]) -> Table:
    """What it buys to choose the epoch on the test videos, and how that grows with the epochs to choose from; of τ
    (trainings, epochs) by method."""
    lines = []
    for title, tau in trained.items():
        n_epochs = tau.shape[1]
        best_of = {n: tau[:, :n].max(axis=1).mean() for n in (*FIRST_EPOCHS, n_epochs) if n <= n_epochs}
        last, best = tau[:, -1].mean(), best_of[n_epochs]
        best_first = [decimals(best_of[n]) if n in best_of else NOTHING for n in FIRST_EPOCHS]
        not_chosen, chosen = map(decimals, (tau.mean(), last)), map(decimals, (best, best - last))
        best_epoch = f"{np.median(tau.argmax(axis=1) + 1):.0f}"
        lines.append((title, str(n_epochs), *not_chosen, *best_first, *chosen, best_epoch))
    columns = ("method", "epochs", "mean of all", "last", *(f"best of {n}" for n in FIRST_EPOCHS), "best of all",
               "bought", "best epoch")  # fmt: skip
    notes = (
        "τ on the test videos after every epoch, mean over splits and seeds; nothing is chosen in the mean and in last",
        "Random: new random scores in place of every epoch, which is what choosing alone gives",
        "best of all: what 5fcv reports; bought: that less last; best epoch: its median over splits and seeds",
    )
    return Table(f"{benchmark.name}.choosing", f"{benchmark.name}, choosing on test", columns, tuple(lines), notes)


def chance_note(benchmark: Benchmark, epochs: Mapping[str, FloatArray]) -> str:
    """What stands below numbers that were chosen on the test videos."""
    drawn = epochs[RANDOM]
    best = decimals(drawn.max(axis=1).mean())
    return f"{benchmark.name}: random scores, the best of {drawn.shape[1]} draws chosen on test, are at τ {best}"


def chance(plan: Plan, benchmark: Benchmark, n_epochs: int) -> FloatArray:
    """τ (trainings, epochs) on the test videos of every split, as if each epoch had drawn its scores. Judged once and
    kept in the bench's folder."""
    path = plan.folder / "chance.json"
    known: dict[str, list[list[float]]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if benchmark.name not in known or len(known[benchmark.name][0]) < n_epochs:
        drawn = [_drawn(benchmark, seed, n_epochs) for seed in range(CHANCE_SEEDS)]
        known[benchmark.name] = np.concatenate(drawn).tolist()
        write_json(path, known)
    return np.array(known[benchmark.name])[:, :n_epochs]


def _drawn(benchmark: Benchmark, seed: int, n_epochs: int) -> FloatArray:
    """(splits, epochs)"""
    videos, kind = benchmark.dataset.videos, benchmark.dataset.kind
    tests = [split.test for split in benchmark.splits.splits]
    by_epoch = []
    for epoch in range(n_epochs):
        rng = np.random.default_rng([seed, epoch])
        drawn = {name: Prediction.certain(rng.random(len(video.segments.picks))) for name, video in videos.items()}
        tau = {name: judge(drawn[name], video, kind)[0] for name, video in videos.items()}
        by_epoch.append([np.mean([tau[name] for name in test]) for test in tests])
    return np.array(by_epoch).T
