"""What exports ask of the original video, which may have moved or gone since it was summarised."""

from __future__ import annotations

import os
from urllib.parse import quote

from vastsum.errors import VideoError
from vastsum.summary import Summary
from vastsum.video import probe


def has_audio(summary: Summary) -> bool:
    """Whether the video has sound; assumed where it can no longer be asked, as most have."""
    try:
        return probe(summary.video.path).has_audio
    except VideoError:
        return True


def shown_name(summary: Summary) -> str:
    """The video's file name on one line, in characters that every text file can hold."""
    name = summary.video.path.name.encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() else "?" for c in name)


def url(summary: Summary) -> str:
    """Where the video is, for programs that link to it; relative paths stay relative."""
    path = summary.video.path
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
