"""What the names of video files end in. What a file is, `probe` says; this is for finding them in folders."""

from __future__ import annotations

from pathlib import Path, PurePath

from vastsum.errors import VideoError

VIDEO_SUFFIXES = {
    ".3gp", ".asf", ".avi", ".divx", ".dv", ".f4v", ".flv", ".gif", ".h264", ".h265", ".hevc", ".ivf", ".m2ts", ".m2v",
    ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogg", ".ogv", ".rm", ".rmvb", ".ts",
    ".vob", ".webm", ".wmv", ".y4m",
}  # fmt: skip


def looks_like_a_video(file: PurePath) -> bool:
    """Whether a file is worth opening: named as a video, not hidden, and no summary made of one earlier."""
    hidden = file.name.startswith(".")
    return file.suffix.lower() in VIDEO_SUFFIXES and ".summary" not in file.suffixes and not hidden


def videos_in(folder: Path) -> list[Path]:
    """The videos in and below a folder, less the summaries made of them earlier."""
    inside = sorted(file for file in folder.rglob("*") if _is_file(file) and looks_like_a_video(file))
    if not inside:
        raise VideoError(
            folder, "this folder holds no videos", "name the files themselves if their endings are unusual"
        )
    return inside


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a link to itself
        return False
