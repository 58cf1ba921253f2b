"""Spans and pauses, from the two curves that are kept."""

from __future__ import annotations

import numpy as np
import pytest

from vastsum.sound import Speech
from vastsum.sound.speech import HOP_S, STEP_S, loudness

WORD, HUSH = 2 * 80, 2 * 40  # half decibels


def speech_with(words: list[tuple[float, float]], length_s: float, *, voice_lag_s: float = STEP_S) -> Speech:
    """As it is heard when these words are spoken; the detector is late by a step."""
    steps = np.arange(round(length_s / STEP_S)) * STEP_S + STEP_S / 2 - voice_lag_s
    hops = (np.arange(round(length_s / HOP_S)) + 0.5) * HOP_S
    spoken = np.any([(steps >= start) & (steps < end) for start, end in words], axis=0)
    loud = np.any([(hops >= start) & (hops < end) for start, end in words], axis=0)
    return Speech(np.where(spoken, 250, 5).astype(np.uint8), np.where(loud, WORD, HUSH).astype(np.uint8))


def test_spans_are_what_is_said_without_a_long_pause() -> None:
    speech = speech_with([(1.0, 1.5), (1.55, 2.0), (2.5, 3.0), (4.0, 4.1)], 5.0)
    assert np.array(speech.spans) == pytest.approx(np.array([(1.0, 2.0), (2.5, 3.0)]), abs=STEP_S)


def test_rests_are_clear_of_speech_and_between_what_is_close_together() -> None:
    speech = speech_with([(1.0, 2.0), (2.3, 3.0), (4.0, 5.0)], 6.0)
    assert speech.rests == pytest.approx([0.8, 2.15, 2.15, 3.2, 3.8, 5.2], abs=STEP_S)
    assert speech_with([(0.0, 1.0)], 2.0).rests == pytest.approx([1.2], abs=STEP_S)


def test_a_cut_moves_to_the_clearest_pause_and_no_further_than_it_may() -> None:
    speech = speech_with([(0.0, 1.0), (1.05, 2.0), (2.3, 3.0), (3.1, 5.0)], 5.0)
    paused = speech.pause_near(1.6, 0.8)
    assert paused is not None
    assert 2.0 < paused < 2.3, "the longest of the three"
    paused = speech.pause_near(3.4, 0.8)
    assert paused is not None
    assert 3.0 < paused < 3.1, "the one within reach"
    assert speech.pause_near(4.2, 0.5) is None
    assert speech.pause_near(0.0, 0.0) is None
    assert speech.pause_near(2.15, 0.8) == pytest.approx(2.15, abs=0.1)


def test_of_equal_pauses_the_nearest_is_taken() -> None:
    words = [(0.5 * n, 0.5 * n + 0.35) for n in range(20)]
    speech = speech_with(words, 10.0)
    for time in (3.1, 3.2, 5.05, 5.3):
        paused = speech.pause_near(time, 0.8)
        assert paused is not None
        assert 0.35 < paused % 0.5 < 0.5
        assert abs(paused - time) < 0.3


def test_where_nobody_speaks_a_time_stays() -> None:
    speech = speech_with([(2.0, 3.0)], 5.0)
    for time in (0.0, 1.5, 4.0, 7.0):
        assert speech.pause_near(time, 0.8) == time


def test_no_sound_at_all() -> None:
    speech = Speech(np.zeros(0, np.uint8), np.zeros(0, np.uint8))
    assert speech.spans == speech.rests == []
    assert speech.pause_near(3.0, 0.8) == 3.0


def test_loudness_is_in_half_decibels() -> None:
    rng = np.random.default_rng(0)
    loud = rng.normal(0, 0.1, 16_000).astype(np.float32)
    softer = loudness(loud / 10).mean()
    assert loudness(loud).mean() - softer == pytest.approx(2 * 20, abs=0.5)
    assert not loudness(np.zeros(1600, np.float32)).any()
