"""Listening to a video's sound track from beginning to end, in little memory."""

from __future__ import annotations

import os
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from threading import Event

import numpy as np

from vastsum.sound.detector import RATE, STEP, Float32Array, VoiceDetector
from vastsum.sound.speech import HOP, Speech, UInt8Array, loudness
from vastsum.video.sound import Sound
from vastsum.video.source import Source
from vastsum.video.timeline import TimelineBuilder

_PIECE = 320 * STEP  # 10.24 s, and a whole number of hops
_LONGEST = 100 * 3600 * RATE  # whatever claims to come later has damaged timestamps


def find_speech(path: str | os.PathLike[str], *, stop: Event | None = None) -> Speech:
    """Where people speak in a video, on its timeline: time 0 is its first frame.

    Decodes the sound track that players choose, in one thread, and keeps about 130 bytes for each second of it. Once
    `stop` is set, it returns what it has heard until then. A video without sound has no speech; a damaged track has a
    warning. Raises VideoError for a file that is no readable video.
    """
    start_s = _first_frame_s(path)
    with closing(Sound(Path(path), mono_rate=RATE)) as sound:
        ear = _Ear()
        for at_s, block in sound.blocks() if sound.exists else ():
            if stop is not None and stop.is_set():
                break
            ear.take(block[0], None if at_s is None else round((at_s - start_s) * RATE))
        return ear.speech(sound.n_damaged)


def _first_frame_s(path: str | os.PathLike[str]) -> Fraction:
    """When the first frame is shown, on the file's own clock."""
    with Source(path, threads=1) as source:
        builder = TimelineBuilder(source)
        for packet in source.packets():
            for _, pts in builder.add(packet):
                return pts * source.time_base
        return builder.first_pts * source.time_base


class _Ear:
    """Puts blocks of sound on the timeline, and keeps of them what Speech is made of."""

    def __init__(self) -> None:
        self._detector = VoiceDetector()
        self._voice: list[UInt8Array] = []
        self._loudness: list[UInt8Array] = []
        self._piece = np.zeros(_PIECE, np.float32)
        self._n = 0  # samples until now, those in the piece among them

    def take(self, samples: Float32Array, position: int | None) -> None:
        """`position` is the sample of the timeline where these begin; None is right after those before."""
        position = self._n if position is None else position
        if position + len(samples) > _LONGEST:
            return
        self._skip_to(position)
        samples = samples[max(self._n - position, 0) :]
        while len(samples):
            at = self._n % _PIECE
            some = samples[: _PIECE - at]
            self._piece[at : at + len(some)] = some
            self._n += len(some)
            samples = samples[len(some) :]
            if self._n % _PIECE == 0:
                self._hear()

    def _skip_to(self, position: int) -> None:
        """Silence up to there; what is silent for whole pieces is not listened to."""
        if self._n % _PIECE and position // _PIECE > self._n // _PIECE:
            self._n += -self._n % _PIECE
            self._hear()
        n_pieces = (position - self._n) // _PIECE
        if n_pieces > 0:
            self._voice.append(np.zeros(n_pieces * _PIECE // STEP, np.uint8))
            self._loudness.append(np.zeros(n_pieces * _PIECE // HOP, np.uint8))
            self._detector.forget()
            self._n += n_pieces * _PIECE
        self._n = max(self._n, position)  # the piece is silent where nothing was put

    def _hear(self) -> None:
        piece = np.clip(np.nan_to_num(self._piece), -1, 1)  # damaged sound of floats may hold anything
        self._voice.append(np.round(self._detector.hear(piece) * 255).astype(np.uint8))
        self._loudness.append(loudness(piece))
        self._piece[:] = 0

    def speech(self, n_damaged: int) -> Speech:
        n_voice, n_loudness = -(-self._n // STEP), -(-self._n // HOP)
        if self._n % _PIECE:
            self._hear()
        warnings = (f"{n_damaged} damaged places of its sound were not searched for speech",) if n_damaged else ()
        return Speech(_joined(self._voice)[:n_voice], _joined(self._loudness)[:n_loudness], warnings)


def _joined(parts: list[UInt8Array]) -> UInt8Array:
    return np.concatenate([np.zeros(0, np.uint8), *parts])
