"""Where a studio keeps its files: one folder a job, and nothing in it that no job knows of.

DATA/studio.sqlite
DATA/incoming/ID              an upload on its way, or a deleted job's files
DATA/unclaimed/ID             the folder of a job that the database does not know
DATA/jobs/ID/video/NAME       the uploaded video
DATA/jobs/ID/whole.json       its summary
DATA/jobs/ID/thumbnails/*.jpg
DATA/jobs/ID/exports/*
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from vastsum.errors import OutputError
from vastsum.export import FORMATS
from vastsum.files import flush, lock, make_folder
from vastsum.serve.store import Job, State
from vastsum.serve.worker import THUMBNAILS, WHOLE

log = logging.getLogger("vastsum.serve")

_LOCK_WAIT_S = 20.0  # workers of a studio that was killed end within moments


class Folders:
    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self.jobs = self.root / "jobs"
        self.incoming = self.root / "incoming"
        self.unclaimed = self.root / "unclaimed"
        self.database = self.root / "studio.sqlite"
        try:
            make_folder(self.root.parent)
            self.root.mkdir(exist_ok=True, mode=0o700)
            flush(self.root.parent)
            make_folder(self.jobs)
            make_folder(self.incoming)
        except OSError as error:
            raise OutputError(
                root, f"cannot be used ({error.strerror})", "choose another folder with --data"
            ) from error

    def of(self, job: Job) -> Path:
        return self.jobs / job.id

    def upload(self, job: Job) -> Path:
        return self.of(job) / "video" / job.name

    def whole(self, job: Job) -> Path:
        return self.of(job) / WHOLE

    def thumbnail(self, job: Job, n: int) -> Path:
        return self.of(job) / THUMBNAILS / f"{n:03d}.jpg"

    def export(self, job: Job, file: str) -> Path:
        return self.of(job) / "exports" / file

    def remove_export(self, job: Job, format_name: str) -> None:
        """The file, and what a writer that was killed left of it; other exports may be under way beside it."""
        file = FORMATS[format_name].path_for(Path(job.name), self.of(job) / "exports")
        with contextlib.suppress(FileNotFoundError):
            for path in file.parent.iterdir():
                if path == file or path.name.startswith(f".{file.name}."):
                    remove(path)

    def lock(self) -> IO[bytes]:
        """Held by this process and its workers as long as any of them lives: one studio a folder."""
        handle = (self.root / "lock").open("ab")
        deadline_s = time.monotonic() + _LOCK_WAIT_S
        while os.name == "posix" and not lock(handle.fileno()):  # elsewhere there are no such locks
            if time.monotonic() > deadline_s:
                handle.close()
                raise OutputError(self.root, "another studio is using this folder", "end it, or choose another --data")
            time.sleep(0.1)
        return handle

    def sweep(self, jobs: Iterable[Job]) -> None:
        """Remove whatever a kill left behind. Only while nothing else works here.

        A folder in `jobs` that no job knows is never removed: the database may have been lost, moved or put back.
        """
        known = {job.id: job for job in jobs}
        for leftover in self.incoming.iterdir():
            remove(leftover)
        for folder in self.jobs.iterdir():
            if folder.name in known:
                self.tidy(known[folder.name])
            else:
                self._set_aside(folder)

    def _set_aside(self, folder: Path) -> None:
        try:
            make_folder(self.unclaimed)
            folder.replace(self.unclaimed / folder.name)
        except OSError as error:
            log.error("%s belongs to no job, and cannot be moved to %s: %s", folder, self.unclaimed, error)
        else:
            log.warning("no job is known for %s: it was moved to %s", folder.name, self.unclaimed)

    def discard(self, job: Job) -> None:
        """Remove a job's folder; what a kill leaves of it is removed by the next start."""
        leftover = self.incoming / job.id
        with contextlib.suppress(OSError):  # of a video of the library there may be none yet
            self.of(job).replace(leftover)
            flush(self.jobs)
        for folder in (leftover, self.of(job)):
            remove(folder)

    def tidy(self, job: Job) -> None:
        """Remove from a job's folder what is not part of the job as it stands. Not while any of its tasks runs."""
        folder = self.of(job)
        kept = {folder / "exports", folder / "video"}
        if job.library_path is None:
            kept.add(self.upload(job))
        if job.state is State.done:
            kept |= {self.whole(job), folder / THUMBNAILS}
        kept |= {self.export(job, export.file) for export in job.exports.values() if export.file}
        for parent in (folder, folder / "exports", folder / "video"):
            with contextlib.suppress(FileNotFoundError):
                for path in parent.iterdir():
                    if path not in kept:
                        remove(path)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def link_or_copy(source: Path, destination: Path) -> None:
    """A second name for the same file, which either may outlive; a copy where the disk knows no such thing."""
    make_folder(destination.parent)
    try:
        os.link(source, destination)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.ENOTSUP, errno.EMLINK):
            raise
        shutil.copyfile(source, destination)
    flush(destination)
    flush(destination.parent)
