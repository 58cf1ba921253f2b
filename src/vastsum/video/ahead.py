"""Let the next thing be made while this one is used."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from vastsum.video.closing import Closing

T = TypeVar("T")


class Ahead(Closing, Generic[T]):
    """Runs a generator in a thread of its own, up to `n` items ahead of whoever takes them.

    What it raises is raised to the taker. Close it (or use `with`) when stopping early.
    """

    def __init__(self, items: Generator[T], n: int) -> None:
        self._feed = _Feed(items, n)
        # The thread knows the feed only, so that an Ahead that is dropped is collected, and its thread stops.
        self._thread = threading.Thread(target=self._feed.run, name="vastsum-decode", daemon=True)
        self._thread.start()

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        if self._feed.stopped.is_set():
            raise StopIteration
        item = self._feed.queue.get()
        if not isinstance(item, _End):
            return item
        self.close()
        if item.error is not None:
            raise item.error
        raise StopIteration

    def close(self) -> None:
        """Stop making items, and wait until the generator has let go of what it held."""
        self._feed.stop()
        self._thread.join()

    def __del__(self) -> None:
        self._feed.stop()


@dataclass(frozen=True)
class _End:
    error: BaseException | None


class _StoppedError(Exception):
    """Nobody waits for items any more."""


class _Feed(Generic[T]):
    def __init__(self, items: Generator[T], n: int) -> None:
        self.queue: queue.Queue[T | _End] = queue.Queue(n)
        self.stopped = threading.Event()
        self._items = items

    def stop(self) -> None:
        self.stopped.set()
        with contextlib.suppress(queue.Empty):  # make room for a thread that waits to hand over
            while True:
                self.queue.get_nowait()

    def run(self) -> None:
        with contextlib.suppress(_StoppedError):
            end = _End(None)
            try:
                for item in self._items:
                    self._hand_over(item)
            except _StoppedError:
                raise
            except BaseException as error:  # whatever it is, it belongs to whoever waits
                end = _End(error)
            finally:
                self._items.close()
            self._hand_over(end)

    def _hand_over(self, item: T | _End) -> None:
        while not self.stopped.is_set():
            try:
                return self.queue.put(item, timeout=0.1)
            except queue.Full:
                continue
        raise _StoppedError
