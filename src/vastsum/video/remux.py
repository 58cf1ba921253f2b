"""Cut a video at key frames without encoding it anew."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from av.audio.stream import AudioStream
from av.container import OutputContainer
from av.error import FFmpegError
from av.packet import Packet
from av.stream import Discard

from vastsum.errors import VideoError
from vastsum.video.output import writing
from vastsum.video.reader import FrameRange
from vastsum.video.seek import can_follow_anything, packets_from_keyframe
from vastsum.video.sound import default_audio_stream
from vastsum.video.source import Source, VideoPacket, is_shown, open_container
from vastsum.video.timeline import Timeline

Progress = Callable[[float, float | None], None]

_FORMATS = {".mp4": "mp4", ".m4v": "mp4", ".mov": "mov", ".mkv": "matroska", ".webm": "webm"}
_VIDEO_CODECS = {
    ".mp4": {"h264", "hevc", "av1", "vp9", "mpeg4", "mpeg2video", "mpeg1video", "mjpeg"},
    ".webm": {"vp8", "vp9", "av1"},
}
_AUDIO_CODECS = {".mp4": {"aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"}, ".webm": {"opus", "vorbis"}}


def copy_suffix(path: str | os.PathLike[str]) -> str:
    """The ending of a file that can take this video's streams as they are: ".mp4", ".webm" or ".mkv"."""
    with Source(path, threads=1) as source:
        sound = default_audio_stream(source.container)
        return _fitting_suffix(source.codec, sound.codec_context.codec.canonical_name if sound else None)


def _fitting_suffix(video: str, audio: str | None) -> str:
    for suffix in (".mp4", ".webm"):
        if video in _VIDEO_CODECS[suffix] and (audio is None or audio in _AUDIO_CODECS[suffix]):
            return suffix
    return ".mkv"


def remux(
    path: Path, ranges: list[FrameRange], destination: Path, timeline: Timeline, progress: Progress | None
) -> tuple[list[FrameRange], bool, list[str]]:
    """Copy the packets that show these ranges; gives the ranges that came of it, whether there is sound, and what may
    be lost in it."""
    with Source(path, threads=1) as source, open_container(path) as container:
        sound = default_audio_stream(container)
        container_format = _container_format(source, sound, destination)
        for other in container.streams:
            if sound is None or other.index != sound.index:
                other.discard = Discard.all
        stretches = _stretches(source, timeline, ranges)
        with writing(destination, container_format) as out:
            try:
                copy = _Copy(out, source, sound, timeline, stretches, progress)
            except ValueError:
                raise _misfit(source, source.codec, container_format, "leave out --copy") from None
            copy.run()
        warnings = _dependence(source, timeline, stretches) + copy.losses()
    return [stretch.frames for stretch in stretches], sound is not None, warnings


def _dependence(source: Source, timeline: Timeline, stretches: list[_Stretch]) -> list[str]:
    """Key frames of open groups lean on pictures before them, which a copy leaves out."""
    if source.codec != "h264":
        return []
    starts = [stretch.frames[0] for stretch in stretches]
    n_leaning = sum(start > 0 and not can_follow_anything(source, timeline, start) for start in starts)
    if not n_leaning:
        return []
    return [f"after {n_leaning} of its cuts players may skip frames, which need what was left out; do without --copy"]


def _container_format(source: Source, sound: AudioStream | None, destination: Path) -> str:
    if source.untimed:
        raise VideoError(source.path, "cannot be copied: it holds no frame times", "leave out --copy")
    audio = sound.codec_context.codec.canonical_name if sound else None
    suffix = destination.suffix.lower()
    family = ".mp4" if suffix in {".m4v", ".mov"} or suffix not in _FORMATS else suffix
    misfits = []
    if source.codec not in _VIDEO_CODECS.get(family, {source.codec}):
        misfits.append(source.codec)
    if audio is not None and audio not in _AUDIO_CODECS.get(family, {audio}):
        misfits.append(audio)
    if misfits:
        other = destination.with_suffix(_fitting_suffix(source.codec, audio)).name
        raise _misfit(source, " and ".join(misfits), family[1:], f"name the output {other}, or leave out --copy")
    return _FORMATS.get(suffix, "mp4")


def _misfit(source: Source, codec: str, container_format: str, remedy: str) -> VideoError:
    return VideoError(source.path, f"{codec} cannot be copied into {container_format}", remedy)


@dataclass(frozen=True)
class _Stretch:
    """A run of packets from a key frame on, which shows a range of frames without a hole."""

    frames: FrameRange
    first_pts: int
    end_pts: int
    pts: tuple[int, ...]  # of its packets, in decoding order

    @property
    def delay(self) -> int:
        """By how much decoding must run ahead of showing."""
        return max(shown - pts for shown, pts in zip(sorted(self.pts), self.pts, strict=True))


def _stretches(source: Source, timeline: Timeline, ranges: list[FrameRange]) -> list[_Stretch]:
    stretches: list[_Stretch] = []
    for first, last in ranges:
        first = timeline.keyframe_before(first)
        while stretches and first <= stretches[-1].frames[1] + 1:
            first, last = stretches[-1].frames[0], max(last, stretches[-1].frames[1])
            stretches.pop()
        stretches.append(_stretch(source, timeline, first, last))
    return stretches


def _stretch(source: Source, timeline: Timeline, first: int, last: int) -> _Stretch:
    """Take packets until `last` is among them and none is missing between those that are shown."""
    pts: list[int] = []
    n_shown = end = 0
    for packet in _packets_from(source, timeline, first):
        assert packet.pts is not None
        pts.append(packet.pts)
        if is_shown(packet):
            n_shown += 1
            end = max(end, timeline.index_of(packet.pts))
        if end >= last and n_shown == end - first + 1:
            break
    if not pts:
        raise VideoError(source.path, "its key frames cannot be found", "leave out --copy")
    return _Stretch((first, end), pts[0], timeline.pts_after(end), tuple(pts))


def _packets_from(source: Source, timeline: Timeline, keyframe: int) -> Iterator[VideoPacket]:
    """Packets from a key frame on, without those that need what came before it."""
    start_pts: int | None = None
    for packet in packets_from_keyframe(source, timeline, keyframe):
        if start_pts is None and packet.is_keyframe:
            start_pts = packet.pts
        if start_pts is not None and packet.pts is not None and packet.pts >= start_pts:
            yield packet


class _Copy:
    """Moves packets to where they belong in the output."""

    def __init__(
        self,
        out: OutputContainer,
        source: Source,
        sound: AudioStream | None,
        timeline: Timeline,
        stretches: list[_Stretch],
        progress: Progress | None,
    ) -> None:
        self._out = out
        self._source = source
        self._sound = sound
        self._timeline = timeline
        self._stretches = stretches
        self._progress = progress
        self._video_out = out.add_stream_from_template(source.stream, opaque=True)
        if source.codec == "hevc" and out.format.name in {"mp4", "mov"}:
            self._video_out.codec_context.codec_tag = "hvc1"  # the only name Apple's players know it by
        self._sound_out = out.add_stream_from_template(sound, opaque=True) if sound else None
        self._delay = max(stretch.delay for stretch in stretches)
        self._last_dts = -(2**62)
        self._sound_end: Fraction | None = None  # when the sound written so far ends
        self._n_silent = 0

    def run(self) -> None:
        time_base = self._timeline.time_base
        total = sum(s.end_pts - s.first_pts for s in self._stretches)
        elapsed = 0
        for stretch in self._stretches:
            sound = self._sound_packets(stretch, elapsed * time_base)
            packets = _packets_from(self._source, self._timeline, stretch.frames[0])
            for shown_pts, packet in zip(sorted(stretch.pts), packets, strict=False):
                assert packet.pts is not None
                now = shown_pts - stretch.first_pts + elapsed
                self._copy_sound_until(sound, now * time_base)
                packet.pts += elapsed - stretch.first_pts
                packet.dts = self._last_dts = max(now - self._delay, self._last_dts + 1)
                packet.stream = self._video_out
                self._out.mux(packet)
                if self._progress:
                    self._progress(float(now * time_base), float(total * time_base))
            self._copy_sound_until(sound, None)
            elapsed += stretch.end_pts - stretch.first_pts

    def losses(self) -> list[str]:
        n, n_all = self._n_silent, len(self._stretches)
        return [f"in {n} of its {n_all} parts the sound could not be read to the end"] if n else []

    def _copy_sound_until(self, packets: Iterator[Packet[AudioStream]], until: Fraction | None) -> None:
        for packet in packets:
            time = (packet.pts or 0) * packet.time_base
            packet.stream = self._sound_out  # type: ignore[assignment]
            self._out.mux(packet)
            if until is not None and time > until:
                return

    def _sound_packets(self, stretch: _Stretch, elapsed: Fraction) -> Iterator[Packet[Any]]:
        """The packets of sound that belong to a stretch, timed for the output."""
        if self._sound is None or self._sound.time_base is None:
            return
        unit = self._sound.time_base
        start, end = (pts * self._timeline.time_base for pts in (stretch.first_pts, stretch.end_pts))
        container: Any = self._sound.container
        try:
            container.seek(int((start - 1) / unit), stream=self._sound, backward=True)
            for packet in container.demux(self._sound):
                if packet.pts is None or not packet.size:
                    continue
                middle = (packet.pts + (packet.duration or 0) / 2) * unit
                if middle >= end:
                    return
                time = packet.pts * unit - start + elapsed
                # Two packets must not sound at once where two stretches meet.
                if middle < start or (self._sound_end is not None and time < self._sound_end - unit):
                    continue
                packet.pts = packet.dts = max(round(time / unit), 0)
                self._sound_end = time + (packet.duration or 0) * unit
                yield packet
        except FFmpegError:
            self._n_silent += 1  # the rest of this stretch
