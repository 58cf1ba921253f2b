"""Processes that work for this one and never outlive it."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

CONTEXT = multiprocessing.get_context("spawn")


def worker_pool(n_workers: int, start: Callable[..., None], *given: Any) -> ProcessPoolExecutor:
    """Each process begins with `start(*given)`."""
    return ProcessPoolExecutor(
        n_workers, mp_context=CONTEXT, initializer=_start_worker, initargs=(os.getpid(), start, given)
    )


def _start_worker(parent: int, start: Callable[..., None], given: tuple[Any, ...]) -> None:
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    start(*given)


def _leave_with(parent: int) -> None:
    """A killed command leaves its workers orphaned; they must not work on beside whoever resumes what it did."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
