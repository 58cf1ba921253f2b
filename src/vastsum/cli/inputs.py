"""Which videos a person means by the files and folders they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vastsum.errors import VideoError


def find_videos(named: Sequence[Path]) -> list[Path]:
    """Files as they are named; of folders, the videos in and below them, less the summaries made of them earlier."""
    from vastsum.video.suffixes import looks_like_a_video

    found: dict[Path, None] = {}
    for path in named:
        if _is(Path.is_dir, path):
            inside = sorted(file for file in path.rglob("*") if _is(Path.is_file, file) and looks_like_a_video(file))
            if not inside:
                raise VideoError(
                    path, "this folder holds no videos", "name the files themselves if their endings are unusual"
                )
            found |= dict.fromkeys(inside)
        else:
            found[path] = None
    return list(found)


def _is(kind: Callable[[Path], bool], path: Path) -> bool:
    try:
        return kind(path)
    except OSError:  # what is wrong with it is said when it is opened
        return False
