"""The rows every result must be read beside: chance, people, and the best that any one prediction could do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vastsum.data import BenchmarkVideo, Kind
from vastsum.evaluation.metrics import Agreement, agreement, f1_score, rank_correlations, summary_correlations
from vastsum.types import Prediction


def random_agreement(video: BenchmarkVideo, kind: Kind, rng: np.random.Generator) -> Agreement:
    """Uniform random scores. Not zero on SumMe: the knapsack favours short segments, and so do people."""
    scores = rng.random(len(video.segments.picks))
    return agreement(Prediction(scores, np.zeros_like(scores)), video, kind)


def mean_annotator_agreement(video: BenchmarkVideo, kind: Kind) -> Agreement:
    """The mean of all annotations as the prediction: a ceiling, since it has seen the answers."""
    scores = video.annotations.mean(axis=0)
    return agreement(Prediction(scores, np.zeros_like(scores)), video, kind)


def human_agreement(video: BenchmarkVideo, kind: Kind) -> Agreement | None:
    """Each person judged by all the others, leave-one-out. None where a video has a single annotator."""
    n_annotators = len(video.annotations)
    if n_annotators < 2:
        return None
    each = [_one_against_the_rest(video, kind, person) for person in range(n_annotators)]
    f1s = [one.f1 for one in each if one.f1 is not None]
    return Agreement(
        tau=float(np.mean([one.tau for one in each])),
        rho=float(np.mean([one.rho for one in each])),
        score_tau=float(np.mean([one.score_tau for one in each])),
        score_rho=float(np.mean([one.score_rho for one in each])),
        f1=float(np.mean(f1s)) if f1s else None,
        undefined=sum(one.undefined for one in each),
    )


def _one_against_the_rest(video: BenchmarkVideo, kind: Kind, person: int) -> Agreement:
    others = np.arange(len(video.annotations)) != person
    annotations = video.annotations
    if kind == "tvsum":
        tau, rho, undefined = rank_correlations(annotations[person], annotations[others])
        score_tau, score_rho = tau, rho
    else:
        assert video.user_summaries is not None, "binary supervision always comes with user summaries"
        rest = replace(video, user_summaries=video.user_summaries[others])
        tau, rho, undefined = summary_correlations(video.user_summaries[person], rest)
        score_tau, score_rho, _ = rank_correlations(
            annotations[person], annotations[others].mean(axis=0, keepdims=True)
        )
    summaries = video.user_summaries
    f1 = None if summaries is None else f1_score(summaries[person], summaries[others], kind)
    return Agreement(tau, rho, score_tau, score_rho, f1, undefined)
