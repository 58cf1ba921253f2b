"""Who wants to know when a job changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Listener:
    """Jobs that have changed since it last asked: a slow reader misses steps, but nothing piles up."""

    def __init__(self, job_id: str | None) -> None:
        self._only = job_id
        self._changed: dict[str, None] = {}
        self._news = asyncio.Event()

    def tell(self, job_id: str) -> None:
        if self._only in (None, job_id):
            self._changed[job_id] = None
            self._news.set()

    async def wait(self, timeout_s: float) -> list[str]:
        """The jobs that changed, in order; none where nothing did for so long."""
        try:
            await asyncio.wait_for(self._news.wait(), timeout_s)
        except TimeoutError:
            return []
        changed = list(self._changed)
        self._changed.clear()
        self._news.clear()
        return changed


class Changes:
    def __init__(self) -> None:
        self._listeners: set[Listener] = set()

    def tell(self, job_id: str) -> None:
        for listener in self._listeners:
            listener.tell(job_id)

    @contextmanager
    def listen(self, job_id: str | None = None) -> Iterator[Listener]:
        """To one job, or to all."""
        listener = Listener(job_id)
        self._listeners.add(listener)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
