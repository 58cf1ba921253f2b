"""Which videos a person means by the files and folders they name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def find_videos(named: Sequence[Path]) -> list[Path]:
    """Files as they are named; of folders, the videos in and below them, less the summaries made of them earlier."""
    from vastsum.video.suffixes import videos_in

    found: dict[Path, None] = {}
    for path in named:
        found |= dict.fromkeys(videos_in(path) if is_folder(path) else [path])
    return list(found)


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # what is wrong with it is said when it is opened
        return False
