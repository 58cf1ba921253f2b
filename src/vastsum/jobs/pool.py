"""The one pool of workers: each task is done by one of them, a worker that dies is replaced, errors come back as such.

An engine says what a worker is: a process of this machine (`local`) or an actor of a Ray cluster (`cluster`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Generic, Protocol, Self, TypeVar

from vastsum.errors import VastsumError, described

TRIES = 2
SOMEWHERE = "worker"  # where an error is that does not know which task it belongs to

T = TypeVar("T")
R = TypeVar("R")

Tell = Callable[..., None]
"""Tells whoever handed out the work what happens meanwhile."""
Do = Callable[[Any, Tell], Any]
Start = Callable[[], Do]
"""Called once in each worker: loads what is needed, and gives what does the tasks. It is pickled on the way there."""


class WorkerDiedError(VastsumError):
    """A worker ended in the middle of its work: `how`, and the end of what it wrote to standard error if that is kept.
    """

    def __init__(self, how: str, said: str = "") -> None:
        remedy = "the machine may be short of memory; try it alone"
        super().__init__(SOMEWHERE, f"its process died ({how})", remedy)
        self.how, self.said = how, said


class Worker(Protocol):
    def ready(self) -> None:
        """Wait until it has started. Raises a WorkerDiedError, or the error for which it cannot start."""

    def do(self, task: Any, tell: Tell) -> Any:
        """The result of a task. Raises a WorkerDiedError, or the VastsumError that came of it."""

    def end(self) -> None:
        """At once, whatever it is doing; called by any thread, and again when it has ended."""


class Engine(Protocol):
    n_workers: int

    def hire(self) -> Worker: ...
    def close(self) -> None: ...


class Pool:
    """A thread of this process looks after each worker, so that whoever hands out work may wait for whatever it likes.

    What nobody could do any better is raised by every task that is handed in then, and kept in `trouble`: that workers
    cannot start, or die again and again as they do.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tasks: SimpleQueue[tuple[Future[Any], Any, Tell] | None] = SimpleQueue()
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()  # of all that follows
        self._is_closed = False
        self._n_stillborn = 0  # in a row
        self.n_workers = engine.n_workers
        self.trouble: Exception | None = None
        self._threads = [threading.Thread(target=self._keep_one, daemon=True) for _ in range(self.n_workers)]
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
                return future
        future.set_exception(self.trouble)
        return future

    def close(self) -> None:
        """End all workers, at once; what they were doing fails."""
        with self._lock:
            self._is_closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.end()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._engine.close()

    def _keep_one(self) -> None:
        """A thread's life: a worker, and another when that has died."""
        while not self._is_closed and self.trouble is None:
            worker = None
            try:
                worker = self._hired()
                while worker is not None and (entry := self._tasks.get()) is not None:
                    self._have_done(worker, *entry)
            except WorkerDiedError:
                pass
            except Exception as error:  # it cannot start, and neither could another
                self._give_up(error)
            finally:
                if worker is not None:
                    worker.end()
                    with self._lock:
                        self._workers.discard(worker)

    def _hired(self) -> Worker | None:
        with self._lock:
            if self._is_closed:
                return None
            worker = self._engine.hire()
            self._workers.add(worker)
        try:
            worker.ready()
        except WorkerDiedError as error:
            self._count_stillborn(error)
            return None
        self._n_stillborn = 0
        return worker

    def _have_done(self, worker: Worker, future: Future[Any], task: Any, tell: Tell) -> None:
        try:
            result = worker.do(task, tell)
        except WorkerDiedError as error:
            future.set_exception(error)
            raise
        except Exception as error:
            future.set_exception(error)
        else:
            future.set_result(result)

    def _count_stillborn(self, error: WorkerDiedError) -> None:
        with self._lock:
            self._n_stillborn += 1
            is_hopeless = self._n_stillborn > 2 * self.n_workers
        if is_hopeless and not self._is_closed:
            remedy = "use fewer --workers; the machine may be short of memory"
            self._give_up(VastsumError("workers", f"they die as they start ({error.how})", remedy))

    def _give_up(self, trouble: Exception) -> None:
        with self._lock:
            self.trouble = self.trouble or trouble
        with suppress(Exception):
            while True:
                entry = self._tasks.get_nowait()
                if entry is not None:
                    entry[0].set_exception(self.trouble)
        for _ in self._threads:
            self._tasks.put(None)
