"""How each pick stands in its own video: a few numbers that mean the same in every video.

Features say what is seen, which tells little about the next person's video. What carries over is how a moment compares
with the rest of its video: how much changes, how it differs from its surroundings, how rare it is, where it lies.

Scales are in seconds, so the sampling rate does not matter. Everything that compares picks with picks uses at most
`MAX_REFERENCES` of them, evenly spread: time and memory grow with the length of the video, not with its square.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vastsum.types import FloatArray

Float32 = NDArray[np.float32]

STEP_S = 0.5  # the usual time between two picks
GAP_S = 5.0  # picks nearer than this show the same moment
N_MATCHES = 5
MAX_REFERENCES = 2048
BLOCK = 2048  # picks compared at a time
ROUNDING = 4e-6  # two unit vectors whose squared distance is less are the same picture
SMALL_BLOCK = 128  # picks smoothed at a time
WEIGHT = 0.2  # of a channel beside a feature vector of length one


@dataclass(frozen=True, eq=False)
class _Video:
    """Unit feature vectors and when they were seen; what several channels need is computed once."""

    z: Float32  # (T, D), each row of length one
    times_s: FloatArray  # (T,)

    @property
    def n_picks(self) -> int:
        return len(self.z)

    @cached_property
    def spacing_s(self) -> float:
        return float(np.median(np.diff(self.times_s))) if self.n_picks > 1 else STEP_S

    def picks_in(self, seconds: float) -> float:
        return seconds / self.spacing_s

    @cached_property
    def mean(self) -> Float32:
        return self.z.mean(axis=0, dtype=np.float64).astype(np.float32)  # (D,)

    def centred(self, which: slice | NDArray[np.int64]) -> Float32:
        """Zc: how these picks differ from the video's mean, as directions (n, D)."""
        return unit_length(self.z[which] - self.mean)

    @cached_property
    def references(self) -> NDArray[np.int64]:
        return np.linspace(0, self.n_picks - 1, min(self.n_picks, MAX_REFERENCES)).round().astype(np.int64)  # (R,)

    @cached_property
    def mean_squared_distance(self) -> float:
        """Of two picks of the video."""
        return max(2.0 * (1.0 - float(self.mean.astype(np.float64) @ self.mean)), 1e-6)

    def blocks(self) -> Iterator[slice]:
        return (slice(start, start + BLOCK) for start in range(0, self.n_picks, BLOCK))

    @cached_property
    def change(self) -> FloatArray:
        """‖Z_t − Z_{t−1}‖, the earlier pick half a second before; the first picks repeat what follows them."""
        lag = min(max(round(self.picks_in(STEP_S)), 1), max(self.n_picks - 1, 0))
        if lag == 0:
            return np.zeros(self.n_picks)
        found = np.concatenate([np.linalg.norm(self.z[lag:][b] - self.z[:-lag][b], axis=1) for b in self.blocks()])
        return np.concatenate([np.repeat(found[:1], lag), found])  # (T,)

    @cached_property
    def matches(self) -> tuple[FloatArray, FloatArray]:
        """Likeness (T,) to the best matches at any time, and to the best one before; both more than GAP_S away."""
        best, past = np.zeros(self.n_picks), np.full(self.n_picks, -1.0)
        reference_times, references = self.times_s[self.references], self.centred(self.references)
        for b in self.blocks():
            likeness = self.centred(b) @ references.T  # (b, R)
            earlier = self.times_s[b, None] - reference_times
            likeness[np.abs(earlier) <= GAP_S] = -np.inf
            top = -np.partition(-likeness, min(N_MATCHES, likeness.shape[1]) - 1, axis=1)[:, :N_MATCHES]
            real = np.isfinite(top)
            n_real = real.sum(axis=1)
            best[b] = np.divide(np.where(real, top, 0).sum(axis=1), n_real, out=np.zeros(len(top)), where=n_real > 0)
            past[b] = np.maximum(np.where(earlier > 0, likeness, -1.0).max(axis=1), -1.0)
        return best, past

    def smoothed(self, x: FloatArray, seconds: float) -> FloatArray:
        """A Gaussian over time."""
        return np.concatenate([weights @ x[near] for weights, near in self._gaussians(seconds)])

    def contrast(self, seconds: float) -> FloatArray:
        """‖G_s Z − G_3s Z‖: how a moment differs from what surrounds it."""
        found = []
        for (wide, near), (narrow, inner) in zip(self._gaussians(3 * seconds), self._gaussians(seconds), strict=True):
            wide[:, inner.start - near.start : inner.stop - near.start] -= narrow
            found.append(np.linalg.norm(wide.astype(np.float32) @ self.z[near], axis=1))
        return np.concatenate(found)

    def _gaussians(self, seconds: float) -> Iterator[tuple[FloatArray, slice]]:
        """Block by block, how much each pick nearby (within four deviations) counts (b, n), and which these are."""
        reach = 4 * seconds
        for start in range(0, self.n_picks, SMALL_BLOCK):
            here = self.times_s[start : start + SMALL_BLOCK]
            first, after = np.searchsorted(self.times_s, [here[0] - reach, here[-1] + reach + 1e-9])
            near = slice(int(first), int(after))
            weights = np.exp(-0.5 * ((here[:, None] - self.times_s[near]) / seconds) ** 2)
            yield weights / weights.sum(axis=1, keepdims=True), near


def change(video: _Video) -> FloatArray:
    """How much the picture changes here: action, and movement of the camera."""
    return video.change


def change_1s(video: _Video) -> FloatArray:
    """The same around a second: one cut or flash counts less."""
    return video.smoothed(video.change, 1.0)


def change_3s(video: _Video) -> FloatArray:
    """The same over a whole action."""
    return video.smoothed(video.change, 3.0)


def typical(video: _Video) -> FloatArray:
    """Mean likeness to all other picks: what fills the video."""
    total = sum(video.centred(b).sum(axis=0, dtype=np.float64) for b in video.blocks())
    return np.concatenate([video.centred(b) @ (total / video.n_picks) for b in video.blocks()])


def place(video: _Video) -> FloatArray:
    """From beginning to end."""
    return (video.times_s - video.times_s[0]) / max(float(np.ptp(video.times_s)), 1e-9)


def off_centre(video: _Video) -> FloatArray:
    """Squared distance from the middle: titles and farewells lie at the ends."""
    return (place(video) - 0.5) ** 2


def contrast_half_s(video: _Video) -> FloatArray:
    """How a moment differs from the few seconds around it: a flash, a gesture."""
    return video.contrast(0.5)


def contrast_1_5s(video: _Video) -> FloatArray:
    """The same for an action of a few seconds."""
    return video.contrast(1.5)


def contrast_4s(video: _Video) -> FloatArray:
    """The same for a scene."""
    return video.contrast(4.0)


def recurrence(video: _Video) -> FloatArray:
    """Likeness to its best matches elsewhere in the video: what comes again can be left out once."""
    return video.matches[0]


def seen_before(video: _Video) -> FloatArray:
    """Likeness to the best match in the past: what is new is shown for the first time."""
    return video.matches[1]


def distance_to_mean(video: _Video) -> FloatArray:
    """How unlike the video as a whole."""
    return np.concatenate([np.linalg.norm(video.z[b] - video.mean, axis=1) for b in video.blocks()])


def _density(video: _Video, sharpness: float) -> FloatArray:
    """Log of the mean over all picks, itself among them, of how near they are; references stand for all others."""
    scale = sharpness / video.mean_squared_distance
    is_reference = np.isin(np.arange(video.n_picks), video.references)
    found = []
    for b in video.blocks():
        apart = 2.0 - 2.0 * (video.z[b] @ video.z[video.references].T)  # (b, R)
        apart[apart < ROUNDING] = 0.0
        near = np.exp(-scale * apart).sum(axis=1, dtype=np.float64) - is_reference[b]
        others = (video.n_picks - 1) / np.maximum(len(video.references) - is_reference[b], 1)
        found.append(np.log((1.0 + near * others) / video.n_picks))
    return np.concatenate(found)


def commonness(video: _Video) -> FloatArray:
    """Log density of the video's picks around this one: its kind of scene is shown long or often."""
    return _density(video, 4.0)


def commonness_near(video: _Video) -> FloatArray:
    """The same of nearly equal pictures: a still camera."""
    return _density(video, 16.0)


def unlike_before(video: _Video) -> FloatArray:
    """How far from the mean of the 20 seconds before: something new begins."""
    n = max(round(video.picks_in(20.0)), 1)
    found = []
    for b in video.blocks():
        start = max(b.start - n, 0)
        z = video.z[start : b.stop].astype(np.float64)
        total = np.concatenate([np.zeros((1, z.shape[1])), np.cumsum(z, axis=0)])
        here = np.arange(b.start, min(b.stop, video.n_picks)) - start
        first = np.maximum(here - n, 0)
        before = (total[here] - total[first]) / np.maximum(here - first, 1)[:, None]
        distance = np.linalg.norm(z[here] - before, axis=1)
        found.append(np.where(here > first, distance, 0.0))
    return np.concatenate(found)


CHANNELS: tuple[Callable[[_Video], FloatArray], ...] = (
    change, change_1s, change_3s, typical, place, off_centre, contrast_half_s, contrast_1_5s, contrast_4s,
    recurrence, seen_before, distance_to_mean, commonness, commonness_near, unlike_before,
)  # fmt: skip
NAMES = tuple(channel.__name__ for channel in CHANNELS)
N_CHANNELS = len(CHANNELS)


def relative_channels(features: FloatArray, times_s: FloatArray) -> Float32:
    """Features (T, D) of a video's picks and when they were seen (T,) → (T, C), each of mean 0 and deviation 1.

    A channel in which all picks are alike is zero.
    """
    return _channels(_Video(unit_length(features), np.asarray(times_s, np.float64)))


def with_channels(features: FloatArray, times_s: FloatArray) -> Float32:
    """Unit features about their mean over the video, and the weighted channels beside them: (T, D + C).

    Worked out in place: the features of ten hours are hundreds of megabytes.
    """
    n_picks, width = features.shape
    found = np.empty((n_picks, width + N_CHANNELS), np.float32)
    unit, channels = found[:, :width], found[:, width:]
    unit[:] = features
    _to_unit_length(unit)
    video = _Video(unit, np.asarray(times_s, np.float64))
    channels[:] = np.float32(WEIGHT) * _channels(video)
    unit -= video.mean
    return found


def unit_length(vectors: FloatArray) -> Float32:
    """Each row to length one; a row of zeros (to rounding) is zero."""
    rows = np.array(vectors, np.float32)
    _to_unit_length(rows)
    return rows


def _to_unit_length(rows: Float32) -> None:
    lengths = np.sqrt(np.einsum("td,td->t", rows, rows))[:, None]
    rows *= np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 1e-5)


def _channels(video: _Video) -> Float32:
    return np.stack([_standardised(channel(video)) for channel in CHANNELS], axis=1)


def _standardised(channel: FloatArray) -> Float32:
    centred = channel - channel.mean()
    deviation = float(centred.std())
    return (centred / deviation if deviation > 1e-6 else np.zeros_like(centred)).astype(np.float32)
