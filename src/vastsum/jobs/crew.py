"""Handing out work: one task a worker at a time, a second try for what failed, whoever the workers are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from vastsum.errors import VastsumError

TRIES = 2
SOMEWHERE = "worker"  # where an error is that does not know which task it belongs to

T = TypeVar("T")
R = TypeVar("R")

Do = Callable[[Any], Any]
Start = Callable[[], Do]
"""Called once in each worker: loads what is needed, and gives what does the tasks. It is pickled on the way there."""


@dataclass(frozen=True)
class Attempt(Generic[T]):
    task: T
    number: int  # from 1


@dataclass(frozen=True)
class Finished(Generic[T, R]):
    """What came of an attempt: a result, or why there is none."""

    attempt: Attempt[T]
    answer: R | VastsumError


class Crew(Protocol):
    """Workers. One that dies is replaced, and its attempt comes back as failed."""

    @property
    def n_idle(self) -> int:
        """How many workers wait for a task."""

    @property
    def n_busy(self) -> int: ...

    def hand(self, attempt: Attempt[Any]) -> None:
        """Give an attempt to an idle worker."""

    def news(self) -> list[Finished[Any, Any]]:
        """Wait for something to happen; gives the attempts that ended, if that is what happened."""

    def close(self) -> None:
        """End all workers, at once."""


def share_out(tasks: Iterable[T], crew: Crew) -> Iterator[Finished[T, Any]]:
    """Do every task; gives for each its result, or what went wrong the second time.

    A task is taken from `tasks` when a worker is there to do it: however many there are, only those under way and
    those to be tried again are held.
    """
    fresh, again = iter(tasks), deque[Attempt[T]]()
    exhausted = False
    while True:
        while crew.n_idle and not (exhausted and not again):
            if again:
                crew.hand(again.popleft())
                continue
            try:
                crew.hand(Attempt(next(fresh), 1))
            except StopIteration:
                exhausted = True
        if exhausted and not again and not crew.n_busy:
            return
        for finished in crew.news():
            attempt = finished.attempt
            if isinstance(finished.answer, VastsumError) and attempt.number < TRIES:
                again.append(Attempt(attempt.task, attempt.number + 1))
            else:
                yield finished


def answer(do: Do, attempt: Attempt[Any]) -> Any:
    """In a worker: the result of an attempt, or the error as one that a person can read and any process can load."""
    try:
        return do(attempt)
    except Exception as error:
        return described(error)


def started(start: Start) -> Do | VastsumError:
    try:
        return start()
    except Exception as error:
        return described(error)


def described(error: Exception) -> VastsumError:
    if isinstance(error, VastsumError):
        return error
    first_line = f"{type(error).__name__}: {error}".splitlines()[0]
    problem = f"something went wrong that should not have ({first_line})"
    return VastsumError(SOMEWHERE, problem, "run 'vastsum --debug summarize' on it alone and please report it")


class WorkerDiedError(VastsumError):
    """A worker ended in the middle of its work."""


def died(how: str) -> WorkerDiedError:
    return WorkerDiedError(SOMEWHERE, f"its process died ({how})", "the machine may be short of memory; try it alone")


class Stillbirths:
    """Workers that die before they are ready to work, again and again, will not get better."""

    def __init__(self, n_allowed: int) -> None:
        self._n_left = self._n_allowed = n_allowed

    def add(self, how: str) -> None:
        self._n_left -= 1
        if self._n_left < 0:
            raise WorkerDiedError(
                "workers", f"they die as they start ({how})", "use fewer --workers; the machine may be short of memory"
            )

    def forget(self) -> None:
        self._n_left = self._n_allowed
