"""The same is not shown twice, and where nothing stands out a summary is an even sample."""

from __future__ import annotations

import numpy as np
import pytest

from vastsum.selection import select
from vastsum.selection.chance import chances, in_words
from vastsum.selection.spread import even_sample, fade_repeats, stands_out
from vastsum.types import Prediction, Segments


def scenes(n: int, picks_each: int, rng: np.random.Generator) -> np.ndarray:
    return np.repeat(rng.random((n, 40)), picks_each, axis=0)


def test_a_repeat_of_something_better_counts_less() -> None:
    rng = np.random.default_rng(0)
    z = scenes(4, 18, rng)
    z[54:] = z[:18]  # the last scene is the first again
    scores = np.repeat([0.9, 0.2, 0.5, 0.8], 18) + rng.random(72) * 1e-3
    faded = fade_repeats(scores, z, np.arange(72) * 0.5)
    assert faded[:18].mean() > faded[36:54].mean() > faded[54:].mean()
    assert faded[:54] == pytest.approx(scores[:54])


def test_of_equal_repeats_the_first_stays() -> None:
    z = np.ones((80, 3))
    faded = fade_repeats(np.zeros(80) + np.repeat([0.0, 1.0], 40), z, np.arange(80) * 0.5)
    assert faded[40] == 1.0
    assert faded[79] < 1.0


def test_frames_that_do_not_recur_keep_their_scores() -> None:
    rng = np.random.default_rng(1)
    z, scores = np.eye(50), rng.random(50)
    assert fade_repeats(scores, z, np.arange(50) * 0.5) == pytest.approx(scores)


def test_long_videos_are_compared_with_some_of_their_picks() -> None:
    rng = np.random.default_rng(2)
    z, scores = scenes(300, 20, rng), rng.random(6000)
    z[3000:3020] = z[:20]
    scores[:20], scores[3000:3020] = 2.0, 1.5
    faded = fade_repeats(scores, z, np.arange(6000) * 0.5)
    assert (faded[3000:3020] < scores[3000:3020] - 0.3).all()
    assert faded[:20] == pytest.approx(2.0)


def test_whether_anything_stands_out() -> None:
    rng = np.random.default_rng(3)
    z = rng.random((60, 20))
    assert stands_out(rng.random(60), z)
    assert not stands_out(np.full(60, 0.4), z)
    assert not stands_out(rng.random(60), np.ones((60, 20)))


@pytest.mark.parametrize("budget", [0.1, 0.15, 0.3])
def test_an_even_sample_is_spread_over_the_video(budget: float) -> None:
    starts = np.arange(60) * 100
    segments = Segments(np.column_stack([starts, starts + 99]), np.arange(0, 6000, 12), 6000)
    chosen = np.flatnonzero(select(Prediction.certain(even_sample(segments)), segments, budget).chosen)
    gaps = np.diff([-1, *chosen, 60])
    assert gaps.max() <= 2.5 / budget
    assert gaps.min() > 1


def test_chances_in_words() -> None:
    assert [in_words(chance) for chance in (0.9, 0.6, 0.5, 0.39)] == ["clear", "clear", "likely", "could go either way"]


def test_short_segments_above_the_mean_are_likelier() -> None:
    chance = chances(np.array([0.0, 1.0, 1.0]), np.array([3.0, 3.0, 1.0]), 0.15)
    assert chance[0] < chance[1] < chance[2] < 1
