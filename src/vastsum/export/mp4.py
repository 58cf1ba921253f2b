"""The summary as a video."""

from __future__ import annotations

import contextlib
from pathlib import Path

from vastsum.files import make_folder
from vastsum.summary import Progress, Summary
from vastsum.video import Written, write_summary


def write_mp4(
    summary: Summary, destination: Path, *, copy: bool = False, threads: int = 0, progress: Progress | None = None
) -> Written:
    """Cut the chosen segments out of the original video, which must still be where it was.

    With `copy=True` nothing is encoded, cuts move to key frames, and the ending must suit the video's codecs
    (`vastsum.video.copy_suffix`).
    """
    with contextlib.suppress(OSError):  # what is in the way is reported by the writer, which names the file
        make_folder(destination.parent)
    return write_summary(
        summary.video.path,
        summary.ranges,
        destination,
        timeline=summary.timeline,
        copy=copy,
        threads=threads,
        progress=progress,
    )
