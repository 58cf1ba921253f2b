"""Files that are either written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import av
from av.container import OutputContainer
from av.error import FFmpegError

from vastsum.errors import OutputError
from vastsum.files import part_of, put_in_place

_REMEDIES = {
    errno.ENOSPC: "free some space, or choose another folder",
    errno.EDQUOT: "free some space, or choose another folder",
    errno.EFBIG: "choose a place where files may be larger, or a smaller budget",
    errno.EACCES: "choose a folder you may write to",
    errno.EPERM: "choose a folder you may write to",
    errno.EROFS: "choose a folder you may write to",
}


@contextlib.contextmanager
def writing(destination: Path, container_format: str) -> Iterator[OutputContainer]:
    """A container that takes its final name only when it is complete, and leaves nothing behind otherwise."""
    options = {"movflags": "+faststart"} if container_format in {"mp4", "mov"} else {}
    with contextlib.ExitStack() as stack:
        out: OutputContainer | None = None
        try:
            _check_destination(destination)
            part = stack.enter_context(part_of(destination))
            out = av.open(f"file:{part.absolute()}", "w", format=container_format, container_options=options)
            yield out
            out.close()
            put_in_place(part, destination)
        except (FFmpegError, OSError) as error:
            number = getattr(error, "errno", None)
            remedy = _REMEDIES.get(number or 0, "check the disk, or choose another folder")
            raise OutputError(destination, f"cannot be written ({_reason(number, error)})", remedy) from error
        finally:
            if out is not None:
                with contextlib.suppress(Exception):  # already failed: what closing says adds nothing
                    out.close()


def _reason(number: int | None, error: Exception) -> str:
    return os.strerror(number) if number is not None and 0 < number < 200 else str(error)


def _check_destination(destination: Path) -> None:
    if destination.is_dir():
        raise OutputError(destination, "there is a folder of this name", "choose another name")
    if not destination.parent.is_dir():
        raise OutputError(destination, "its folder does not exist", f"make the folder {destination.parent} first")
