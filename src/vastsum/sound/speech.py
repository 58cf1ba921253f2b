"""Where someone speaks, and where a cut falls between words."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter1d

from vastsum.sound.detector import RATE, STEP, Float32Array

UInt8Array = NDArray[np.uint8]

HOP = 160  # samples, 10 ms
STEP_S, HOP_S = STEP / RATE, HOP / RATE
# The detector is late by a step, measured on words whose times are known.
_LAG_STEPS = 1
_SPOKEN = 128  # of 255
_SHORTEST_SPEECH_S = 0.25
_LONGEST_PAUSE_S, _LONGEST_BESIDE_SHORT_S = 0.09, 0.2  # within a stretch of speech; beside a single short word
_REST_S = 0.2  # a summary lets speech fade for so long
_MARGIN_S = 0.1  # who stops within this of a word is not clear of it
# How unfit a place is to cut, in decibels: how loud it is around, how loud further around, and how likely speech. The
# weights were chosen on generated speech, clean and with music or noise; benchmarks/pauses.py measures on other speech.
_AROUND_HOPS, _FURTHER_HOPS = 11, 25
_FURTHER_WEIGHT, _VOICE_DB, _DISTANCE_DB_PER_S = 0.7, 15.0, 2.0
# A place is a pause if the detector hears none, or if it is this much quieter than the speech around.
_PAUSE_VOICE, _PAUSE_DB, _NEIGHBOURS_S = 0.8, 15.0, 2.0


@dataclass(frozen=True, eq=False)
class Speech:
    """What was heard in a video. Times are seconds of its timeline; what is kept is a byte a step of two curves."""

    voice: UInt8Array  # the probability × 255 that someone speaks, for each STEP
    loudness: UInt8Array  # as `loudness` gives it, for each HOP
    warnings: tuple[str, ...] = ()

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """(start_s, end_s) of each stretch of speech; pauses shorter than 0.1 s are part of it, and short words."""
        spoken = self.voice >= _SPOKEN
        edges = np.flatnonzero(np.diff(spoken, prepend=False, append=False)).reshape(-1, 2)
        spans: list[tuple[float, float]] = []
        for start_s, end_s in (np.maximum(edges - _LAG_STEPS, 0) * STEP_S).tolist():
            if spans and start_s - spans[-1][1] < _longest_pause_s(spans[-1], (start_s, end_s)):
                spans[-1] = spans[-1][0], end_s
            else:
                spans.append((start_s, end_s))
        return [(start_s, end_s) for start_s, end_s in spans if end_s - start_s >= _SHORTEST_SPEECH_S]

    @property
    def rests(self) -> list[float]:
        """Times just after and just before speech: in the middle between two stretches that are close together."""
        if not self.spans:
            return []
        edges = [-np.inf, *(edge for span in self.spans for edge in span), np.inf]
        silences = zip(edges[::2], edges[1::2], strict=True)
        both = [(min(a + _REST_S, (a + b) / 2), max(b - _REST_S, (a + b) / 2)) for a, b in silences]
        return [rest_s for rests in both for rest_s in rests if 0 < rest_s < np.inf]

    def pause_near(self, time_s: float, within_s: float) -> float | None:
        """The best time to cut, at most `within_s` away, so that no word is broken: the quietest and clearest pause.

        The time itself where nobody speaks, and None where there is no pause within reach.
        """
        if not self._is_speech_in(time_s - _MARGIN_S, time_s + _MARGIN_S):
            return time_s
        levels, voice = self._levels_and_voice
        first = max(int(np.ceil((time_s - within_s) / HOP_S - 0.5)), 0)
        last = min(int(np.floor((time_s + within_s) / HOP_S - 0.5)), len(self.loudness) - 1)
        if first > last:
            return None
        hops = np.arange(first, last + 1)
        distances_s = np.abs((hops + 0.5) * HOP_S - time_s)
        unfit = self._unfit[first : last + 1] + _DISTANCE_DB_PER_S * distances_s
        best = int(hops[np.argmin(unfit)])
        reach = round(_NEIGHBOURS_S / HOP_S)
        loud = np.quantile(levels[max(best - reach, 0) : best + reach], 0.9)
        is_pause = voice[best] < _PAUSE_VOICE or levels[best] <= loud - _PAUSE_DB
        return (best + 0.5) * HOP_S if is_pause else None

    def _is_speech_in(self, start_s: float, end_s: float) -> bool:
        """Whether any span has something of [start_s, end_s]."""
        next_one = bisect_left(self.spans, start_s, key=lambda span: span[1])
        return next_one < len(self.spans) and self.spans[next_one][0] <= end_s

    @cached_property
    def _levels_and_voice(self) -> tuple[Float32Array, Float32Array]:
        """For each hop: decibels of what is around it, and the probability of speech there."""
        times = (np.arange(len(self.loudness)) + 0.5) * HOP_S
        heard_at = (np.arange(len(self.voice)) + 0.5 - _LAG_STEPS) * STEP_S
        voice = np.interp(times, heard_at, self.voice / 255).astype(np.float32)
        return _level(self.loudness, _AROUND_HOPS), uniform_filter1d(voice, _AROUND_HOPS)

    @cached_property
    def _unfit(self) -> Float32Array:
        levels, voice = self._levels_and_voice
        return levels + _FURTHER_WEIGHT * _level(self.loudness, _FURTHER_HOPS) + _VOICE_DB * voice


def _longest_pause_s(*spans: tuple[float, float]) -> float:
    shortest_s = min(end_s - start_s for start_s, end_s in spans)
    return _LONGEST_BESIDE_SHORT_S if shortest_s < _SHORTEST_SPEECH_S else _LONGEST_PAUSE_S


def loudness(samples: Float32Array) -> UInt8Array:
    """For each HOP, in half decibels from −120 dB of full scale.

    Of the difference of neighbouring samples: it favours high notes, which consonants have and most music has less of.
    """
    power = np.square(np.diff(samples, prepend=samples[:1])).reshape(-1, HOP).mean(axis=1)
    return np.clip(20 * np.log10(power + 1e-12) + 240, 0, 255).astype(np.uint8)


def _level(loudness: UInt8Array, n_hops: int) -> Float32Array:
    """Decibels (from −120) of the mean power of `n_hops` around each hop."""
    power = np.exp(loudness * np.float32(np.log(10) / 20)).astype(np.float32)
    return 10 * np.log10(np.maximum(uniform_filter1d(power, n_hops), 1))
