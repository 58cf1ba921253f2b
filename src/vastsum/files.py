"""Writing files so that a reader never meets half of one."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from vastsum.errors import OutputError


@contextmanager
def atomic_path(destination: Path) -> Iterator[Path]:
    """A temporary name beside `destination`; what is written there takes its place when the block ends well.

    On any failure, a kill excepted, the temporary file is removed and `destination` is as it was.
    """
    destination = Path(destination)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
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
        temporary.replace(destination)
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
