"""How well a prediction agrees with people: Kendall's τ-b, Spearman's ρ and F1, as earlier work computes them, and what
share of what people value its summary catches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vastsum.bench.data import BenchmarkVideo, Kind
from vastsum.bench.measures.ranks import kendall_tau_b, spearman_rho
from vastsum.selection import select, summary_mask
from vastsum.types import BoolArray, FloatArray, Prediction


@dataclass(frozen=True)
class Agreement:
    """One prediction, or one summary without scores, against the people who annotated the video.

    `tau` and `rho` are the protocol's: on TVSum over scores, on SumMe over the decoded summary. `score_tau` and
    `score_rho` are over raw scores at the picks in both; on TVSum the two are the same. `caught` is of the summary.
    `undefined` counts the correlations that do not exist (a constant side); they enter the means as 0.
    """

    tau: float | None
    rho: float | None
    score_tau: float | None
    score_rho: float | None
    caught: float | None
    f1: float | None
    undefined: int


def agreement(prediction: Prediction, video: BenchmarkVideo, kind: Kind, *, budget: float = 0.15) -> Agreement:
    """All metrics of one video. The summary is what the prediction's own decoder makes."""
    summary = summary_mask(select(prediction, video.segments, budget).chosen, video.segments)
    return with_scores(summary_agreement(summary, video, kind), prediction.mean, video, kind)


def summary_agreement(summary: BoolArray, video: BenchmarkVideo, kind: Kind) -> Agreement:
    """What can be said of a summary (N,) alone: on TVSum there is no rank correlation without scores."""
    tau, rho, undefined = summary_correlations(summary, video) if kind == "summe" else (None, None, 0)
    f1 = None if video.user_summaries is None else f1_score(summary, video.user_summaries, kind)
    return Agreement(tau, rho, None, None, caught(summary, video.people_value), f1, undefined)


def with_scores(of_summary: Agreement, scores: FloatArray, video: BenchmarkVideo, kind: Kind) -> Agreement:
    """The same with the rank correlations of scores at the picks (T,)."""
    if kind == "tvsum":
        tau, rho, undefined = rank_correlations(scores, video.annotations)
        return replace(of_summary, tau=tau, rho=rho, score_tau=tau, score_rho=rho, undefined=undefined)
    score_tau, score_rho, _ = rank_correlations(scores, video.annotations.mean(axis=0, keepdims=True))
    return replace(of_summary, score_tau=score_tau, score_rho=score_rho)


def rank_correlations(scores: FloatArray | BoolArray, references: FloatArray) -> tuple[float, float, int]:
    """Mean τ-b and mean ρ of `scores` (n,) with each row of `references` (U, n), and how many were undefined."""
    taus, rhos = kendall_tau_b(scores, references), spearman_rho(scores, references)
    undefined = int(np.isnan(taus).sum())
    return float(np.nan_to_num(taus).mean()), float(np.nan_to_num(rhos).mean()), undefined


def summary_correlations(summary: BoolArray, video: BenchmarkVideo) -> tuple[float, float, int]:
    """τ-b and ρ between a binary summary and the mean of the user summaries, over all frames (CSTA's protocol)."""
    assert video.user_summaries is not None, "binary supervision always comes with user summaries"
    return rank_correlations(summary, video.user_summaries.mean(axis=0, keepdims=True))


def caught(summary: FloatArray | BoolArray, people_value: FloatArray) -> float:
    """What share of what people value a summary catches; both are (N,), and a summary may hold parts of frames.

    The mean value of what is in it, on a scale where an arbitrary cut of its length is at 0 and the best at 1. Where
    there is no such scale, it is 0: the summary is empty, or no cut of its length is better than another.
    """
    n_frames = round(float(summary.sum()))
    if n_frames == 0:
        return 0.0
    arbitrary = people_value.mean()
    best = np.partition(people_value, -n_frames)[-n_frames:].mean()
    if best - arbitrary <= 1e-12:
        return 0.0
    return float((summary @ people_value / summary.sum() - arbitrary) / (best - arbitrary))


def f1_score(summary: BoolArray, user_summaries: BoolArray, kind: Kind) -> float:
    """Overlap with each person's summary; SumMe takes the best-matched person, TVSum the mean over people."""
    overlap = (user_summaries & summary).sum(axis=1)
    lengths = user_summaries.sum(axis=1) + summary.sum()
    scores = np.divide(2.0 * overlap, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return float(scores.max() if kind == "summe" else scores.mean())


def judge(prediction: Prediction, video: BenchmarkVideo, kind: Kind) -> tuple[float, float]:
    """τ and ρ alone: what an epoch is chosen by."""
    if kind == "tvsum":
        return rank_correlations(prediction.mean, video.annotations)[:2]
    return summary_correlations(summary_mask(select(prediction, video.segments).chosen, video.segments), video)[:2]
