"""Writing files so that a reader never meets half of one, and a power cut takes none away."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from vastsum.errors import OutputError

# The answers of a disk that cannot flush a folder: Windows, some network drives, a folder that may not be listed.
_NO_FLUSHING = {errno.EACCES, errno.EINVAL, errno.ENOTSUP}


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

    On any failure, a kill excepted, the temporary file is removed and `destination` is as it was.
    """
    destination = Path(destination)
    try:
        make_folder(destination.parent)
        handle, name = tempfile.mkstemp(dir=destination.parent, prefix=f".{destination.name}.", suffix=".part")
    except OSError as error:
        raise OutputError(
            destination, f"cannot be written ({error.strerror})", "choose another place with -o"
        ) from error
    temporary = Path(name)
    try:
        os.close(handle)
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        put_in_place(temporary, destination)
    except OSError as error:
        raise OutputError(
            destination,
            f"could not be written ({error.strerror or error})",
            "free some space or choose another place with -o",
        ) from error
    finally:
        with suppress(OSError):  # whatever is wrong with the disk has been said, or does not matter any more
            temporary.unlink(missing_ok=True)


def write_text(destination: Path, text: str) -> None:
    with atomic_path(destination) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(destination: Path, content: Any) -> None:
    write_text(destination, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
