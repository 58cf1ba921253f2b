"""A few seconds of the summary as a silent picture that moves: for chats, web pages and file managers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from av.video.reformatter import VideoReformatter
from PIL import Image

from vastsum.errors import VideoError
from vastsum.files import atomic_path
from vastsum.summary import Summary
from vastsum.types import IntArray
from vastsum.video import read_timeline
from vastsum.video.reader import FrameReader
from vastsum.video.source import Source, UInt8Array
from vastsum.video.timeline import Timeline
from vastsum.video.upright import picture

PREVIEW_S = 6.0
_MAX_PARTS = 4
_PICTURES_PER_S = 10
_GIF_WIDTH, _WEBP_WIDTH = 320, 480  # GIF compresses little


def write_gif(summary: Summary, destination: Path, *, seconds: float = PREVIEW_S) -> None:
    _write(summary, destination, seconds, _GIF_WIDTH, format="GIF")


def write_webp(summary: Summary, destination: Path, *, seconds: float = PREVIEW_S) -> None:
    _write(summary, destination, seconds, _WEBP_WIDTH, format="WEBP", quality=70)


def _write(summary: Summary, destination: Path, seconds: float, width: int, **options: Any) -> None:
    first, *others = (Image.fromarray(shown) for shown in _pictures(summary, _parts_s(summary, seconds), width))
    with atomic_path(destination) as temporary:
        first.save(temporary, save_all=True, append_images=others, duration=1000 // _PICTURES_PER_S, loop=0, **options)


def _parts_s(summary: Summary, seconds: float) -> list[tuple[float, float]]:
    """Start and end of what is shown of the most important pieces, around the best pick of each, in order of time."""
    best = sorted(summary.pieces, key=lambda piece: -piece.importance)[:_MAX_PARTS]
    parts, left_s = [], seconds
    for n_left, piece in zip(range(len(best), 0, -1), sorted(best, key=lambda piece: piece.duration_s), strict=True):
        length_s = min(left_s / n_left, piece.duration_s)  # what short pieces leave is for the longer ones
        (centre_s,) = summary.times_s(np.array([summary.highlight(piece)]))
        start_s = min(max(centre_s - length_s / 2, piece.start_s), piece.end_s - length_s)
        parts.append((start_s, start_s + length_s))
        left_s -= length_s
    return sorted(parts)


def _pictures(summary: Summary, parts_s: list[tuple[float, float]], max_width: int) -> Iterator[UInt8Array]:
    video = summary.video
    scale = min(1.0, max_width / max(video.width, video.height))
    size = (max(round(video.width * scale), 1), max(round(video.height * scale), 1))
    timeline = summary.timeline or read_timeline(video.path)
    wanted = [_frames(timeline, *part_s) for part_s in parts_s]
    n_given = 0
    with Source(video.path) as source:
        reader, scaler = FrameReader(source, timeline, [(int(w[0]), int(w[-1])) for w in wanted]), VideoReformatter()
        for frames in wanted:
            for frame in reader.frames(int(frames[0]), int(frames[-1])):
                n_times = int(np.count_nonzero(frames == timeline.index_of(frame.pts or 0)))
                if n_times:
                    orientation = source.orientation(frame)
                    shown = picture(frame, orientation, orientation.shown_size(*size), scaler)
                    yield from [shown] * n_times
                    n_given += n_times
    if not n_given:
        raise VideoError(video.path, "none of the chosen frames can be decoded", "choose another part")


def _frames(timeline: Timeline, start_s: float, end_s: float) -> IntArray:
    """On screen in the middle of each tenth of a second."""
    n = max(round((end_s - start_s) * _PICTURES_PER_S), 1)
    times_s = start_s + (np.arange(n) + 0.5) / n * (end_s - start_s)
    return np.array([timeline.frame_at(time_s) for time_s in times_s])
