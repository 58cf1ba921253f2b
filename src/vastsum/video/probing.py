"""What a video file is, before anything is done with it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from av.video.frame import VideoFrame

from vastsum.errors import VideoError
from vastsum.video.source import Source, moving_streams
from vastsum.video.timeline import promised_duration_s


@dataclass(frozen=True)
class VideoInfo:
    """A video as it is shown. `fps` and `duration_s` are what the header says: good for a progress bar, no more."""

    path: Path
    width: int  # after rotation and sample aspect ratio
    height: int
    fps: float
    duration_s: float | None
    rotation: int  # clockwise degrees the stored picture is turned by to be shown
    codec: str
    container: str
    n_audio_streams: int
    warnings: tuple[str, ...] = ()

    @property
    def has_audio(self) -> bool:
        return self.n_audio_streams > 0


def probe(path: str | os.PathLike[str]) -> VideoInfo:
    """Open a video and decode its first frame; raises VideoError when there is none to be had."""
    with Source(path, threads=1) as source:
        return describe(source, first_frame(source))


def first_frame(source: Source) -> VideoFrame:
    """The first frame that can be decoded, however far into a damaged file that is."""
    for packet in source.packets():
        frames = source.decode(packet)
        if frames:
            return frames[0]
    frames = source.decode(None)
    if not frames:
        raise VideoError(source.path, "none of its frames can be decoded", "check that the file plays elsewhere")
    return frames[0]


def describe(source: Source, frame: VideoFrame) -> VideoInfo:
    container = source.container
    width, height = shown_size(source, frame)
    others = [s for s in moving_streams(container) if s.index != source.stream.index]
    return VideoInfo(
        path=source.path,
        width=width,
        height=height,
        fps=float(source.rate),
        duration_s=promised_duration_s(source),
        rotation=source.orientation(frame).rotation,
        codec=source.codec,
        container=container.format.name,
        n_audio_streams=sum(s.codec_context is not None for s in container.streams.audio),
        warnings=(f"the largest of {len(others) + 1} video streams is used",) if others else (),
    )


def shown_size(source: Source, frame: VideoFrame) -> tuple[int, int]:
    """Width and height on a screen with square pixels, the picture turned upright."""
    aspect = pixel_aspect(source)
    return source.orientation(frame).shown_size(max(1, round(frame.width * aspect)), frame.height)


def pixel_aspect(source: Source) -> Fraction:
    """Width over height of one stored pixel."""
    aspect = source.stream.sample_aspect_ratio
    return Fraction(aspect) if aspect else Fraction(1)
