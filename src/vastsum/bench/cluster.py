"""A bench on a cluster: methods × splits × seeds are shared out, and every result is written here.

Workers need no disk in common with this machine: the benchmark files go to each worker once, and results come back.
"""

from __future__ import annotations

from functools import partial

import torch

from vastsum.bench.judges import Judges
from vastsum.bench.plan import Plan
from vastsum.bench.records import Record
from vastsum.bench.work import Group, Report, keep, record_of, records_of, waiting_groups
from vastsum.errors import VastsumError
from vastsum.jobs.many import PoolOf
from vastsum.jobs.pool import Attempt, Tell, share_out


class Trainer:
    """Keeps the plan and its data, and trains one group after another."""

    def __init__(self, plan: Plan, device: str) -> None:
        torch.set_num_threads(1)  # the same bits whatever the machine; parallelism comes from the pool
        self._plan, self._device = plan, device

    def __call__(self, attempt: Attempt[Group], _: Tell) -> list[Record]:
        group = attempt.task
        with Judges(self._plan.benchmark(group.benchmark)) as judges:
            return list(records_of(self._plan, group, judges, lambda *_: None, self._device))


def work_on(plan: Plan, pool_of: PoolOf, report: Report, *, device: str, together: int | None) -> None:
    """Do all tasks that are not done. A group whose worker died twice is written down as failed."""
    waiting = list(waiting_groups(plan, device, together))
    if not waiting:
        return
    with pool_of(partial(Trainer, plan, device)) as pool:
        for finished in share_out(waiting, pool):
            group, records = finished.attempt.task, finished.answer
            if isinstance(records, VastsumError):
                failure = {"failed": str(records), "traceback": ""}
                records = [record_of(task, failure, device, 0.0) for task in group.tasks]
            for record in records:
                keep(plan, record)
            report(group.name, len(group.tasks))
