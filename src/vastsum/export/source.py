"""What exports ask of the original video, which may have moved or gone since it was summarised."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from vastsum.summary import Summary


def shown_name(summary: Summary) -> str:
    """The video's file name on one line, in characters that every text file can hold."""
    return printable(summary.video.path.name)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text.encode("utf-8", "replace").decode())


def path_from(summary: Summary, file: Path) -> Path:
    """Where the video is, as a file tells it: relative where it lies beside the file or below it, so that both can move
    together."""
    video, folder = summary.video.path, file.absolute().parent
    return video.relative_to(folder) if video.is_relative_to(folder) else video


def url_from(summary: Summary, file: Path) -> str:
    path = path_from(summary, file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
