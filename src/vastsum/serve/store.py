"""The jobs of a studio, in SQLite: what must outlive the process, written at every change of state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from vastsum.errors import DataError
from vastsum.serve.selection import Edits
from vastsum.serve.worker import Failure, Step

VERSION = 1


class State(StrEnum):
    queued = "queued"
    running = "running"
    done = "done"
    failed = "failed"
    cancelled = "cancelled"

    @property
    def is_open(self) -> bool:
        """Whether there is still something to come."""
        return self in (State.queued, State.running)


@dataclass(frozen=True)
class Options:
    budget: str
    model: str
    fast: bool = False


@dataclass(frozen=True)
class Outline:
    """What lists and status calls say about a finished job's video, so that they need not read its summary.

    `budget` is what was asked for, as a share of the video, `thumbnails_s` when its pictures are from, and `cover`
    which of them is nearest to what matters most.
    """

    duration_s: float
    width: int
    height: int
    fps: float
    n_segments: int
    budget: float
    thumbnails_s: tuple[float, ...]
    cover: int


@dataclass
class Export:
    """A file made of the summary, one a format; `edits` are those it was made with."""

    format: str
    edits: Edits
    state: State = State.queued
    failure: Failure | None = None
    file: str = ""
    n_bytes: int = 0
    progress: Step | None = None  # never stored


@dataclass
class Job:
    id: str
    number: int  # in order of submission
    name: str  # of the video, for people and for its exports
    created_at: float
    n_bytes: int
    options: Options
    library_path: str | None = None  # None: the video was uploaded, and lies with the job
    state: State = State.queued
    started_at: float | None = None
    finished_at: float | None = None
    crashes: int = 0
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    outline: Outline | None = None
    edits: Edits | None = None  # of the kept selection, once the job is done
    exports: dict[str, Export] = field(default_factory=dict)
    progress: Step | None = None  # never stored

    def to_json(self) -> str:
        content = asdict(self)
        for part in (content, *content["exports"].values()):
            del part["progress"]
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        content = json.loads(text)
        content |= {
            "state": State(content["state"]),
            "options": Options(**content["options"]),
            "failure": _failure(content["failure"]),
            "notes": tuple(content["notes"]),
            "outline": _outline(content["outline"]),
            "edits": None if content["edits"] is None else edits_from(content["edits"]),
            "exports": {name: _export(part) for name, part in content["exports"].items()},
        }
        return cls(**content)


class Store:
    """One row a job. Writes are few and small: progress is not among them. One process at a time."""

    def __init__(self, path: Path) -> None:
        try:
            # It may be opened in another thread than the event loop's, which alone uses it then.
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA locking_mode=EXCLUSIVE")  # no shared memory: a full disk has no room for its file
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise DataError(path, "was written by a newer version", "update vastsum, or choose another --data")
            if version < VERSION:
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS jobs "
                    "(id TEXT PRIMARY KEY, number INTEGER UNIQUE, content TEXT NOT NULL)"
                )
                self._db.execute(f"PRAGMA user_version={VERSION}")
        except sqlite3.Error as error:
            is_broken = getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)
            remedy = "choose another --data, or move this one away" if is_broken else "see to its disk and permissions"
            raise DataError(path, f"cannot be used ({error})", remedy) from error

    def jobs(self) -> Iterator[Job]:
        for (content,) in self._db.execute("SELECT content FROM jobs ORDER BY number"):
            yield Job.from_json(content)

    def save(self, job: Job) -> None:
        self._db.execute(
            "INSERT INTO jobs VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET content = excluded.content",
            (job.id, job.number, job.to_json()),
        )

    def delete(self, job_id: str) -> None:
        self._db.execute("DELETE FROM jobs WHERE id = ?", (job_id,))

    def close(self) -> None:
        self._db.close()


def _failure(content: dict[str, str] | None) -> Failure | None:
    return None if content is None else Failure(**content)


def _outline(content: dict[str, Any] | None) -> Outline | None:
    return None if content is None else Outline(**content | {"thumbnails_s": tuple(content["thumbnails_s"])})


def edits_from(content: dict[str, Any]) -> Edits:
    starts = None if content["starts"] is None else tuple(content["starts"])
    return Edits(content["budget"], starts, tuple((start, wanted) for start, wanted in content["held"]))


def _export(content: dict[str, Any]) -> Export:
    parts = {
        "state": State(content["state"]),
        "edits": edits_from(content["edits"]),
        "failure": _failure(content["failure"]),
    }
    return Export(**content | parts)
