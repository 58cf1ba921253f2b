"""How long a bench still takes. One method trains in seconds and another in hours, so each has a pace of its own."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from vastsum.bench.plan import Plan


class Pace:
    """Told what a bench reports. Closed forms are not counted: they take next to no time."""

    def __init__(self, plan: Plan, now: Callable[[], float] = time.monotonic) -> None:
        trained = (task for task in plan.all_tasks() if plan.entry(task.method).learn)
        waiting = Counter(task.what for task in trained if not plan.is_done(task))
        self._left = {name: float(n) for name, n in waiting.items()}
        self._done, self._seconds = dict.fromkeys(waiting, 0.0), dict.fromkeys(waiting, 0.0)
        self._now, self._told_at = now, now()

    def count(self, name: str, done: float) -> None:
        """So many trainings' worth is done of this method on this file. The time since anything was told is its."""
        since, self._told_at = self._told_at, self._now()
        if name in self._left:
            self._left[name] -= done
            self._done[name] += done
            self._seconds[name] += self._told_at - since

    @property
    def seconds_left(self) -> float | None:
        """A method that has not begun is taken to be as slow as the others are in the mean; None before any has."""
        own = {name: self._seconds[name] / done for name, done in self._done.items() if done > 0}
        if not own:
            return None
        usual = sum(own.values()) / len(own)
        return sum(left * own.get(name, usual) for name, left in self._left.items())
