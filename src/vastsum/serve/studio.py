"""What can be done in a studio, without a word about HTTP: submit, follow, change, export, cancel, delete."""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from vastsum.errors import ConfigError, VastsumError, VideoError
from vastsum.export import FORMATS, read_budget
from vastsum.files import flush, make_folder, put_in_place
from vastsum.serve.changes import Changes
from vastsum.serve.config import StudioSettings
from vastsum.serve.errors import RefusedError
from vastsum.serve.folders import Folders, link_or_copy, remove
from vastsum.serve.library import Library, safe_name
from vastsum.serve.results import Chosen, Results
from vastsum.serve.selection import Edits
from vastsum.serve.store import Export, Job, Options, Outline, State, Store
from vastsum.serve.tasks import TaskQueue, TaskResult, Ticket
from vastsum.serve.worker import Failed, Failure, Step
from vastsum.summary import Summary

log = logging.getLogger("vastsum.serve")

MAX_CRASHES = 1  # a task whose process crashes is tried once more
_EXPORTS_AT_A_TIME = 2  # a small one need not wait for a video to be encoded
_SPARE_BYTES = 256 * 2**20  # left free on the disk, for results
_WRITE_BYTES = 2**20


class Studio:
    """Opens the data folder and takes up where the last studio there left off, however that ended."""

    def __init__(self, settings: StudioSettings) -> None:
        self.settings = settings
        self.library = Library(settings.library) if settings.library else None
        self.folders = Folders(settings.data)
        self.changes = Changes()
        self._results = Results(self.folders)
        self._n_uploads = 0
        self._lock = self.folders.lock()
        self._store = Store(self.folders.database)
        self._jobs = {job.id: job for job in self._store.jobs()}
        self._next_number = max((job.number for job in self._jobs.values()), default=0) + 1
        self._summarizing = TaskQueue(settings.workers, self._lock.fileno())
        self._exporting = TaskQueue(_EXPORTS_AT_A_TIME, self._lock.fileno())
        self.folders.sweep(self._jobs.values())

    async def open(self) -> None:
        for job in self._jobs.values():
            if job.state.is_open:
                job.state = State.queued
                self._enqueue(job)
            for export in job.exports.values():
                if export.state.is_open:
                    export.state = State.queued
                    self._enqueue_export(job, export)
        self._summarizing.open()
        self._exporting.open()

    async def close(self) -> None:
        await self._summarizing.close()
        await self._exporting.close()
        self._store.close()
        self._lock.close()

    # ---- looking ----

    def job(self, job_id: str) -> Job:
        if job_id not in self._jobs:
            raise RefusedError(404, f"job {job_id}", "there is no such job", "it may have been deleted")
        return self._jobs[job_id]

    def jobs(self, limit: int, before: int | None = None) -> list[Job]:
        """The newest first; those with a lower number than `before`."""
        newest_first = reversed(self._jobs.values())
        found = (job for job in newest_first if before is None or job.number < before)
        return [job for _, job in zip(range(limit), found, strict=False)]

    def position(self, job: Job) -> int | None:
        return self._summarizing.position(job.id)

    def video(self, job: Job) -> Path:
        """Where the original is; a refusal where it no longer is."""
        if job.library_path is not None:
            if self.library is None:
                raise RefusedError(404, job.name, "the library is not open", "start the studio with --library")
            return self.library.video(job.library_path)
        path = self.folders.upload(job)
        if not path.is_file():
            raise RefusedError(404, job.name, "the video is no longer there", "upload it again")
        return path

    async def chosen(self, job: Job, edits: Edits | None = None) -> Chosen:
        """The kept selection of a job, or another."""
        wanted = edits or job.edits
        if job.state is not State.done or wanted is None:
            raise _not_done(job)
        with self._unless_deleted(job):
            return await self._results.chosen(job, wanted)

    async def starts(self, job: Job) -> list[int]:
        """The first frames of the segments as they were found."""
        if job.state is not State.done:
            raise _not_done(job)
        with self._unless_deleted(job):
            return [segment.start_frame for segment in (await self._results.whole(job)).segments]

    @contextmanager
    def _unless_deleted(self, job: Job) -> Iterator[None]:
        """What is gone while it is read has no other fault than that."""
        try:
            yield
        except Exception:
            self.job(job.id)
            raise
        self.job(job.id)

    # ---- submitting ----

    def options(self, budget: str, model: str, fast: bool) -> Options:
        """Checked at the door: a job is not to fail an hour later for a slip of the pen."""
        read_budget(budget)
        self.settings.model_path(model)
        return Options(budget, model, fast)

    async def submit_from_library(self, path: str, options: Options) -> Job:
        self._check_room(self._summarizing)
        if self.library is None:
            raise RefusedError(404, "library", "no library is open", "start the studio with --library DIR")
        video = await asyncio.to_thread(self.library.video, path)
        return self._admit(self._new_job(video.name, video.stat().st_size, options, library_path=path))

    async def submit_again(self, job: Job, options: Options) -> Job:
        """The same video with other options, to be compared."""
        self._check_room(self._summarizing)
        video = self.video(job)
        again = self._new_job(job.name, job.n_bytes, options, library_path=job.library_path)
        if job.library_path is None:
            destination = self.folders.upload(again)
            try:
                await asyncio.to_thread(link_or_copy, video, destination)
            except OSError as error:
                remove(self.folders.of(again))
                raise disk_trouble(job.name, error) from error
        return self._admit(again)

    async def submit_upload(
        self, name: str, options: Options, chunks: AsyncIterator[bytes], n_bytes: int | None
    ) -> Job:
        """Stream an upload to disk. It becomes a job when it is complete; until then, a kill leaves nothing of it."""
        self._check_room(self._summarizing)
        if self._n_uploads >= self.settings.max_uploads:
            raise RefusedError(429, name, f"{self._n_uploads} uploads are under way", "wait until one is done")
        if n_bytes is not None:
            self._check_size(name, n_bytes)
            if shutil.disk_usage(self.folders.root).free < n_bytes + _SPARE_BYTES:
                raise RefusedError(507, name, "the studio's disk has no room for it", "free some space, then try again")
        job = self._new_job(safe_name(name), 0, options)
        part = self.folders.incoming / job.id
        self._n_uploads += 1
        try:
            job.n_bytes = await self._receive(part, name, chunks)
            self._check_room(self._summarizing)  # others may have been quicker
            destination = self.folders.upload(job)
            make_folder(destination.parent)
            put_in_place(part, destination)
            return self._admit(job)
        except OSError as error:
            remove(self.folders.of(job))
            raise disk_trouble(name, error) from error
        finally:
            self._n_uploads -= 1
            part.unlink(missing_ok=True)

    async def _receive(self, part: Path, name: str, chunks: AsyncIterator[bytes]) -> int:
        n_bytes, gathered = 0, bytearray()
        with part.open("xb") as file:
            async for chunk in chunks:
                n_bytes += len(chunk)
                self._check_size(name, n_bytes)
                gathered += chunk
                if len(gathered) >= _WRITE_BYTES:
                    await asyncio.to_thread(file.write, bytes(gathered))
                    gathered.clear()
            await asyncio.to_thread(file.write, bytes(gathered))
        if n_bytes == 0:
            raise VideoError(name, "the file is empty", "choose another")
        await asyncio.to_thread(flush, part)  # here, where it holds up nobody else
        return n_bytes

    def _check_size(self, name: str, n_bytes: int) -> None:
        if n_bytes > self.settings.max_upload_bytes:
            limit = self.settings.max_upload_bytes / 2**30
            remedy = "put it into the library folder, or start the studio with a larger --max-upload"
            raise RefusedError(413, name, f"larger than {limit:.3g} GiB, the most that may be uploaded", remedy)

    def _check_room(self, queue: TaskQueue) -> None:
        if queue.n_waiting >= self.settings.max_queued:
            raise RefusedError(429, "queue", f"{queue.n_waiting} tasks are waiting already", "try again later")

    def _new_job(self, name: str, n_bytes: int, options: Options, library_path: str | None = None) -> Job:
        number, self._next_number = self._next_number, self._next_number + 1
        return Job(secrets.token_hex(8), number, name, time.time(), n_bytes, options, library_path)

    def _admit(self, job: Job) -> Job:
        try:
            self._store.save(job)
        except sqlite3.Error as error:
            remove(self.folders.of(job))
            raise _not_noted(job, error) from error
        self._jobs[job.id] = job
        self._enqueue(job)
        self.changes.tell(job.id)
        return job

    # ---- changing ----

    async def keep(self, job: Job, edits: Edits) -> Summary:
        """Make this the job's selection, once it is seen to make sense."""
        chosen = await self.chosen(job, edits)
        before, job.edits = job.edits, edits
        try:
            self._store.save(job)
        except sqlite3.Error as error:
            job.edits = before
            raise _not_noted(job, error) from error
        self.changes.tell(job.id)
        return chosen.summary

    async def export(self, job: Job, name: str) -> Export:
        """Have the kept selection written in this format, unless that is done or under way."""
        if name not in FORMATS:
            raise ConfigError(f"format '{name}'", "is not known", f"choose one of {', '.join(FORMATS)}")
        if job.state is not State.done or job.edits is None:
            raise _not_done(job)
        earlier = job.exports.get(name)
        if earlier and earlier.edits == job.edits and (earlier.state.is_open or self._is_there(job, earlier)):
            return earlier
        self._check_room(self._exporting)
        await self.discard_export(job, name)
        self.job(job.id)  # it may have been deleted meanwhile
        export = job.exports[name] = Export(name, job.edits)
        self._enqueue_export(job, export)
        self._note(job)
        return export

    def _is_there(self, job: Job, export: Export) -> bool:
        return export.state is State.done and self.folders.export(job, export.file).is_file()

    def exported(self, job: Job, export: Export) -> Path:
        if not self._is_there(job, export):
            raise RefusedError(404, job.name, f"the export is {export.state}, there is no file", "export it first")
        return self.folders.export(job, export.file)

    async def discard_export(self, job: Job, name: str) -> None:
        """Cancel it if it is under way, and remove its file."""
        await self._exporting.withdraw(_export_key(job, name))
        if job.exports.pop(name, None) is not None:
            self._note(job)
            await asyncio.to_thread(self.folders.remove_export, job, name)

    async def cancel(self, job: Job) -> None:
        if not job.state.is_open:
            raise RefusedError(
                409, job.name, f"the job is {job.state}", "only a job that waits or runs can be cancelled"
            )
        await self._summarizing.withdraw(job.id)
        if job.state.is_open:
            self._finish(job, State.cancelled)
            await asyncio.to_thread(self.folders.tidy, job)

    async def delete(self, job: Job) -> None:
        """First the note of it, then its files: a kill in between leaves what the next start sets aside."""
        del self._jobs[job.id]
        self._results.forget(job)
        await self._summarizing.withdraw(job.id)
        for name in list(job.exports):
            await self._exporting.withdraw(_export_key(job, name))
        try:
            self._store.delete(job.id)
        except sqlite3.Error as error:
            self._jobs[job.id] = job
            raise _not_noted(job, error) from error
        await asyncio.to_thread(self.folders.discard, job)
        self.changes.tell(job.id)

    # ---- tasks ----

    def _enqueue(self, job: Job) -> None:
        self._summarizing.add(
            Ticket(job.id, partial(self._begin, job), partial(self._follow, job, job), partial(self._end, job))
        )

    def _begin(self, job: Job) -> dict[str, Any] | Failure:
        job.state, job.started_at = State.running, time.time()
        self._note(job)
        try:
            task = {"video": str(self.video(job)), "model": str(self.settings.model_path(job.options.model))}
        except VastsumError as error:
            return failure_of(error)
        make_folder(self.folders.of(job))
        options = {"model_name": job.options.model, "fast": job.options.fast, "budget": job.options.budget}
        return {"kind": "summarize", "folder": str(self.folders.of(job)), **task, **options}

    async def _end(self, job: Job, outcome: TaskResult) -> None:
        if isinstance(outcome, Failed) and outcome.has_crashed and job.crashes < MAX_CRASHES:
            await asyncio.to_thread(self.folders.tidy, job)
            if job.id in self._jobs and job.state.is_open:  # neither deleted nor cancelled meanwhile
                job.crashes += 1
                job.state, job.progress = State.queued, None
                self._note(job)
                self._enqueue(job)
            return
        if isinstance(outcome, Failed):
            self._finish(job, State.failed, outcome.failure)
            await asyncio.to_thread(self.folders.tidy, job)
            return
        outline = outcome.content["outline"]
        job.outline = Outline(**outline | {"thumbnails_s": tuple(outline["thumbnails_s"])})
        job.notes = tuple(outcome.content["notes"])
        job.edits = Edits(job.outline.budget)
        self._finish(job, State.done)

    def _finish(self, job: Job, state: State, failure: Failure | None = None) -> None:
        job.state, job.failure, job.progress, job.finished_at = state, failure, None, time.time()
        self._note(job)

    def _enqueue_export(self, job: Job, export: Export) -> None:
        self._exporting.add(
            Ticket(
                _export_key(job, export.format),
                partial(self._begin_export, job, export),
                partial(self._follow, job, export),
                partial(self._end_export, job, export),
            )
        )

    def _begin_export(self, job: Job, export: Export) -> dict[str, Any] | Failure:
        export.state = State.running
        self._note(job)
        try:
            video = self.video(job)
        except VastsumError as error:
            return failure_of(error)
        folder = str(self.folders.of(job))
        return {
            "kind": "export", "folder": folder, "video": str(video), "format": export.format,
            "edits": asdict(export.edits),
        }  # fmt: skip

    async def _end_export(self, job: Job, export: Export, outcome: TaskResult) -> None:
        export.progress = None
        if isinstance(outcome, Failed):
            export.state, export.failure = State.failed, outcome.failure
            await asyncio.to_thread(self.folders.remove_export, job, export.format)
        else:
            export.state, export.file = State.done, outcome.content["file"]
            export.n_bytes = outcome.content["n_bytes"]
        self._note(job)

    def _follow(self, job: Job, what: Job | Export, progress: Step) -> None:
        what.progress = progress
        self.changes.tell(job.id)

    def _note(self, job: Job) -> None:
        """Write down a job's new state and tell who listens. Where the disk is full, what was noted before stands:
        after a restart the job would be done again, and nothing else is lost."""
        if job.id in self._jobs:
            try:
                self._store.save(job)
            except sqlite3.Error as error:
                log.error("the state of job %s cannot be noted: %s", job.id, error)
        self.changes.tell(job.id)


def _not_noted(job: Job, error: sqlite3.Error) -> RefusedError:
    return RefusedError(507, job.name, f"the change cannot be noted ({error})", "free some space on the studio's disk")


def _not_done(job: Job) -> RefusedError:
    return RefusedError(409, job.name, f"the job is {job.state}, there is no summary", "wait until it is done")


def failure_of(error: VastsumError) -> Failure:
    return Failure(f"{error.where}: {error.problem}", error.remedy)


def disk_trouble(name: str, error: OSError) -> RefusedError:
    reason = error.strerror or str(error)
    return RefusedError(
        507, name, f"it could not be stored ({reason})", "free some space on the studio's disk, then try again"
    )


def _export_key(job: Job, name: str) -> str:
    return f"{job.id}/{name}"
