"""The edit list that all writers for editing programs share: pieces in whole frames, and the path of the video."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np

from vastsum.errors import VideoError
from vastsum.export.source import printable, shown_name
from vastsum.export.timecode import FrameClock
from vastsum.selection.chance import in_words
from vastsum.summary import Summary, SummarySegment
from vastsum.video.sound import default_audio_stream
from vastsum.video.source import Source


@dataclass(frozen=True)
class Cut:
    """Frames `start` … `stop` − 1 of the video, which begin at frame `record` of the summary."""

    start: int
    stop: int
    record: int
    piece: SummarySegment

    @property
    def n_frames(self) -> int:
        return self.stop - self.start

    @property
    def label(self) -> str:
        """What a marker says."""
        return f"{in_words(self.piece.chance)} ({self.piece.chance:.0%})"


@dataclass(frozen=True)
class Recorded:
    """What a video's own streams say that a summary does not store."""

    n_channels: int = 2  # of its sound; 0 where it is silent
    audio_rate: int = 48_000
    timecode: str = ""  # of the first frame

    @classmethod
    def of(cls, path: Path) -> Recorded:
        """If the video is missing, assume that it has sound, as most have."""
        try:
            with Source(path, threads=1) as source:
                sound = default_audio_stream(source.container)
                holders = [*source.container.streams, source.container]
                timecode = next((h.metadata["timecode"] for h in holders if "timecode" in h.metadata), "")
                if sound is None:
                    return cls(0, 0, timecode)
                return cls(sound.codec_context.channels, sound.codec_context.sample_rate, timecode)
        except VideoError:
            return cls()


@dataclass(frozen=True)
class CutList:
    """Source time codes count from the video's own (`first` is its first frame's number), or else from 0.

    At 29.97 and 59.94 frames a second they are drop-frame unless the video's own are not.
    """

    name: str
    path: Path  # absolute, or relative to the file that is written
    size: tuple[int, int]
    clock: FrameClock
    n_frames: int
    first: int
    drop_frame: bool
    n_channels: int
    audio_rate: int
    cuts: tuple[Cut, ...]
    note: str  # on its frame rate, where there is anything to be said

    @classmethod
    def of(cls, summary: Summary, file: Path, *, relative_media: bool = False) -> CutList:
        video, clock, recorded = summary.video, FrameClock.of(summary), Recorded.of(summary.video.path)
        first = clock.frame_of(recorded.timecode) if clock.even else None
        return cls(
            name=shown_name(summary),
            path=_named(video.path, file, relative=relative_media),
            size=(video.width, video.height),
            clock=clock,
            n_frames=clock.n_frames(summary),
            first=first or 0,
            drop_frame=clock.drop_frame and (first is None or ";" in recorded.timecode),
            n_channels=recorded.n_channels,
            audio_rate=recorded.audio_rate,
            cuts=tuple(_cuts(summary, clock)),
            note=_note(summary, clock),
        )

    @property
    def title(self) -> str:
        return f"Summary of {self.name}"

    @property
    def duration(self) -> int:
        """Frames of the summary."""
        return sum(cut.n_frames for cut in self.cuts)

    @property
    def url(self) -> str:
        return self.path.as_uri() if self.path.is_absolute() else quote(os.fsencode(self.path.as_posix()))

    @property
    def shown_path(self) -> str:
        """For formats that hold paths, in characters that every text file can hold."""
        return printable(self.path.as_posix())

    @property
    def notes(self) -> list[str]:
        return [self.note] if self.note else []

    def timecode(self, frame: int) -> str:
        return self.clock.timecode(frame, drop_frame=self.drop_frame)


def _cuts(summary: Summary, clock: FrameClock) -> Iterator[Cut]:
    record = 0
    lasts_s = summary.times_s(np.array([piece.end_frame for piece in summary.pieces]))
    for piece, last_s in zip(summary.pieces, lasts_s.tolist(), strict=True):
        start, stop = clock.span(piece, last_s)
        yield Cut(start, stop, record, piece)
        record += stop - start


def _named(path: Path, file: Path, *, relative: bool) -> Path:
    """The video's path as a file holds it."""
    if not path.is_absolute():  # the file must not reveal where the video is stored
        return path
    path = path.parent.resolve() / path.name  # other programs may not resolve ".." and links as we do
    if relative:
        with suppress(ValueError):  # on another drive of Windows
            return Path(os.path.relpath(path, file.absolute().parent.resolve()))
    return path


def _note(summary: Summary, clock: FrameClock) -> str:
    if clock.even:
        return ""
    counted = f"files for editing programs use {float(clock.rate):.3f} a second, with cuts inside each piece"
    return f"its frames come at uneven or unusual times, {summary.video.fps:.3f} a second on average: {counted}"
