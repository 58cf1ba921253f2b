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
from rich.text import Text

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


class TimeLeft(TimeRemainingColumn):
    """As reckoned by whoever updates the task with `seconds_left`, or from its pace so far."""

    def render(self, task: Task) -> Text:
        if "seconds_left" not in task.fields or task.finished:
            return super().render(task)
        left = task.fields["seconds_left"]
        return Text("-:--:--" if left is None else _clock(left), style="progress.remaining")


def counting(*, transient: bool = False) -> Bars:
    """What is being done, how much of how much, since when, and how long it will take."""
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeLeft(),
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
    seconds_left = task.fields.get("seconds_left", task.time_remaining)
    left = f", {_clock(seconds_left)} left" if seconds_left else ""
    return f"{task.description}{so_far}{elapsed}{left}"


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))
