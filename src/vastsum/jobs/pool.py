"""The one pool of workers: each task is done by one of them, and a worker that dies is replaced.

An engine says what a worker is: a process of this machine (`local`) or an actor of a Ray cluster (`cluster`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, Self, TypeVar

from vastsum.errors import REPORT_IT, VastsumError, described
from vastsum.jobs.environment import heed_environment

TRIES = 2
SOMEWHERE = "worker"  # where an error is that does not know which task it belongs to

T = TypeVar("T")
R = TypeVar("R")

Tell = Callable[..., None]
"""Tells whoever handed out a task how it is going."""
Do = Callable[[Any, Tell], Any]
Start = Callable[[], Do]
"""Called once in each worker: loads what is needed, and gives what does the tasks. It is pickled on the way there."""


class WorkerDiedError(VastsumError):
    """A worker ended in the middle of its work, and `how`."""

    def __init__(self, how: str) -> None:
        super().__init__(SOMEWHERE, f"its process died ({how})", "the machine may be short of memory; try it alone")
        self.how = how


class Worker(Protocol):
    def ready(self) -> None:
        """Wait until it has started. Raises a WorkerDiedError, or the error for which it cannot start."""

    def do(self, task: Any, tell: Tell) -> Any:
        """The result of a task. Raises a WorkerDiedError, or what went wrong with the task."""

    def end(self) -> None:
        """At once, whatever it is at. Called by any thread, and again when it has ended."""


class Engine(Protocol):
    n_workers: int

    def hire(self) -> Worker: ...
    def close(self) -> None: ...


class Pool:
    """Each worker is looked after by a thread of this process, so that whoever hands out work never waits for it.

    `trouble` is why no task can be done any more: workers cannot start, or the pool is closed.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tasks: SimpleQueue[tuple[Future[Any], Any, Tell] | None] = SimpleQueue()
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()  # of the workers and the trouble
        self._n_stillborn = 0  # in a row
        self.n_workers = engine.n_workers
        self.trouble: Exception | None = None
        self._threads = [threading.Thread(target=self._look_after_one, daemon=True) for _ in range(self.n_workers)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def submit(self, task: Any, tell: Tell = lambda *_: None) -> Future[Any]:
        """`tell` is called by another thread."""
        future: Future[Any] = Future()
        with self._lock:
            if self.trouble is None:
                self._tasks.put((future, task, tell))
            else:
                future.set_exception(self.trouble)
        return future

    def close(self) -> None:
        """End all workers, at once. What is not done by now fails."""
        self._give_up(VastsumError("workers", "they have been ended"))
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            worker.end()
        for thread in self._threads:
            thread.join()
        self._engine.close()

    def _look_after_one(self) -> None:
        """What a thread does all its life: a worker, and another when that has died."""
        while (worker := self._hire()) is not None:
            try:
                self._wait_until_ready(worker)
                while (entry := self._tasks.get()) is not None:
                    _have_done(worker, *entry)
            except WorkerDiedError:
                pass
            except Exception as error:  # it cannot start, and neither could another
                self._give_up(error)
            finally:
                worker.end()
                with self._lock:
                    self._workers.discard(worker)

    def _hire(self) -> Worker | None:
        try:
            with self._lock:
                if self.trouble is not None:
                    return None
                worker = self._engine.hire()
                self._workers.add(worker)
                return worker
        except Exception as error:
            self._give_up(error)
            return None

    def _wait_until_ready(self, worker: Worker) -> None:
        """Workers that die before they are ready, again and again, will not get better."""
        try:
            worker.ready()
        except WorkerDiedError as error:
            self._n_stillborn += 1
            if self._n_stillborn > 2 * self.n_workers:
                remedy = "use fewer --workers; the machine may be short of memory"
                raise VastsumError("workers", f"they die as they start ({error.how})", remedy) from error
            raise
        self._n_stillborn = 0

    def _give_up(self, trouble: Exception) -> None:
        with self._lock:
            self.trouble = self.trouble or trouble
        try:
            while True:
                if (entry := self._tasks.get_nowait()) and entry[0].set_running_or_notify_cancel():
                    entry[0].set_exception(self.trouble)
        except Empty:
            for _ in self._threads:
                self._tasks.put(None)


def _have_done(worker: Worker, future: Future[Any], task: Any, tell: Tell) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = worker.do(task, tell)
    except Exception as error:
        future.set_exception(error)
        if isinstance(error, WorkerDiedError):
            raise
    else:
        future.set_result(result)


# ---- many tasks ----


@dataclass(frozen=True)
class Attempt(Generic[T]):
    task: T
    number: int  # from 1


@dataclass(frozen=True)
class Finished(Generic[T, R]):
    """What came of an attempt: a result, or why there is none."""

    attempt: Attempt[T]
    answer: R | VastsumError


def share_out(
    tasks: Iterable[T], pool: Pool, *, tries: int = TRIES, told: Tell = lambda *_: None
) -> Iterator[Finished[T, Any]]:
    """Do every task; gives for each its result, or what went wrong the last time. `told` is called with what workers
    tell, by this thread.

    A task is taken from `tasks` when a worker is there to do it: however many there are, only those under way and
    those to be tried again are held.
    """
    attempts, again = (Attempt(task, 1) for task in tasks), deque[Attempt[T]]()
    news: SimpleQueue[Any] = SimpleQueue()
    n_busy = 0
    while True:
        while n_busy < pool.n_workers and (attempt := again.popleft() if again else next(attempts, None)):
            future = pool.submit(attempt, lambda *what: news.put((None, what)))
            future.add_done_callback(partial(lambda attempt, future: news.put((attempt, future)), attempt))
            n_busy += 1
        if not n_busy:
            return
        attempt, what = news.get()
        if attempt is None:
            told(*what)
            continue
        n_busy -= 1
        error = what.exception()
        if error is None:
            yield Finished(attempt, what.result())
        elif pool.trouble is not None:
            raise pool.trouble
        elif not isinstance(error, VastsumError):
            raise error
        elif attempt.number < tries:
            again.append(Attempt(attempt.task, attempt.number + 1))
        else:
            yield Finished(attempt, error)


# ---- in a worker ----


def answer(do: Do, task: Any, tell: Tell) -> Any:
    """The result of a task, or its error as one that a person can read and any process can load."""
    return _tried(partial(do, task, tell))


def started(start: Start) -> Do | VastsumError:
    def begin() -> Do:
        heed_environment()
        return start()

    return _tried(begin)


def _tried(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:
        return described(error, SOMEWHERE, REPORT_IT)
