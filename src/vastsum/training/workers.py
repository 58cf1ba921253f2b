"""Processes that work for this one and never outlive it."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any

CONTEXT = multiprocessing.get_context("spawn")

_news: Any = None  # in a worker: the queue that `tell` writes to


def worker_pool(n_workers: int, start: Callable[..., None], *given: Any, news: Any = None) -> ProcessPoolExecutor:
    """Each process begins with `start(*given)`."""
    return ProcessPoolExecutor(
        n_workers, mp_context=CONTEXT, initializer=_start_worker, initargs=(os.getpid(), news, start, given)
    )


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
    with worker_pool(n_workers, start, *given, news=news) as pool:
        pending = {pool.submit(do, item) for item in items}
        try:
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                while not news.empty():
                    report(*news.get())
                for future in finished:
                    future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def tell(*what: Any) -> None:
    """From a worker to the `report` of whoever shared out its work."""
    _news.put(what)


def _start_worker(parent: int, news: Any, start: Callable[..., None], given: tuple[Any, ...]) -> None:
    global _news
    _news = news
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    start(*given)


def _leave_with(parent: int) -> None:
    """A killed command leaves its workers orphaned; they must not work on beside whoever resumes what it did."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
