"""How likely people would include a segment: whether their mean scores, decoded to the same length, choose it too."""

from __future__ import annotations

import numpy as np

from vastsum.types import FloatArray

# Logistic regression on videos left out of training, the same weight to TVSum and SumMe: studies/chance.py.
BASE, OF_STANDING, OF_LENGTH, OF_BUDGET = -0.03, 0.71, -1.11, 1.09
CLEAR, LIKELY = 0.6, 0.4
OF_MEAN = 0.5  # how far the mean of people may lie off, as a share of how far one person may: the same study


def chances(standing: FloatArray, lengths: FloatArray, budget: float) -> FloatArray:
    """`standing` (M,) is how many deviations a segment's importance lies above the video's mean, `lengths` (M,) are in
    any unit, `budget` is a share of the video. Short segments fit more often; a longer summary includes more."""
    share = np.clip(budget, 0.001, 0.999)
    odds = BASE + OF_STANDING * standing + OF_LENGTH * np.log(lengths / lengths.mean())
    return np.asarray(1.0 / (1.0 + np.exp(-odds - OF_BUDGET * np.log(share / (1.0 - share)))))  # (M,)


def in_words(chance: float) -> str:
    return "clear" if chance >= CLEAR else "likely" if chance >= LIKELY else "could go either way"
