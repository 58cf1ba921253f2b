"""What the names of video files end in. What a file is, `probe` says; this is for finding them in folders."""

from __future__ import annotations

from pathlib import PurePath

VIDEO_SUFFIXES = {
    ".3gp", ".asf", ".avi", ".divx", ".dv", ".f4v", ".flv", ".gif", ".h264", ".h265", ".hevc", ".ivf", ".m2ts", ".m2v",
    ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".mxf", ".ogg", ".ogv", ".rm", ".rmvb", ".ts",
    ".vob", ".webm", ".wmv", ".y4m",
}  # fmt: skip


def looks_like_a_video(file: PurePath) -> bool:
    """Whether a file is worth opening: named as a video, not hidden, and no summary made of one earlier."""
    hidden = file.name.startswith(".")
    return file.suffix.lower() in VIDEO_SUFFIXES and ".summary" not in file.suffixes and not hidden
