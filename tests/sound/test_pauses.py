"""Generated speech, whose words' times are known, with music beneath: cuts fall between the words."""

from __future__ import annotations

import ctypes
import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vastsum.selection.fill import LEAST
from vastsum.sound import find_speech

ROOT = Path(__file__).parents[2]
TEXT = """Most people knead too early, because they want to feel that something is happening. If you wait, the dough
will do the work for you. Fold it four times, then let it rest on a board while the oven gets hot."""


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Any:
    try:
        ctypes.CDLL("libespeak-ng.so.1")
    except OSError:
        pytest.skip("eSpeak NG, which speaks here, is not installed (apt-get install espeak-ng)")
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("pauses")


def test_summaries_begin_and_end_between_words_even_where_words_run_together(pauses: Any, tmp_path: Path) -> None:
    sound, words, rate = pauses.say(" ".join([TEXT] * 8), "en-us")
    path = pauses.film(tmp_path / "film.mp4", 0.5 * sound, rate)
    within, least_fill = pauses.ends_within_words(find_speech(path), words, 0.3, 5)
    assert within <= 0.05
    assert least_fill >= LEAST


@pytest.mark.parametrize("decibels", [None, -12.0])
def test_cuts_fall_between_words_and_spans_around_sentences(
    decibels: float | None, tmp_path: Path, pauses: Any
) -> None:
    sound, words, rate = pauses.say(TEXT, "en-us", 10)
    mixed = sound if decibels is None else pauses.with_music(sound, rate, decibels)
    path = pauses.film(tmp_path / "film.mp4", 0.5 * mixed, rate)
    before, after, _, _, _ = pauses.measure(path, words, 400)
    assert before > 0.5
    assert after <= 0.05

    if decibels is not None:
        return  # music fills some of the pauses between sentences

    long_pauses = np.flatnonzero(words[1:, 0] - words[:-1, 1] > 0.4)
    sentences = zip(words[[0, *long_pauses + 1], 0], words[[*long_pauses, -1], 1], strict=True)
    starts_s, ends_s = np.array(find_speech(path).spans).T
    for start_s, end_s in sentences:
        assert np.abs(starts_s - start_s).min() < 0.1
        assert np.abs(ends_s - end_s).min() < 0.2
