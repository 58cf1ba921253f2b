"""Items are made ahead of their use, in order, and nothing hangs however it ends."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator

import pytest

from vastsum.video.ahead import Ahead


class Source:
    """Counts; remembers how far it was asked to and whether it was closed."""

    def __init__(self, n: int) -> None:
        self.n, self.made, self.closed = n, 0, False

    def all(self) -> Generator[int]:
        try:
            for number in range(self.n):
                self.made += 1
                yield number
        finally:
            self.closed = True


def until(condition: Callable[[], bool]) -> None:
    patience = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.001)


def test_all_in_order() -> None:
    source = Source(50)
    with Ahead(source.all(), 3) as items:
        assert list(items) == list(range(50))
        assert next(items, None) is None
    assert source.closed


def test_no_further_ahead_than_asked() -> None:
    source = Source(50)
    with Ahead(source.all(), 3) as items:
        for taken in range(10):
            until(lambda taken=taken: source.made == taken + 4)  # three that wait, and one at hand
            time.sleep(0.005)
            assert source.made == taken + 4
            next(items)
    assert source.closed


def test_what_goes_wrong_is_told_to_the_taker() -> None:
    def failing() -> Generator[int]:
        yield 1
        raise ValueError("broken")

    items = Ahead(failing(), 2)
    assert next(items) == 1
    with pytest.raises(ValueError, match="broken"):
        next(items)


def test_one_that_is_dropped_ends_its_thread() -> None:
    source = Source(50)
    items = Ahead(source.all(), 2)
    next(items)
    thread = items._thread
    del items
    gc.collect()
    thread.join(10)
    assert source.closed
    assert not thread.is_alive()


INTERRUPTED = """
import itertools, random, signal, threading
from vastsum.video.ahead import Ahead

signal.signal(signal.SIGALRM, signal.default_int_handler)
rng = random.Random(0)
n_interrupted = 0
for _ in range(300):
    try:
        with Ahead((number for number in itertools.count()), 2) as items:
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 3e-3))
            for _ in items:
                pass
    except KeyboardInterrupt:
        n_interrupted += 1
for thread in threading.enumerate():
    if thread.name == "vastsum-decode":
        thread.join()
print(n_interrupted)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer that interrupts")
def test_an_interrupt_at_any_moment_does_not_hang() -> None:
    """In a process of its own: coverage has a lock of Python's, which would stay locked."""
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("300\n", "")
