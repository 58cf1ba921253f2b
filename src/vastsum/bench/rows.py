"""From the files of a bench to rows: each method under each protocol, and the references on the same splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from vastsum.bench.methods.registry import Entry
from vastsum.bench.plan import Benchmark, Plan
from vastsum.bench.protocols import MEANING, Protocol
from vastsum.bench.published import Published, published
from vastsum.bench.records import Record, unpacked
from vastsum.bench.report import Row, VideoResult, reference_rows
from vastsum.types import FloatArray, Kind

N_RESAMPLES = 2000
ALIKE = 1e-4  # a network whose importances of a video are no further apart has most likely saturated


@dataclass(frozen=True)
class Interval:
    mean: float
    low: float
    high: float

    @property
    def is_real(self) -> bool:
        """As a difference: zero is outside."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]".replace("-", "−")


@dataclass
class MethodRow:
    """One method on one file: a `Row` a protocol, what was published, and why numbers are missing where they are."""

    name: str
    title: str
    note: str = ""
    missing: str = ""
    rows: dict[Protocol, Row] = field(default_factory=dict)
    published: dict[Protocol, Published] = field(default_factory=dict)
    n_parameters: int | None = None
    test_tau: FloatArray | None = None  # (trainings, epochs) on the whole training part
    is_reference: bool = False

    def n_seeds(self, protocol: Protocol) -> int:
        """How many are in the protocol's numbers: fewer than the plan's while trainings are still to be done."""
        row = self.rows.get(protocol)
        return len({result.seed for result in row.results}) if row else 0

    def notes(self, *protocols: Protocol) -> Iterator[str]:
        """What a reader of its numbers under these protocols should know."""
        yield from (note for note in (self.note, self.missing) if note)
        for protocol in protocols:
            if self.n_parameters and protocol in self.rows:
                n_collapsed, n_trainings = collapsed(self.rows[protocol])
                if n_collapsed:
                    yield (
                        f"under {protocol}, {n_collapsed} of {n_trainings} trainings have collapsed: they give all "
                        f"frames of a test video the same importance, to within {ALIKE:g}"
                    )


def method_rows(plan: Plan, benchmark: Benchmark) -> list[MethodRow]:
    """The references first, then the methods in the plan's order, less those that are references."""
    references = _reference_rows(plan, benchmark)
    titles = {row.title for row in references}
    methods = [method for method in plan.methods if plan.entry(method).title not in titles]
    return [*references, *(_method_row(plan, benchmark, method) for method in methods)]


def _method_row(plan: Plan, benchmark: Benchmark, method: str) -> MethodRow:
    entry = plan.entry(method)
    row = MethodRow(method, _title(plan, entry, benchmark.dataset.kind), entry.note, entry.missing)
    row.published = _published(plan, benchmark, method)
    failures: list[str] = []
    test_tau: list[list[float]] = []
    n_undone = n_outdated = 0
    for task in plan.tasks(benchmark, method):
        result = plan.result(task)
        if result is None:
            n_undone += 1
        elif "failed" in result:
            failures.append(result["failed"])
        else:
            row.n_parameters = result.get("n_parameters")
            if entry.learn is not None:
                n_outdated += _is_outdated(result, plan.learned(task).trained_by)
            if task.regime == "whole" and "watched_tau" in result:
                test_tau.append(result["watched_tau"])
            for protocol in plan.protocols:
                into = row.rows.setdefault(protocol, Row(row.title, protocol, MEANING[protocol]))
                into.results += _results(result, protocol)
    row.rows = {protocol: found for protocol, found in row.rows.items() if found.results}
    if test_tau:
        shortest = min(map(len, test_tau))  # a recipe may have changed between the trainings of one bench
        row.test_tau = np.array([each[:shortest] for each in test_tau])
    if n_outdated:
        outdated = f"{n_outdated} trainings had other settings than today's; --retrain {method} replaces them"
        row.note = "; ".join(filter(None, (row.note, outdated)))
    if failures:
        row.missing = f"failed: {failures[0]}"
    elif n_undone and not row.missing:
        row.missing = f"{n_undone} trainings are still to be done"
    return row


def _title(plan: Plan, entry: Entry, kind: Kind) -> str:
    """A row that was cut short says so: some methods take one step an epoch, and fewer epochs are another method."""
    own = entry.learn(kind).recipe.epochs if entry.learn else 0
    return entry.title if plan.epochs(own) == own else f"{entry.title}, {plan.epochs(own)} of {own} epochs"


def _is_outdated(result: Record, now: Mapping[str, object]) -> bool:
    """Whether it was trained in another way than it would be now. Settings that are new since do not count."""
    return any(now.get(name, value) != value for name, value in result.get("settings", {}).items())


def _results(result: Record, protocol: Protocol) -> list[VideoResult]:
    curves = result.get("curves", {}).get(protocol, {})
    return [
        VideoResult(
            video, result["split"], result["seed"], metrics,
            prediction=unpacked(curves[video]) if video in curves else None,
        )
        for video, metrics in result["videos"].get(protocol, {}).items()
    ]  # fmt: skip


def _reference_rows(plan: Plan, benchmark: Benchmark) -> list[MethodRow]:
    """The same under every protocol of the splits; under transfer, all videos are tested."""
    under_splits = [protocol for protocol in plan.protocols if protocol != "transfer"]
    transfer = [protocol for protocol in plan.protocols if protocol == "transfer"]
    tests = [split.test for split in benchmark.splits.splits]
    found: dict[str, MethodRow] = {}
    for protocols, names in ((under_splits, tests), (transfer, [tuple(benchmark.dataset.videos)])):
        for row in reference_rows(benchmark.dataset, names, []) if protocols else []:
            name = row.method.lower().replace(" ", "-")
            reference = found.setdefault(name, MethodRow(name, row.method, row.meaning, is_reference=True))
            reference.rows |= dict.fromkeys(protocols, row)
            reference.published = _published(plan, benchmark, name)
    return list(found.values())


def _published(plan: Plan, benchmark: Benchmark, method: str) -> dict[Protocol, Published]:
    """Nothing is quoted beside results on other videos than those it was published for."""
    if not benchmark.is_standard:
        return {}
    found = {protocol: published(method, benchmark.dataset.kind, protocol) for protocol in plan.protocols}
    return {protocol: quoted for protocol, quoted in found.items() if quoted is not None}


def collapsed(row: Row) -> tuple[int, int]:
    """How many trainings, of how many, score all frames alike in every one of their test videos."""
    widest: dict[tuple[int, int], float] = {}
    for result in row.results:
        training = result.split, result.seed
        own = result.metrics.get("range")
        widest[training] = max(widest.get(training, 0.0), np.inf if own is None else own)
    return sum(width < ALIKE for width in widest.values()), len(widest)


def by_video(row: Row, metric: str = "tau") -> dict[tuple[int, str], float]:
    """The mean over seeds for each test video of each split."""
    values: dict[tuple[int, str], list[float]] = {}
    for result in row.results:
        value = result.metrics.get(metric)
        if value is not None:
            values.setdefault((result.split, result.video), []).append(value)
    return {key: float(np.mean(value)) for key, value in values.items()}


def interval(values: Sequence[float]) -> Interval:
    """Bootstrap over videos: the mean and its central 95 %. The same resamples every time, so that it is paired."""
    array = np.asarray(values)
    drawn = np.random.default_rng(0).integers(0, len(array), (N_RESAMPLES, len(array)))
    low, high = np.quantile(array[drawn].mean(axis=1), [0.025, 0.975])
    return Interval(float(array.mean()), float(low), float(high))


def difference(one: Row, other: Row, metric: str = "tau") -> Interval | None:
    """How much higher `one` is than `other`, over the videos that both were tested on."""
    ours, theirs = by_video(one, metric), by_video(other, metric)
    shared = sorted(ours.keys() & theirs.keys())
    return interval([ours[key] - theirs[key] for key in shared]) if shared else None
