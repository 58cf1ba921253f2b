"""Relative channels against what they say they are, with every pick compared with every other in double precision."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

from vastsum.bench.data import BenchmarkVideo
from vastsum.features.relative import GAP_S, MAX_REFERENCES, N_CHANNELS, N_MATCHES, NAMES, WEIGHT, relative_channels
from vastsum.types import FloatArray, Segments

POSITIONS = ("place", "off_centre")
BY_REFERENCES = ("recurrence", "seen_before", "commonness", "commonness_near")


@dataclass
class Plain:
    """A video at two picks a second, written down without thought for time or memory."""

    features: FloatArray

    @cached_property
    def z(self) -> FloatArray:
        return unit(self.features.astype(np.float64))  # (T, D)

    @cached_property
    def mean(self) -> FloatArray:
        return self.z.mean(axis=0)

    @cached_property
    def zc(self) -> FloatArray:
        return unit(self.z - self.mean)

    @cached_property
    def times_s(self) -> FloatArray:
        return 0.5 * np.arange(len(self.z))

    @cached_property
    def earlier_s(self) -> FloatArray:
        """How long before pick t pick s was (T, T)."""
        return self.times_s[:, None] - self.times_s

    @cached_property
    def apart(self) -> FloatArray:
        """Squared distances (T, T)."""
        squares = (self.z**2).sum(axis=1)
        return squares[:, None] + squares - 2 * self.z @ self.z.T

    @cached_property
    def change(self) -> FloatArray:
        change = np.linalg.norm(np.diff(self.z, axis=0), axis=1)
        return np.append(change[0], change)

    def gaussian(self, seconds: float) -> FloatArray:
        weights = np.exp(-((self.earlier_s / seconds) ** 2) / 2)
        return weights / weights.sum(axis=1, keepdims=True)

    def contrast(self, seconds: float) -> FloatArray:
        return np.linalg.norm((self.gaussian(seconds) - self.gaussian(3 * seconds)) @ self.z, axis=1)

    @cached_property
    def elsewhere(self) -> FloatArray:
        """Likeness of picks that are far enough from each other (T, T)."""
        return np.where(np.abs(self.earlier_s) > GAP_S, self.zc @ self.zc.T, -np.inf)

    def recurrence(self) -> FloatArray:
        best = np.sort(self.elsewhere, axis=1)[:, -N_MATCHES:]
        return np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else 0.0 for row in best])

    def seen_before(self) -> FloatArray:
        return np.where(self.earlier_s > 0, self.elsewhere, -1.0).clip(-1).max(axis=1)

    def density(self, sharpness: float) -> FloatArray:
        return np.log(np.exp(-sharpness * self.apart / self.apart.mean()).mean(axis=1))

    def unlike_before(self) -> FloatArray:
        means = [self.z[max(t - 40, 0) : t].mean(axis=0) for t in range(1, len(self.z))]
        return np.append(0.0, np.linalg.norm(self.z[1:] - means, axis=1))


FORMULAS: dict[str, Callable[[Plain], FloatArray]] = {
    "change": lambda v: v.change,
    "change_1s": lambda v: v.gaussian(1) @ v.change,
    "change_3s": lambda v: v.gaussian(3) @ v.change,
    "typical": lambda v: (v.zc @ v.zc.T).mean(axis=1),
    "place": lambda v: v.times_s,
    "off_centre": lambda v: (v.times_s - v.times_s[-1] / 2) ** 2,
    "contrast_half_s": lambda v: v.contrast(0.5),
    "contrast_1_5s": lambda v: v.contrast(1.5),
    "contrast_4s": lambda v: v.contrast(4),
    "recurrence": Plain.recurrence,
    "seen_before": Plain.seen_before,
    "distance_to_mean": lambda v: np.linalg.norm(v.z - v.mean, axis=1),
    "commonness": lambda v: v.density(4),
    "commonness_near": lambda v: v.density(16),
    "unlike_before": Plain.unlike_before,
}


def unit(rows: FloatArray) -> FloatArray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def standardised(channel: FloatArray) -> FloatArray:
    return (channel - channel.mean()) / channel.std()


def smooth(times_s: FloatArray, width: int = 24, seed: int = 0) -> FloatArray:
    """What a film shows that changes slowly, and comes back to what it showed."""
    rng = np.random.default_rng(seed)
    periods_s, phases = rng.uniform(8, 60, (2, width)), rng.uniform(0, 2 * np.pi, (2, width))
    waves = np.sin(2 * np.pi * times_s[:, None, None] / periods_s + phases).sum(axis=1)
    return (1 + waves).astype(np.float32)


def noisy(n_picks: int, width: int = 24, seed: int = 0) -> FloatArray:
    noise = np.random.default_rng(seed).standard_normal((n_picks, width))
    return smooth(0.5 * np.arange(n_picks), width, seed) + 0.5 * noise.astype(np.float32)


def channels_of(features: FloatArray, every_s: float = 0.5) -> dict[str, FloatArray]:
    found = relative_channels(features, every_s * np.arange(len(features)))
    assert found.shape == (len(features), N_CHANNELS)
    return dict(zip(NAMES, found.T, strict=True))


def test_every_channel_has_a_formula_here() -> None:
    assert set(NAMES) == set(FORMULAS)


@pytest.mark.parametrize("name", NAMES)
def test_a_channel_is_what_its_formula_says(name: str) -> None:
    features = noisy(120)
    expected = standardised(FORMULAS[name](Plain(features)))
    np.testing.assert_allclose(channels_of(features)[name], expected, atol=2e-4)


@pytest.mark.parametrize("n_picks", [MAX_REFERENCES, MAX_REFERENCES + 700])
def test_long_videos_are_compared_with_some_of_their_picks(n_picks: int) -> None:
    features = noisy(n_picks)
    found, plain = channels_of(features), Plain(features)
    for name in NAMES:
        expected = standardised(FORMULAS[name](plain))
        if n_picks > MAX_REFERENCES and name in BY_REFERENCES:
            assert np.corrcoef(found[name], expected)[0, 1] > 0.9, name
        else:  # Gaussians end after four deviations: a ten thousandth is left out
            np.testing.assert_allclose(found[name], expected, atol=5e-3, err_msg=name)


def test_memory_does_not_grow_with_the_square_of_the_length() -> None:
    def peak(n_picks: int) -> int:
        features = noisy(n_picks, width=8)
        tracemalloc.start()
        found = channels_of(features)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert all(np.isfinite(channel).all() for channel in found.values())
        return size

    assert peak(8 * MAX_REFERENCES) < 1.5 * peak(4 * MAX_REFERENCES)


def test_the_frame_rate_does_not_matter() -> None:
    features = noisy(200)

    def seen(fps: float, pick_every: int) -> FloatArray:
        picks = pick_every * np.arange(len(features))
        n_frames = int(picks[-1]) + pick_every
        layout = Segments(np.array([[0, n_frames - 1]]), picks, n_frames, fps)
        return BenchmarkVideo("v", features, layout, None, None).with_channels().features

    np.testing.assert_allclose(seen(30, 15), seen(24, 12), atol=1e-6)
    np.testing.assert_allclose(seen(30, 15)[:, -N_CHANNELS:], WEIGHT * relative_channels(features, np.arange(200) / 2))
    assert not np.allclose(seen(30, 15), seen(30, 30), atol=1e-2)  # the same pictures at half the pace


def test_more_picks_of_the_same_film_say_the_same() -> None:
    times_s = np.arange(0, 150, 0.25)
    features = smooth(times_s)
    dense, usual = channels_of(features, 0.25), channels_of(features[::2])
    for name in NAMES:
        assert np.corrcoef(dense[name][::2], usual[name])[0, 1] > 0.9, name


@pytest.mark.parametrize(
    "features",
    [
        noisy(1),
        noisy(2),
        np.tile(noisy(1, 1280), (300, 1)),
        np.zeros((50, 24), np.float32),
        np.where(np.arange(90)[:, None] % 9 < 3, 0, noisy(90)),
        noisy(90).astype(np.float16),
    ],
    ids=["one pick", "two picks", "still", "black", "black at times", "half precision"],
)
def test_no_video_breaks_them(features: FloatArray) -> None:
    before = features.copy()
    for name, channel in channels_of(features).items():
        assert abs(channel.mean()) < 1e-5, name
        assert channel.std() == pytest.approx(1, abs=1e-4) or not channel.any(), name
    np.testing.assert_array_equal(features, before)  # the caller's features are as they were


@pytest.mark.parametrize("noise", [0.0, 1e-7])
@pytest.mark.parametrize("width", [24, 1280])
def test_a_still_picture_has_nothing_but_positions(width: int, noise: float) -> None:
    """Rounding must not be blown up to deviation 1."""
    grain = 1 + noise * np.random.default_rng(0).standard_normal((300, width))
    found = channels_of((noisy(1, width) * grain).astype(np.float32))
    standing = {name for name, channel in found.items() if channel.any()}
    assert standing == {*POSITIONS, "seen_before"}  # which begins where there is a past
