"""Processes that work for this one and never outlive it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from multiprocessing.synchronize import Lock
from typing import Any

CONTEXT = multiprocessing.get_context("spawn")

_news: Any = None  # in a worker: the queue that `tell` writes to


class Workers(ProcessPoolExecutor):
    """Each process begins with `start(*given)`. Ctrl-C, which a terminal sends to them too, is for this one to heed."""

    def __init__(self, n: int, start: Callable[..., None], *given: Any, news: Any = None) -> None:
        theirs, self._leash = CONTEXT.Pipe(duplex=False)
        # Not among the arguments they are started with: each would be waited for until it has loaded all it imports.
        self._given, giving = CONTEXT.Pipe(duplex=False)
        threading.Thread(target=_give, args=(giving, ForkingPickler.dumps(given), n), daemon=True).start()
        arguments = (theirs, news, start, self._given, CONTEXT.Lock())
        super().__init__(n, mp_context=CONTEXT, initializer=_start_worker, initargs=arguments)

    def submit(self, do: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        with _interrupts_ignored():  # a process that is started here ignores them from its first moment on
            return super().submit(do, *given, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        super().shutdown(wait, cancel_futures=cancel_futures)
        self._given.close()  # what was meant for workers that were not needed

    def dismiss(self) -> None:
        """End them, whatever they are at."""
        self._leash.close()
        self.shutdown(cancel_futures=True)


def share_out(
    items: Iterable[Any],
    do: Callable[[Any], None],
    report: Callable[..., None],
    n_workers: int,
    start: Callable[..., None],
    *given: Any,
) -> None:
    """Do all items, a worker one at a time; `report` is called here with whatever workers `tell`."""
    news = CONTEXT.SimpleQueue()
    with Workers(n_workers, start, *given, news=news) as workers:
        try:
            pending = {workers.submit(do, item) for item in items}
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                while not news.empty():
                    report(*news.get())
                for future in finished:
                    future.result()
        except BaseException:
            workers.dismiss()
            raise


def tell(*what: Any) -> None:
    """From a worker to the `report` of whoever shared out its work."""
    _news.put(what)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # no other may say what signals do
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _give(to: Connection, pickled: memoryview, n: int) -> None:
    with suppress(OSError), to:  # nobody takes it any more
        for _ in range(n):
            to.send_bytes(pickled)


def _start_worker(leash: Connection, news: Any, start: Callable[..., None], given: Connection, turn: Lock) -> None:
    global _news
    _news = news
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(leash,), daemon=True).start()
    with turn:
        own = given.recv()
    start(*own)


def _leave_with(leash: Connection) -> None:
    """Whoever holds the other end lets go of it or is gone: orphans must not work on beside those who resume."""
    with suppress(EOFError, OSError):
        leash.recv()
    os._exit(1)
