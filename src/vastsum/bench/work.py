"""Doing what a bench's plan says: train, score, add to its records; a failure is a result too."""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import Any

import torch

from vastsum import __version__
from vastsum.bench.checkpoints import Bookmark
from vastsum.bench.judges import Judges
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.methods.registry import Entry
from vastsum.bench.plan import Plan
from vastsum.bench.protocols import Protocol
from vastsum.bench.records import BOOKMARKS, Record, Task, add, packed
from vastsum.bench.runs import save_training
from vastsum.bench.training import Member, Trained, free_memory, groups, train_together
from vastsum.errors import VastsumError
from vastsum.jobs.local import local_pool
from vastsum.jobs.many import PoolOf
from vastsum.jobs.pool import Attempt, Do, Tell, share_out
from vastsum.scoring.base import Scorer

GPU_STACK = 50  # trainings in one program on a GPU, or fewer where its memory is small

Report = Callable[[str, float], None]
"""Told as work goes on: which method on which file, and how many trainings' worth was done since the last time."""


@dataclass(frozen=True)
class Group:
    """Trainings of one method on one file that run as one program."""

    benchmark: str
    tasks: tuple[Task, ...]

    @property
    def name(self) -> str:
        return self.tasks[0].what

    def halves(self) -> tuple[Group, Group]:
        middle = len(self.tasks) // 2
        return Group(self.benchmark, self.tasks[:middle]), Group(self.benchmark, self.tasks[middle:])


def work(
    plan: Plan,
    report: Report,
    *,
    workers: int,
    device: str,
    together: int | None = None,
    cluster: PoolOf | None = None,
) -> None:
    """Do all tasks that are not done. On a CPU, or on a cluster, groups train side by side; on a GPU of this machine
    one after another, and the workers judge."""
    waiting = list(waiting_groups(plan, device, together))
    n_workers = min(workers, len(waiting)) if device == "cpu" else 1
    if waiting and cluster is not None:
        _share_out(plan, waiting, cluster, report, device)
    elif n_workers > 1:
        _share_out(plan, waiting, partial(local_pool, n_workers=n_workers, threads=1), report, device)
    else:
        _work_alone(plan, waiting, report, workers, device)
    shutil.rmtree(plan.folder / BOOKMARKS, ignore_errors=True)


def _share_out(plan: Plan, waiting: Sequence[Group], pool_of: PoolOf, report: Report, device: str) -> None:
    """Every result is written here. A group whose worker died twice is written down as failed."""
    with pool_of(partial(_start, plan, device)) as pool:
        for finished in share_out(waiting, pool, told=report):
            group, records = finished.attempt.task, finished.answer
            if isinstance(records, VastsumError):
                report(group.name, len(group.tasks))
                failure = {"failed": str(records), "traceback": ""}
                records = [record_of(task, failure, device, 0.0) for task in group.tasks]
            for record in records:
                keep(plan, record)


def _start(plan: Plan, device: str) -> Do:
    """In a worker, which may have no disk in common with whoever waits for it: then bookmarks lead nowhere."""
    torch.set_num_threads(1)  # the same bits whatever the machine; parallelism comes from the pool

    def train_group(attempt: Attempt[Group], tell: Tell) -> list[Record]:
        with judges_of(plan, attempt.task.benchmark) as judges:
            return list(records_of(plan, attempt.task, judges, tell, device))

    return train_group


def judges_of(plan: Plan, benchmark: str, n_workers: int = 1) -> Judges:
    dataset = plan.benchmark(benchmark).dataset
    return Judges(dataset.kind, dataset.videos.values(), n_workers)


def _work_alone(plan: Plan, waiting: Sequence[Group], report: Report, workers: int, device: str) -> None:
    torch.set_num_threads(1)  # the same bits whatever the machine
    if device != "cpu":
        torch.set_float32_matmul_precision("high")  # TF32: large matrices in about half the time
    for benchmark, own in groupby(waiting, key=lambda group: group.benchmark):
        with judges_of(plan, benchmark, workers if device != "cpu" else 1) as judges:
            for group in own:
                for record in records_of(plan, group, judges, report, device):
                    keep(plan, record)


def waiting_groups(plan: Plan, device: str, together: int | None) -> Iterator[Group]:
    """All tasks that are not done, `together` at most in a group, or as many as suit the device."""
    for benchmark in plan.benchmarks:
        for method in plan.methods:
            for regime in plan.regimes:
                tasks = [
                    task for task in plan.tasks(benchmark, method) if task.regime == regime and not plan.is_done(task)
                ]
                yield from _split_up(plan, tasks, device, together)


def _split_up(plan: Plan, tasks: Sequence[Task], device: str, together: int | None) -> Iterator[Group]:
    if not tasks:
        return
    if plan.entry(tasks[0].method).learn is None:
        yield from (Group(task.data, (task,)) for task in tasks)
        return
    learned = plan.learned(tasks[0])
    at_most = together or (learned.stack if device == "cpu" else GPU_STACK)
    for indices in groups(learned, [_member(plan, task) for task in tasks], at_most):
        yield Group(tasks[0].data, tuple(tasks[index] for index in indices))


def keep(plan: Plan, record: Record) -> None:
    """Write down what a training left, which its bookmark is no longer needed for."""
    add(plan.folder, record)
    with suppress(OSError):  # all that are left are removed when all is done
        Task.of(record).bookmark(plan.folder).unlink(missing_ok=True)


def records_of(plan: Plan, group: Group, judges: Judges, report: Report, device: str) -> Iterator[Record]:
    """Train and score a group: what is to be written for each task. Errors are recorded instead of results; if memory
    does not hold the group, its halves are done one after the other."""
    started = time.perf_counter()
    told = 0.0

    def count(name: str, done: float) -> None:
        nonlocal told
        told += done
        report(name, done)

    results: list[dict[str, Any]] | None = None
    try:
        results = _results(plan, group, judges, count, device)
    except Exception as error:  # whatever a method does, the bench goes on
        if len(group.tasks) == 1 or not isinstance(error, torch.OutOfMemoryError):
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            results = [{"failed": reason, "traceback": traceback.format_exc()}] * len(group.tasks)
    if results is None:
        report(group.name, -told)
        free_memory()
        for half in group.halves():
            yield from records_of(plan, half, judges, report, device)
        return
    report(group.name, len(group.tasks) - told)
    seconds = (time.perf_counter() - started) / len(group.tasks)
    for task, result in zip(group.tasks, results, strict=True):
        yield record_of(task, result, device, seconds)


def record_of(task: Task, result: dict[str, Any], device: str, seconds: float) -> Record:
    return {"vastsum": __version__, **asdict(task), "device": device, "seconds": seconds} | result


def _results(plan: Plan, group: Group, judges: Judges, report: Report, device: str) -> list[dict[str, Any]]:
    first = group.tasks[0]
    entry = plan.entry(first.method)
    if entry.fit is not None:
        fitted = [_fitted(plan, entry, task, judges) for task in group.tasks]
        report(group.name, len(group.tasks))
        return fitted
    method = plan.learned(first)

    def epoch_done(share: float) -> None:
        report(group.name, share * len(group.tasks))

    members = [_member(plan, task) for task in group.tasks]
    trainings = train_together(method, members, judges.judge, epoch_done, device, _bookmark(plan, group, method))
    return [_result(plan, method, *each, judges) for each in zip(group.tasks, trainings, strict=True)]


def _result(plan: Plan, method: LearnedMethod, task: Task, trained: Trained, judges: Judges) -> dict[str, Any]:
    if plan.config is not None:
        save_training(plan, task, trained)
    kind = plan.training_kind(task)
    best, last = (method.scorer(network, kind) for network in (trained.best, trained.last))
    scorers: dict[Protocol, Scorer] = {"5fcv": best, "last": last} if task.regime == "whole" else {task.regime: best}
    return {
        "settings": method.trained_by,
        "trained_on": plan.trained_on(task),
        "n_parameters": sum(weight.numel() for weight in trained.last.parameters()),
        "chosen_epoch": trained.chosen_epoch,
        "watched_tau": [round(tau, 6) for tau in trained.watched_tau],
        **_scored(plan, task, scorers, judges),
    }


def _bookmark(plan: Plan, group: Group, method: LearnedMethod) -> Bookmark:
    of = {
        "vastsum": __version__,
        "tasks": [asdict(task) for task in group.tasks],
        "recipe": method.trained_by,
        "phases": dict(method.phases),
        "format": 2,
    }
    return Bookmark(group.tasks[0].bookmark(plan.folder), of)


def _fitted(plan: Plan, entry: Entry, task: Task, judges: Judges) -> dict[str, Any]:
    """A closed form has no epoch to choose: the same prediction stands under every protocol."""
    assert entry.fit is not None
    scorer = entry.fit(plan.material(task).training)
    protocols: tuple[Protocol, ...] = ("5fcv", "last") if task.regime == "whole" else (task.regime,)
    one = plan.drawn if plan.drawn in protocols else protocols[0]
    scored = _scored(plan, task, {one: scorer}, judges)
    return scored | {"trained_on": plan.trained_on(task), "videos": dict.fromkeys(protocols, scored["videos"][one])}


def _scored(plan: Plan, task: Task, scorers: Mapping[Protocol, Scorer], judges: Judges) -> Record:
    """Metrics on the test videos under each protocol, and the curves of the first seed to look at."""
    test = plan.material(task).test
    videos, curves = {}, {}
    for protocol, scorer in scorers.items():
        predicted = [(scorer.predict(video.features, video.segments), video) for video in test]
        measured = judges.measure(predicted)
        videos[protocol] = {video.name: found for (_, video), (found, _) in zip(predicted, measured, strict=True)}
        if task.seed == 0 and protocol == plan.drawn:
            curves[protocol] = {video.name: packed(prediction) for prediction, video in predicted}
    return {"videos": videos, "curves": curves}


def _member(plan: Plan, task: Task) -> Member:
    material = plan.material(task)
    return Member(material.training, task.seed, material.watched)
