"""Work for a pool to do: adding one, and everything that can go wrong meanwhile."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from vastsum.errors import ConfigError
from vastsum.jobs.pool import Attempt, Do, Tell

Chore = tuple[str, int]


def do(attempt: Attempt[Chore], tell: Tell) -> tuple[int, int]:
    kind, number = attempt.task
    if kind == "kills" or (kind == "kills once" and attempt.number == 1):
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "fails" or (kind == "fails once" and attempt.number == 1):
        raise ZeroDivisionError("one\nby nothing")
    if kind == "tells":
        for part in range(number):
            tell("part", part)
    return number + 1, attempt.number


def start() -> Do:
    return do


def start_in_vain() -> Do:
    raise ConfigError("model", "is not there", "find it")


def start_dying() -> Do:
    os.kill(os.getpid(), signal.SIGKILL)
    return do


def start_only_once(marker: Path) -> Do:
    """The first to start dies of it."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return do
    return start_dying()
