"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from vastsum.errors import VastsumError
from vastsum.jobs.pool import Pool, Start, Tell, WorkerDiedError, answer, started

_CONTEXT = multiprocessing.get_context("spawn")
# Libraries that multiply matrices start as many threads as there are cores, in every worker, unless told otherwise.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_starting = threading.Lock()


def local_pool(start: Start, n_workers: int, *, threads: int | None = None) -> Pool:
    """`threads` is how many each worker may use to multiply matrices."""
    return Pool(LocalEngine(start, n_workers, threads=threads))


class LocalEngine:
    """`held` is a file that stays open, and so locked, as long as a worker lives."""

    def __init__(self, start: Start, n_workers: int, *, threads: int | None = None, held: int | None = None) -> None:
        self.n_workers = n_workers
        self._start, self._threads, self._held = start, threads, held if os.name == "posix" else None

    def hire(self) -> _Process:
        held = None if self._held is None else Connection(os.dup(self._held))  # which knows how to reach a process
        with _environment(self._threads), _interrupts_blocked():
            return _Process(self._start, held)

    def close(self) -> None:
        """Nothing is left when its workers have ended."""


class _Process:
    """`concurrent.futures` would give up on all workers when one of them dies."""

    def __init__(self, start: Start, held: Connection | None) -> None:
        self._start = start
        self._pipe, theirs = _CONTEXT.Pipe()
        # What to do comes later: whoever starts a process waits until it has read all it is started with.
        self._process = _CONTEXT.Process(target=_serve, args=(theirs, held), daemon=True)
        try:
            self._process.start()
        finally:
            theirs.close()
            if held is not None:
                held.close()

    def ready(self) -> None:
        self.do(self._start, lambda *_: None)

    def do(self, task: Any, tell: Tell) -> Any:
        try:
            self._pipe.send(task)
            while True:
                is_last, message = self._pipe.recv()
                if is_last:
                    break
                tell(*message)
        except (EOFError, OSError):
            self._process.join()
            raise WorkerDiedError(_how(self._process.exitcode)) from None
        if isinstance(message, VastsumError):
            raise message
        return message

    def end(self) -> None:
        self._process.kill()
        self._process.join()


def _serve(pipe: Connection, _held: Connection | None) -> None:
    """What a worker does all its life. It is given how to start, and then one task after another."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    turn = threading.Lock()

    def tell(*what: Any) -> None:
        with turn:
            pipe.send((False, what))

    with suppress(EOFError, OSError):  # nobody is there to work for any more
        do = started(pipe.recv())
        pipe.send((True, do if isinstance(do, VastsumError) else None))
        while not isinstance(do, VastsumError):
            pipe.send((True, answer(do, pipe.recv(), tell)))


def _leave_with_parent() -> None:
    """Whoever resumes a killed command's work must not find its workers still at it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _how(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"killed by signal {-exit_code}"


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """A terminal sends Ctrl-C to all processes; a worker that is started meanwhile never hears of it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _environment(threads: int | None) -> Iterator[None]:
    """What processes started meanwhile find in their environment, where they would find nothing."""
    with _starting:
        new = {name: str(threads) for name in _THREADS if threads and name not in os.environ}
        os.environ.update(new)
        try:
            yield
        finally:
            for name in new:
                del os.environ[name]
