"""A disk that keeps only what it was told to flush: what a power cut leaves of a folder, at its worst."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch


class Disk:
    """What each file and folder held when it was flushed last, by inode. What was never flushed is empty."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        for path in (root, *root.rglob("*")):
            self.flush(path)

    def flush(self, path: Path) -> None:
        if path.is_dir():
            self._names[path.stat().st_ino] = {entry.name: entry.inode() for entry in os.scandir(path)}
        else:
            self._contents[path.stat().st_ino] = path.read_bytes()

    def holds(self, path: Path) -> bool:
        """Whether all of a file, or of the files in a folder, is flushed."""
        files = [each for each in (path, *path.rglob("*")) if each.is_file()]
        return all(self._contents.get(file.stat().st_ino) == file.read_bytes() for file in files)

    def left(self) -> dict[str, bytes]:
        """The files after a power cut now. What was removed may be among them."""
        return dict(self._left(self.root.stat().st_ino, ""))

    def _left(self, folder: int, prefix: str) -> Iterator[tuple[str, bytes]]:
        for name, inode in self._names.get(folder, {}).items():
            if inode in self._names or (self.root / prefix / name).is_dir():
                yield from self._left(inode, f"{prefix}{name}/")
            else:
                yield prefix + name, self._contents.get(inode, b"")


@contextmanager
def watched(root: Path, then: Callable[[Disk], None] = lambda _: None) -> Iterator[Disk]:
    """While the block lasts, what this process flushes is kept; `then` is called whenever that is something new."""
    disk, fsync, replace = Disk(root), os.fsync, os.replace
    hasty: list[Path] = []

    def noted(handle: int) -> None:
        fsync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_relative_to(root):
            disk.flush(path)
            then(disk)

    def renamed(source: Path, destination: Path) -> None:
        if Path(source).is_relative_to(root) and not disk.holds(Path(source)):
            hasty.append(Path(destination))
        replace(source, destination)

    with patch.object(os, "fsync", noted), patch.object(os, "replace", renamed):
        yield disk
    assert not hasty, "named before it was flushed: the disk may keep the name alone"


def files_in(root: Path) -> dict[str, bytes]:
    """What is there while the power is on."""
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
