"""How far long work is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from vastsum.cli.console import errors

LINE_EVERY_S = 60.0


class Bars(Progress):
    """Bars; where there is no terminal to move them on, as in the log of a job, a line a minute."""

    def __init__(self, *columns: Any, **options: Any) -> None:
        super().__init__(*columns, console=errors, **options)
        self._said_at = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        super().update(task_id, **changes)
        if not self.console.is_terminal and time.monotonic() - self._said_at >= LINE_EVERY_S:
            self._said_at = time.monotonic()
            self.console.print(" · ".join(map(_line, self.tasks)), soft_wrap=True)


def counting(*, transient: bool = False) -> Bars:
    """What is being done, how much of how much, since when, and how long it will take."""
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        speed_estimate_period=600,  # an epoch of a large network takes more than a minute on CPU
        transient=transient,
    )


def measuring() -> Bars:
    """As `counting`, for what is not counted in whole steps; nothing of it stays."""
    return Bars(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), transient=True
    )


def _line(task: Task) -> str:
    so_far = f" {task.completed:.0f}/{task.total:.0f}" if task.total else ""
    elapsed = f", {_clock(task.elapsed)}" if task.elapsed else ""
    left = f", {_clock(task.time_remaining)} left" if task.time_remaining else ""
    return f"{task.description}{so_far}{elapsed}{left}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
