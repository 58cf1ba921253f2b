"""Folders that a person opened to the studio, and no way out of them."""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from vastsum.serve.errors import RefusedError
from vastsum.video.suffixes import looks_like_a_video

MAX_ENTRIES = 5000
_MAX_NAME_BYTES = 150


@dataclass(frozen=True)
class Entry:
    """A folder or a video; `path` is relative to the library, with forward slashes."""

    name: str
    path: str
    is_folder: bool
    n_bytes: int
    modified_at: float


class Library:
    """Reads below one folder only: names with "..", absolute ones and links that lead out are as if absent."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def entries(self, path: str = "") -> list[Entry]:
        """The folders and videos in one folder, in order of name; at most MAX_ENTRIES of them."""
        folder = self._inside(path)
        if not folder.is_dir():
            raise self._absent(path)
        try:
            with os.scandir(folder) as found:
                names = sorted(item.name for item in found if not item.name.startswith("."))
        except OSError as error:
            raise RefusedError(
                403, path or "library", f"cannot be read ({error.strerror})", "check its permissions"
            ) from None
        entries = (self._entry(folder, name) for name in names)
        shown = [entry for entry in entries if entry is not None]
        return sorted(shown, key=lambda entry: (not entry.is_folder, entry.name.lower()))[:MAX_ENTRIES]

    def video(self, path: str) -> Path:
        """Where a video of the library is; refused where there is none of this name."""
        file = self._inside(path)
        if not file.is_file() or not looks_like_a_video(file):
            raise self._absent(path)
        return file

    def _inside(self, path: str) -> Path:
        relative = PurePosixPath(path)
        if relative.is_absolute() or ".." in relative.parts or "\\" in path or "\0" in path:
            raise self._absent(path)
        try:
            resolved = (self.root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # absent, too long, a circle of links, no file name
            raise self._absent(path) from None
        if not resolved.is_relative_to(self.root):
            raise self._absent(path)
        return resolved

    def _entry(self, folder: Path, name: str) -> Entry | None:
        """None for what is not shown: other files, what leads out of the library, names that are not Unicode."""
        try:
            name.encode()
            path = (folder / name).relative_to(self.root).as_posix()
            found = self._inside(path)
            about = found.stat()
        except (OSError, ValueError, RefusedError):
            return None
        is_folder = stat.S_ISDIR(about.st_mode)
        if not is_folder and not (stat.S_ISREG(about.st_mode) and looks_like_a_video(found)):
            return None
        return Entry(name, path, is_folder, 0 if is_folder else about.st_size, about.st_mtime)

    @staticmethod
    def _absent(path: str) -> RefusedError:
        return RefusedError(404, path or "library", "there is no such video or folder in the library", "choose another")


def safe_name(name: str) -> str:
    """What an uploaded file may be called here: the last part of its name, printable, neither hidden nor too long."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    printable = "".join(c for c in last if c.isprintable() and c not in ':*?"|').strip().lstrip(".")
    stem, dot, suffix = printable.rpartition(".")
    if not stem:
        stem, dot, suffix = printable, "", ""
    ending = (dot + suffix).encode("utf-8", "ignore")[:20]
    kept = stem.encode("utf-8", "ignore")[: _MAX_NAME_BYTES - len(ending)] + ending
    return kept.decode("utf-8", "ignore") or "video"
