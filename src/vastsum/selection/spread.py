"""Scores changed so that a summary does not show the same thing twice, or, where nothing stands out, spreads evenly."""

from __future__ import annotations

import numpy as np

from vastsum.features.relative import unit_length
from vastsum.types import FloatArray, Segments

# A sixth of the least of any video the scorer was validated on; a third of it for the spread of scores.
STILL, ALIKE = 0.03, 0.005
REPEAT, APART_S = 0.95, 10.0  # cosine from which a moment is a repeat of another at least so far away
LOSS = 3.0  # deviations of the video's scores that an exact repeat loses
_GOLDEN = (5**0.5 - 1) / 2
_MAX_REFERENCES, _BLOCK = 2048, 2048


def stands_out(scores: FloatArray, features: FloatArray) -> bool:
    """Whether anything does: the picture changes, and the scores do."""
    z = unit_length(features)
    variety = 1.0 - float(np.square(z.mean(axis=0, dtype=np.float64)).sum())
    return variety > STILL and float(np.std(scores)) > ALIKE


def even_sample(segments: Segments) -> FloatArray:
    """Scores (T,) by which any budget chooses segments all over the video: multiples of the golden ratio, modulo 1."""
    return np.asarray((segments.ids + 1) * _GOLDEN % 1.0)


def fade_repeats(scores: FloatArray, features: FloatArray, times_s: FloatArray) -> FloatArray:
    """Lower scores (T,) where the same is seen at another time with a higher score, or earlier with the same score.

    Compared with at most 2048 picks, evenly spread, so that time grows with the length of the video and no faster.
    """
    z = unit_length(features)
    references = np.unique(np.linspace(0, len(z) - 1, min(len(z), _MAX_REFERENCES)).round().astype(np.int64))
    place = np.lexsort((-np.arange(len(scores)), scores)).argsort()  # higher, or earlier where equal
    nearest = np.empty(len(scores))
    for start in range(0, len(scores), _BLOCK):
        b = slice(start, start + _BLOCK)
        likeness = z[b] @ z[references].T  # (b, R)
        is_far = np.abs(times_s[b, None] - times_s[references]) > APART_S
        likeness[~(is_far & (place[references] > place[b, None]))] = -1.0
        nearest[b] = likeness.max(axis=1)
    return np.asarray(scores - LOSS * np.std(scores) * np.clip((nearest - REPEAT) / (1 - REPEAT), 0, 1))
