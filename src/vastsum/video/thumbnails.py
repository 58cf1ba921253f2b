"""Single pictures from a video, for thumbnails."""

from __future__ import annotations

import os
from collections.abc import Sequence

from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from vastsum.errors import VideoError
from vastsum.video.probing import first_frame, shown_size
from vastsum.video.source import Source, UInt8Array
from vastsum.video.timeline import TimelineBuilder
from vastsum.video.upright import picture


def grab(
    path: str | os.PathLike[str],
    times_s: Sequence[float],
    *,
    max_size: tuple[int, int] = (320, 320),
    nearby_s: float = 0.0,
    threads: int = 0,
) -> list[UInt8Array]:
    """The pictures on screen at these times (0 is the first frame), in the order asked for.

    Each fits into `max_size` (width, height), upright and in its true aspect ratio, and is never enlarged. Times
    outside the video give its first or last picture. For speed, frames that no other depends on are passed over: the
    picture may be a frame or two early. Where a key frame is at most `nearby_s` away it is taken instead, which is
    far cheaper. Where nothing can be decoded near a time, the picture before stands in.
    """
    with Source(path, threads=threads) as source:
        start_pts = _start_pts(source)
        frame = first_frame(source)
        scaler = VideoReformatter()
        last = _thumbnail(source, frame, max_size, scaler)
        grabbed: dict[float, UInt8Array] = {}
        for time_s in sorted(set(times_s)):
            pts = start_pts + int(max(time_s, 0) / source.time_base)
            found = _keyframe_near(source, pts, int(nearby_s / source.time_base)) or _frame_at(source, pts)
            if found is not None:
                last = _thumbnail(source, found, max_size, scaler)
            grabbed[time_s] = last
        return [grabbed[time_s] for time_s in times_s]


def _start_pts(source: Source) -> int:
    builder = TimelineBuilder(source)
    for packet in source.packets():
        if any(True for _ in builder.add(packet)):
            break
    source.rewind()
    return builder.first_pts


def _thumbnail(source: Source, frame: VideoFrame, max_size: tuple[int, int], scaler: VideoReformatter) -> UInt8Array:
    try:
        return picture(frame, source.orientation(frame), _fitting(shown_size(source, frame), max_size), scaler)
    except FFmpegError as error:
        problem = f"its frames cannot be made into pictures ({error.strerror or error})"
        raise VideoError(source.path, problem, "check that the file plays elsewhere") from error


def _fitting(size: tuple[int, int], max_size: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, max_size[0] / size[0], max_size[1] / size[1])
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _keyframe_near(source: Source, pts: int, reach: int) -> VideoFrame | None:
    if reach <= 0 or source.untimed:
        return None
    source.context.skip_frame = "DEFAULT"
    for backward in (True, False):
        source.seek(pts, backward=backward)
        packet = next(source.packets(), None)
        if packet is not None and packet.is_keyframe and abs((packet.pts or 0) - pts) <= reach:
            frames = [*source.decode(packet), *source.decode(None)]
            if frames:
                return frames[0]
    return None


def _frame_at(source: Source, pts: int) -> VideoFrame | None:
    source.seek(pts)
    found = _decode_up_to(source, pts)
    if found is None or (found.pts or 0) > pts:
        source.rewind()  # the seek went too far, or nowhere
        found = _decode_up_to(source, pts) or found
    return found


def _decode_up_to(source: Source, pts: int) -> VideoFrame | None:
    """The last decoded frame shown at or before `pts`, or else the first after it."""
    found: VideoFrame | None = None
    source.context.skip_frame = "DEFAULT" if source.untimed else "NONREF"
    for packet in source.packets():
        frames = source.decode(packet)
        for frame in frames:
            if found is None or (frame.pts or 0) <= pts:
                found = frame
        if (packet.dts is not None and packet.dts > pts) or (frames and (frames[-1].pts or 0) > pts):
            break
    for frame in source.decode(None):
        if found is None or (frame.pts or 0) <= pts:
            found = frame
    return found
