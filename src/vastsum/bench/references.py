"""The rows every result must be read beside: chance, lengths, uniform clips, people, and the best that can be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from vastsum.bench.data import BenchmarkVideo, Kind
from vastsum.bench.measures import Agreement, agreement, caught, f1_score, summary_agreement, with_scores
from vastsum.bench.methods.constant import ConstantScorer
from vastsum.types import BoolArray, FloatArray, Prediction

CLIP_FRAMES = 90  # 3 s at 30 frames a second


def random_agreement(video: BenchmarkVideo, kind: Kind, rng: np.random.Generator) -> Agreement:
    """Uniform random scores. Not zero on SumMe: the knapsack favours short segments, and so do people."""
    return _agreement_of(rng.random(len(video.segments.picks)), video, kind)


def mean_annotator_agreement(video: BenchmarkVideo, kind: Kind) -> Agreement:
    """The mean of all annotations as the prediction: a ceiling, since it has seen the answers."""
    return _agreement_of(video.annotations.mean(axis=0), video, kind)


def length_agreement(video: BenchmarkVideo, kind: Kind) -> Agreement:
    """Constant scores: what the lengths of the segments say alone."""
    return agreement(ConstantScorer().predict(video.features, video.segments), video, kind)


def _agreement_of(scores: FloatArray, video: BenchmarkVideo, kind: Kind) -> Agreement:
    return agreement(Prediction.certain(scores), video, kind)


def uniform_agreement(video: BenchmarkVideo, kind: Kind, *, budget: float = 0.15) -> Agreement:
    """Clips of about 3 s, evenly spread: a summary that looks at nothing."""
    return summary_agreement(uniform_clips(video.segments.n_frames, budget), video, kind)


def uniform_clips(n_frames: int, budget: float) -> BoolArray:
    """As many clips as the budget has room for, each in the middle of an equal part of the video (N,)."""
    n_clips = max(int(budget * n_frames) // CLIP_FRAMES, 1)
    place = (np.arange(n_frames) + 0.5) * n_clips / n_frames % 1  # of each frame in its part
    return np.abs(place - 0.5) < budget / 2


def human_agreement(video: BenchmarkVideo, kind: Kind, *, budget: float = 0.15) -> Agreement | None:
    """One person: each judged by all the others, leave-one-out. None where a video has a single annotator."""
    n_annotators = len(video.said)
    if n_annotators < 2:
        return None
    each = [_one_against_the_rest(video, kind, person, budget) for person in range(n_annotators)]
    found = {field.name: [getattr(one, field.name) for one in each] for field in fields(Agreement)}
    undefined = sum(found.pop("undefined"))
    return Agreement(**{name: _mean(values) for name, values in found.items()}, undefined=undefined)


def _one_against_the_rest(video: BenchmarkVideo, kind: Kind, person: int, budget: float) -> Agreement:
    """Somebody who made a summary is judged by it. Somebody who gave scores catches what the frames they scored highest
    are worth to the others: a summary made of segments would be judged by its knapsack as well."""
    others = np.arange(len(video.said)) != person
    scores, summaries = video.user_scores, video.user_summaries
    rest = replace(
        video,
        user_scores=None if scores is None else scores[others],
        user_summaries=None if summaries is None else summaries[others],
    )
    if scores is None:
        assert summaries is not None, "the reader guarantees one of the two"
        own = summary_agreement(summaries[person], rest, kind)
    else:
        first = _first(scores[person], int(budget * video.segments.n_frames))
        f1 = None if summaries is None else f1_score(summaries[person], summaries[others], kind)
        own = Agreement(None, None, None, None, caught(first, rest.people_value), f1, 0)
    return with_scores(own, video.annotations[person], rest, kind)


def _first(scores: FloatArray, n_frames: int) -> FloatArray:
    """How much of each frame (N,) is among the `n_frames` of highest score; those of equal score share alike."""
    if n_frames == 0:
        return np.zeros(len(scores))
    least = np.partition(scores, -n_frames)[-n_frames]
    above, alike = scores > least, scores == least
    return above + alike * (n_frames - above.sum()) / alike.sum()


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
