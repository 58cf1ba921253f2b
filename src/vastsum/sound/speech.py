"""Where someone speaks, and where a cut falls between words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vastsum.sound.detector import RATE, STEP, Float32Array

UInt8Array = NDArray[np.uint8]

HOP = 160  # samples, 10 ms
STEP_S, HOP_S = STEP / RATE, HOP / RATE


@dataclass(frozen=True, eq=False)
class Speech:
    """Times are seconds of the video's timeline. Two curves are kept, a byte a step."""

    voice: UInt8Array  # probability × 255 that someone speaks, for each STEP
    loudness: UInt8Array  # half decibels, for each HOP
    warnings: tuple[str, ...] = ()

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """(start_s, end_s) of each stretch of speech without a long pause."""
        return []

    def is_speech_at(self, time_s: float) -> bool:
        return False

    def pause_near(self, time_s: float, within_s: float) -> float | None:
        return None


def as_bytes(probabilities: Float32Array) -> UInt8Array:
    return np.round(probabilities * 255).astype(np.uint8)


def loudness(samples: Float32Array) -> UInt8Array:
    """Half decibels above −120 dB of full scale, for each HOP."""
    power = np.square(np.diff(samples, prepend=samples[:1])).reshape(-1, HOP).mean(axis=1)
    return np.clip(20 * np.log10(power + 1e-12) + 240, 0, 255).astype(np.uint8)
