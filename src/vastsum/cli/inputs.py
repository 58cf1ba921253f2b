"""Which videos a person means by the files and folders they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from vastsum.errors import VideoError

VIDEO_SUFFIXES = {
    ".3gp", ".asf", ".avi", ".divx", ".dv", ".f4v", ".flv", ".gif", ".h264", ".h265", ".hevc", ".ivf", ".m2ts", ".m2v",
    ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogg", ".ogv", ".rm", ".rmvb", ".ts",
    ".vob", ".webm", ".wmv", ".y4m",
}  # fmt: skip


def find_videos(named: Sequence[Path]) -> list[Path]:
    """Files as they are named; of folders, the videos in and below them, less the summaries made of them earlier."""
    found: dict[Path, None] = {}
    for path in named:
        if _is(Path.is_dir, path):
            inside = sorted(file for file in path.rglob("*") if _is(Path.is_file, file) and _looks_like_a_video(file))
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


def _looks_like_a_video(file: Path) -> bool:
    hidden = file.name.startswith(".")
    return file.suffix.lower() in VIDEO_SUFFIXES and ".summary" not in file.suffixes and not hidden
