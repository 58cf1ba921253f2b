"""Summaries of finished jobs: read, chosen and put into words off the event loop, one at a time, the last few kept."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TypeVar

from vastsum.serve.folders import Folders
from vastsum.serve.selection import Edits, reselect
from vastsum.serve.store import Job
from vastsum.summary import Summary

Key = TypeVar("Key")
Value = TypeVar("Value")

_KEPT = 16


@dataclass(frozen=True)
class Chosen:
    summary: Summary
    text: bytes  # the content of summary.json


class Results:
    def __init__(self, folders: Folders) -> None:
        self._folders = folders
        self._wholes: dict[str, Summary] = {}
        self._chosen: dict[tuple[str, Edits], Chosen] = {}
        self._turn = asyncio.Lock()  # a choice takes all of a core for a moment; many at once would starve the rest

    async def whole(self, job: Job) -> Summary:
        """With its segments as they were found, none trimmed to a budget."""
        if job.id not in self._wholes:
            loaded = await asyncio.to_thread(Summary.load, self._folders.whole(job))
            _keep(self._wholes, job.id, loaded)
            return loaded
        return self._wholes[job.id]

    async def chosen(self, job: Job, edits: Edits) -> Chosen:
        key = (job.id, edits)
        if key in self._chosen:
            return self._chosen[key]
        async with self._turn:
            if key not in self._chosen:  # someone before us in the queue may have asked the same
                chosen = await asyncio.to_thread(_choose, await self.whole(job), edits)
                _keep(self._chosen, key, chosen)
                return chosen
            return self._chosen[key]

    def forget(self, job: Job) -> None:
        self._wholes.pop(job.id, None)
        self._chosen = {key: chosen for key, chosen in self._chosen.items() if key[0] != job.id}


def _choose(whole: Summary, edits: Edits) -> Chosen:
    summary = reselect(whole, edits)
    return Chosen(summary, json.dumps(summary.to_dict(), allow_nan=False, separators=(",", ":")).encode())


def _keep(kept: dict[Key, Value], key: Key, value: Value) -> None:
    kept[key] = value
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]
