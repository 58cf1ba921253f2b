"""A crew of processes on this machine."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from vastsum.errors import VastsumError
from vastsum.jobs.crew import Attempt, Finished, Start, Stillbirths, answer, died, started

_CONTEXT = multiprocessing.get_context("spawn")
_READY = "ready"
# Libraries that multiply matrices start as many threads as there are cores, in every worker, unless told otherwise.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass
class _Member:
    process: Any
    pipe: Connection
    attempt: Attempt[Any] | None = None
    is_ready: bool = False


class LocalCrew:
    """`concurrent.futures` would give up on all workers when one of them dies."""

    def __init__(self, start: Start, n_workers: int, *, threads: int) -> None:
        self._start, self._threads = start, threads
        self._stillbirths = Stillbirths(2 * n_workers)
        self._members: list[_Member] = []
        with _environment(dict.fromkeys(_THREADS, str(threads))):
            self._members += [self._hire() for _ in range(n_workers)]

    @property
    def n_idle(self) -> int:
        return sum(member.is_ready and member.attempt is None for member in self._members)

    @property
    def n_busy(self) -> int:
        return sum(member.attempt is not None for member in self._members)

    def hand(self, attempt: Attempt[Any]) -> None:
        member = next(member for member in self._members if member.is_ready and member.attempt is None)
        member.attempt = attempt
        with contextlib.suppress(OSError):  # it died meanwhile, which `news` finds out
            member.pipe.send(attempt)

    def news(self) -> list[Finished[Any, Any]]:
        happened = wait([member.pipe for member in self._members])
        finished = [self._hear(member) for member in list(self._members) if member.pipe in happened]
        return [each for each in finished if each is not None]

    def close(self) -> None:
        for member in self._members:
            member.process.terminate()
        for member in self._members:
            member.process.join(5)
            if member.process.is_alive():
                member.process.kill()
                member.process.join()
            member.pipe.close()
        self._members.clear()

    def _hear(self, member: _Member) -> Finished[Any, Any] | None:
        try:
            message = member.pipe.recv()
        except (EOFError, OSError):
            return self._replace(member)
        attempt, member.attempt = member.attempt, None
        if attempt is not None:
            return Finished(attempt, message)
        if isinstance(message, VastsumError):  # it cannot start, and neither could another
            raise message
        member.is_ready = True
        self._stillbirths.forget()
        return None

    def _replace(self, member: _Member) -> Finished[Any, Any] | None:
        member.process.join()
        member.pipe.close()
        how = _how(member.process.exitcode)
        if not member.is_ready:
            self._stillbirths.add(how)
        with _environment(dict.fromkeys(_THREADS, str(self._threads))):
            self._members[self._members.index(member)] = self._hire()
        return None if member.attempt is None else Finished(member.attempt, died(how))

    def _hire(self) -> _Member:
        ours, theirs = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(theirs, self._start), daemon=True)
        process.start()
        theirs.close()
        return _Member(process, ours)


def _serve(pipe: Connection, start: Start) -> None:
    """What a worker does all its life."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; ours ends the crew
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    do = started(start)
    with contextlib.suppress(EOFError, OSError):  # nobody is there to work for any more
        if isinstance(do, VastsumError):
            pipe.send(do)
            return
        pipe.send(_READY)
        while True:
            pipe.send(answer(do, pipe.recv()))


def _leave_with_parent() -> None:
    """Whoever goes on with a killed command's work must not find its workers still at it."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _how(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"exit code {exit_code}"


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """What processes started meanwhile find in their environment, where they would find nothing."""
    new = {key: value for key, value in values.items() if key not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for key in new:
            del os.environ[key]
