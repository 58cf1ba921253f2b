"""How well a prediction agrees with people: Kendall's τ-b, Spearman's ρ and F1, as earlier work computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vastsum.data import BenchmarkVideo, Kind
from vastsum.evaluation.ranks import kendall_tau_b, spearman_rho
from vastsum.selection import select, summary_mask
from vastsum.types import BoolArray, FloatArray, Prediction


@dataclass(frozen=True)
class Agreement:
    """One prediction against the people who annotated the video.

    `tau` and `rho` are the protocol's: on TVSum over scores, on SumMe over the decoded summary. `score_tau` and
    `score_rho` are over raw scores at the picks in both; on TVSum the two are the same. `undefined` counts the
    correlations that do not exist (a constant side); they enter the means as 0.
    """

    tau: float
    rho: float
    score_tau: float
    score_rho: float
    f1: float | None
    undefined: int


def agreement(prediction: Prediction, video: BenchmarkVideo, kind: Kind, *, budget: float = 0.15) -> Agreement:
    """All metrics of one video."""
    chosen = select(prediction, video.segments, budget).chosen
    summary = summary_mask(chosen, video.segments)
    if kind == "tvsum":
        tau, rho, undefined = rank_correlations(prediction.mean, video.annotations)
        score_tau, score_rho = tau, rho
    else:
        tau, rho, undefined = summary_correlations(summary, video)
        mean_annotation = video.annotations.mean(axis=0, keepdims=True)
        score_tau, score_rho, _ = rank_correlations(prediction.mean, mean_annotation)
    f1 = None if video.user_summaries is None else f1_score(summary, video.user_summaries, kind)
    return Agreement(tau, rho, score_tau, score_rho, f1, undefined)


def rank_correlations(scores: FloatArray | BoolArray, references: FloatArray) -> tuple[float, float, int]:
    """Mean τ-b and mean ρ of `scores` (n,) with each row of `references` (U, n), and how many were undefined."""
    taus, rhos = kendall_tau_b(scores, references), spearman_rho(scores, references)
    undefined = int(np.isnan(taus).sum())
    return float(np.nan_to_num(taus).mean()), float(np.nan_to_num(rhos).mean()), undefined


def summary_correlations(summary: BoolArray, video: BenchmarkVideo) -> tuple[float, float, int]:
    """τ-b and ρ between a binary summary and the mean of the user summaries, over all frames (CSTA's protocol)."""
    assert video.user_summaries is not None, "binary supervision always comes with user summaries"
    return rank_correlations(summary, video.user_summaries.mean(axis=0, keepdims=True))


def f1_score(summary: BoolArray, user_summaries: BoolArray, kind: Kind) -> float:
    """Overlap with each person's summary; SumMe takes the best-matched person, TVSum the mean over people."""
    overlap = (user_summaries & summary).sum(axis=1)
    lengths = user_summaries.sum(axis=1) + summary.sum()
    scores = np.divide(2.0 * overlap, lengths, out=np.zeros(len(lengths)), where=lengths > 0)
    return float(scores.max() if kind == "summe" else scores.mean())


def judge(importance: FloatArray, video: BenchmarkVideo, kind: Kind) -> tuple[float, float]:
    """τ and ρ alone: what an epoch is chosen by."""
    if kind == "tvsum":
        return rank_correlations(importance, video.annotations)[:2]
    prediction = Prediction(importance, np.zeros_like(importance))
    return summary_correlations(summary_mask(select(prediction, video.segments).chosen, video.segments), video)[:2]
