"""The sound of chosen stretches of a video, cut to the sample."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from av.audio.frame import AudioFrame
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.container import InputContainer
from av.error import FFmpegError
from av.stream import Discard, Disposition
from numpy.typing import NDArray

from vastsum.video.source import open_container

Float32Array = NDArray[np.float32]

AAC_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000)
AAC_FRAME_SAMPLES = 1024
_FADE_S = 0.005
# Decoders need a run-up: what they give right after a seek lacks the overlap with what came before.
# Where a file's index is coarse and the seek ends too late, a longer one is tried.
_RUN_UPS_S = (Fraction(1, 4), Fraction(3), Fraction(30))
# Timestamps are rounded (to 1 ms in Matroska); only what exceeds this is a gap in the sound.
_TOLERANCE_S = 0.01


def default_audio_stream(container: InputContainer) -> AudioStream | None:
    """The stream players choose: the one marked as default, or else the first."""
    streams = [s for s in container.streams.audio if s.codec_context is not None]
    return max(streams, key=lambda s: (bool(s.disposition & Disposition.default), -s.index), default=None)


class Sound:
    """A file's sound track, opened apart from its pictures so that both can be sought on their own.

    It is given at its own rate and as mono or stereo, or as mono at `mono_rate`.
    """

    def __init__(self, path: Path, *, mono_rate: int | None = None) -> None:
        self._path = path
        self._mono_rate = mono_rate
        self._wanted_from = Fraction(0)  # what is damaged before that, in the run-up, is no loss
        self.n_damaged = 0
        self._attach()

    def _attach(self) -> None:
        self._container = open_container(self._path)
        self._stream = default_audio_stream(self._container)
        for other in self._container.streams:
            if self._stream is None or other.index != self._stream.index:
                other.discard = Discard.all

    @property
    def exists(self) -> bool:
        return self._stream is not None

    @property
    def rate(self) -> int:
        rate = self._mono_rate or (self._stream.rate if self._stream is not None else 0)
        return rate if rate in AAC_RATES else 48_000

    @property
    def layout(self) -> str:
        mono = self._mono_rate or (self._stream is not None and self._stream.channels == 1)
        return "mono" if mono else "stereo"

    def close(self) -> None:
        self._container.close()

    def losses(self) -> list[str]:
        return [f"{self.n_damaged} damaged places of its sound are silent"] if self.n_damaged else []

    def track(self, spans: list[tuple[Fraction, Fraction]]) -> Iterator[AudioFrame]:
        """Encoder-sized frames of all [start, end) spans, in seconds of the file's clock, one after another.

        Each span gets the samples from where the spans before it end to where it ends, counted from the very start,
        so that rounding never adds up. At every cut the sound fades out and in.
        """
        n_channels = 1 if self.layout == "mono" else 2
        pending = np.zeros((n_channels, 0), np.float32)
        n_given = n_planned = 0
        elapsed = Fraction(0)
        for start, end in spans:
            elapsed += end - start
            n_samples = round(elapsed * self.rate) - n_planned
            n_planned += n_samples
            for block in self._faded(start, n_samples):
                pending = np.concatenate([pending, block], axis=1)
                while pending.shape[1] >= AAC_FRAME_SAMPLES:
                    yield self._frame(pending[:, :AAC_FRAME_SAMPLES], n_given)
                    n_given += AAC_FRAME_SAMPLES
                    pending = pending[:, AAC_FRAME_SAMPLES:]
        if pending.shape[1]:
            yield self._frame(pending, n_given)

    def _frame(self, samples: Float32Array, position: int) -> AudioFrame:
        frame = AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", self.layout)
        frame.sample_rate, frame.pts, frame.time_base = self.rate, position, Fraction(1, self.rate)
        return frame

    def _faded(self, start: Fraction, n_samples: int) -> Iterator[Float32Array]:
        n_fade = max(1, round(_FADE_S * self.rate))
        position = 0
        for block in self._samples(start, n_samples):
            at = np.arange(position, position + block.shape[1])
            gain = np.clip(np.minimum(at + 1, n_samples - at) / n_fade, 0.0, 1.0)
            yield (block * gain).astype(np.float32)
            position += block.shape[1]

    def _samples(self, start: Fraction, n_samples: int) -> Iterator[Float32Array]:
        """Exactly n_samples from `start` on; silence where the file has none."""
        n_channels = 1 if self.layout == "mono" else 2
        given = 0
        for at_s, block in self._decoded_from(start):
            position = given if at_s is None else round((at_s - start) * self.rate)
            if position > given:
                gap = min(position, n_samples) - given
                yield from _silence(n_channels, gap)
                given += gap
            block = block[:, max(given - position, 0) :][:, : n_samples - given]
            if block.shape[1]:
                yield block
                given += block.shape[1]
            if given >= n_samples:
                return
        yield from _silence(n_channels, n_samples - given)

    def _decoded_from(self, start: Fraction) -> Iterator[tuple[Fraction | None, Float32Array]]:
        """Blocks of sound with the time each begins at, from a little before `start`."""
        self._wanted_from = start
        for run_up in _RUN_UPS_S:
            self._seek(start - run_up)
            blocks = self.blocks()
            first = next(blocks, None)
            if first is not None and (first[0] is None or first[0] <= start):
                break
        if first is not None:
            yield first
            yield from blocks

    def blocks(self) -> Iterator[tuple[Fraction | None, Float32Array]]:
        """Sound (channels, samples) from where the file stands, each with the time it begins at, if that is known."""
        expected: Fraction | None = None
        for frame in self._resampled():
            at_s = frame.pts * Fraction(frame.time_base) if frame.pts is not None and frame.time_base else None
            if at_s is None or (expected is not None and abs(at_s - expected) < _TOLERANCE_S):
                at_s = expected
            if at_s is not None:
                expected = at_s + Fraction(frame.samples, self.rate)
            yield at_s, np.asarray(frame.to_ndarray(), np.float32)

    def _resampled(self) -> Iterator[AudioFrame]:
        kind: tuple[str, str, int] | None = None
        resampler: AudioResampler | None = None
        for frame in self._frames():
            its_kind = (frame.format.name, frame.layout.name, frame.sample_rate)
            if its_kind != kind or resampler is None:
                yield from self._converted(resampler, None)
                resampler = AudioResampler("fltp", self.layout, self.rate)
                kind = its_kind
            yield from self._converted(resampler, frame)
        yield from self._converted(resampler, None)

    def _converted(self, resampler: AudioResampler | None, frame: AudioFrame | None) -> list[AudioFrame]:
        try:
            return resampler.resample(frame) if resampler is not None else []
        except FFmpegError:
            self.n_damaged += 1
            return []

    def _frames(self) -> Iterator[AudioFrame]:
        assert self._stream is not None
        errors_in_a_row = 0
        while errors_in_a_row <= 3:
            try:
                for packet in self._container.demux(self._stream):
                    try:
                        yield from self._stream.codec_context.decode(packet if packet.size else None)
                        errors_in_a_row = 0
                    except FFmpegError:  # a damaged packet leaves a gap, which becomes silence
                        self.n_damaged += packet.pts is None or packet.pts * packet.time_base >= self._wanted_from
                return
            except FFmpegError:
                self.n_damaged += 1
                errors_in_a_row += 1

    def _seek(self, time_s: Fraction) -> None:
        assert self._stream is not None
        try:
            time_base = self._stream.time_base or Fraction(1, self.rate)
            self._container.seek(int(time_s / time_base), stream=self._stream, backward=True)
        except FFmpegError:
            self._container.close()
            self._attach()


def _silence(n_channels: int, n_samples: int) -> Iterator[Float32Array]:
    while n_samples > 0:
        n = min(n_samples, 48_000)
        yield np.zeros((n_channels, n), np.float32)
        n_samples -= n
