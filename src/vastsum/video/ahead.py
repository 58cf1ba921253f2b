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
        if self._feed.stopped:
            raise StopIteration
        item = self._feed.made.get()
        if not isinstance(item, _End):
            self._feed.room.put(None)
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


class _Feed(Generic[T]):
    """Simple queues, and no other locks: Ctrl-C may come at any moment, and a lock of Python's may then stay locked."""

    def __init__(self, items: Generator[T], n: int) -> None:
        self.made: queue.SimpleQueue[T | _End] = queue.SimpleQueue()
        self.room: queue.SimpleQueue[None] = queue.SimpleQueue()  # one for each item that may be waiting
        self.stopped = False
        self._items = items
        for _ in range(n):
            self.room.put(None)

    def stop(self) -> None:
        self.stopped = True
        self.room.put(None)  # for a thread that waits for it, to see this

    def run(self) -> None:
        end = _End(None)
        try:
            with contextlib.closing(self._items):
                for item in self._items:
                    self.room.get()
                    if self.stopped:
                        break
                    self.made.put(item)
        except BaseException as error:  # whatever it is, it belongs to whoever waits
            end = _End(error)
        self.made.put(end)
