"""Writing files so that a reader never meets half of one, and a power cut takes none away."""

from __future__ import annotations

import errno
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from vastsum.errors import OutputError

# The answers of a disk that cannot flush a folder: Windows, some network drives, a folder that may not be listed.
_NO_FLUSHING = {errno.EACCES, errno.EINVAL, errno.ENOTSUP}

_PART = ".vastsum.part"  # what temporary files of this program end in, and no one else's


def put_in_place(temporary: Path, destination: Path) -> None:
    """Give what is finished its name: a file, or a folder of flushed files.

    Nothing may record it before this returns: until then a power cut can leave it empty, or take its name away.
    """
    flush(temporary)
    temporary.replace(destination)
    flush(destination.parent)


def flush(path: Path) -> None:
    """The content of a file, or the names in a folder, are on disk when this returns."""
    try:
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_FLUSHING:
            raise


def make_folder(folder: Path) -> None:
    """With the missing ones above it; their names are on disk when this returns."""
    missing = list(takewhile(lambda each: not each.exists(), (folder, *folder.parents)))
    folder.mkdir(parents=True, exist_ok=True)
    for each in missing:
        flush(each.parent)


@contextmanager
def atomic_path(destination: Path) -> Iterator[Path]:
    """A temporary name beside `destination`; what is written there takes its place when the block ends well.

    On any failure the temporary file is removed and `destination` is as it was; after a kill, the next run removes it.
    """
    destination = Path(destination)
    with ExitStack() as stack:
        try:
            make_folder(destination.parent)
            temporary = stack.enter_context(part_of(destination))
        except OSError as error:
            raise OutputError(
                destination, f"cannot be written ({error.strerror})", "choose another place with -o"
            ) from error
        try:
            yield temporary
            put_in_place(temporary, destination)
        except OSError as error:
            raise OutputError(
                destination,
                f"could not be written ({error.strerror or error})",
                "free some space or choose another place with -o",
            ) from error


@contextmanager
def part_of(destination: Path) -> Iterator[Path]:
    """An empty file beside `destination`, since only there can it be renamed at once, without copying; removed in the
    end if it was not.

    It is locked meanwhile: one that is not was left by a process that was killed. A library that locks files itself, as
    libhdf5 does, must be told not to.
    """
    _swept_once(destination.parent.absolute())
    part, handle = _locked_part(destination)
    try:
        yield part
    finally:
        with suppress(OSError):  # whatever is wrong with the disk has been said, or does not matter any more
            part.unlink(missing_ok=True)
        if handle is not None:
            with suppress(OSError):
                os.close(handle)


def _locked_part(destination: Path) -> tuple[Path, int | None]:
    while True:
        # Not the whole name: together they might be too long for a file.
        part = destination.parent / f".{destination.name[:40]}.{secrets.token_hex(4)}{_PART}"
        handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if not lock(handle, wait=True):
            os.close(handle)  # Windows renames nothing that is open
            return part, None
        if os.fstat(handle).st_nlink:
            return part, handle
        os.close(handle)  # it was swept away before it was locked


def lock(handle: int, *, wait: bool = False) -> bool:
    """Whether an open file is this process's alone until it is closed. No: it is another's, or there are no locks."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


@lru_cache(maxsize=256)
def _swept_once(folder: Path) -> None:
    remove_leftovers(folder)


def remove_leftovers(folder: Path, *, below: bool = False) -> None:
    """The temporary files of this program in a folder, and in those below, that no living process holds."""
    with suppress(OSError):  # of looking for them
        for part in folder.glob(f"{'**/' * below}.*{_PART}"):
            with suppress(OSError):
                _remove_unheld(part)


def _remove_unheld(part: Path) -> None:
    handle = os.open(part, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        if lock(handle):
            part.unlink()
    finally:
        os.close(handle)


def write_text(destination: Path, text: str) -> None:
    with atomic_path(destination) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(destination: Path, content: Any) -> None:
    write_text(destination, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
