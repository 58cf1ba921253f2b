"""How scores and summaries are measured against people: agreement, what share of what people value is caught, whether
the uncertainty is right, and how firm the choice is. Importing this does not import torch: judging processes run it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np
from scipy import stats

from vastsum.bench.data import BenchmarkVideo
from vastsum.selection import perturbed_choices, select, summary_mask
from vastsum.types import BoolArray, FloatArray, IntArray, Kind, Prediction, Segments

# ---- agreement with people ----


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


# ---- rank correlations of one prediction with many people ----

_MANY_LEVELS = 20


def kendall_tau_b(scores: FloatArray | BoolArray, references: FloatArray) -> FloatArray:
    """τ-b (U,) of `scores` (n,) with each row of `references` (U, n); NaN where a side is constant."""
    values, flat = np.unique(references, return_inverse=True)
    if len(values) > _MANY_LEVELS or len(references) == 1:
        return np.array([stats.kendalltau(scores, reference).statistic for reference in references])
    order = np.argsort(scores, kind="stable")
    levels = flat.reshape(references.shape)[:, order]  # (U, n) in order of score
    in_order = np.asarray(scores)[order]
    first_equal = np.searchsorted(in_order, in_order, side="left")  # (n,) where the run of equal scores begins
    excess = _concordant_minus_discordant(levels, len(values), first_equal)

    n = len(in_order)
    n_pairs = n * (n - 1) / 2
    untied_scores = n_pairs - _tied_pairs(np.unique(first_equal, return_counts=True)[1])
    counts = np.stack([(levels == level).sum(axis=1) for level in range(len(values))], axis=1)  # (U, L)
    untied_references = n_pairs - _tied_pairs(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(excess / np.sqrt(untied_scores * untied_references))


def spearman_rho(scores: FloatArray | BoolArray, references: FloatArray) -> FloatArray:
    """ρ (U,) of `scores` (n,) with each row of `references` (U, n); NaN where a side is constant."""
    x = stats.rankdata(scores)
    y = stats.rankdata(references, axis=1)
    x, y = x - x.mean(), y - y.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((y @ x) / np.sqrt((x**2).sum() * (y**2).sum(axis=1)))


def _concordant_minus_discordant(levels: IntArray, n_levels: int, first_equal: IntArray) -> IntArray:
    """For every pick, over the picks of strictly lower score: those of lower level minus those of higher level."""
    excess = np.zeros(len(levels), np.int64)
    so_far = np.zeros((levels.shape[0], levels.shape[1] + 1), np.int32)
    for level in range(n_levels):
        np.cumsum(levels == level, axis=1, out=so_far[:, 1:])
        excess += (np.sign(levels - level) * so_far[:, first_equal]).sum(axis=1)
    return excess


def _tied_pairs(counts: IntArray) -> FloatArray:
    return np.asarray((counts.astype(np.float64) * (counts - 1) / 2).sum(axis=-1))


# ---- is the predicted uncertainty right? ----

INTERVALS = (0.5, 0.9)


@dataclass(frozen=True)
class Calibration:
    """`nll` is the mean negative log-likelihood of an annotation, in nats. `coverage_50` and `coverage_90` are the
    shares of annotations inside the central intervals of that mass. `std_correlation` is Spearman's ρ between the
    predicted deviation and the annotators' own, over the picks of the video (0 where either is constant)."""

    nll: float
    coverage_50: float
    coverage_90: float
    std_correlation: float


def calibration(prediction: Prediction, video: BenchmarkVideo, kind: Kind) -> Calibration:
    """Scores are taken as Gaussian with the predicted mean and deviation, binary summaries as Bernoulli: there the mean
    is the probability, and how sure the model is of it plays no part in what one person is expected to say."""
    annotations = video.annotations.astype(np.float64)  # (U, T)
    std = annotation_std(prediction, kind)
    if kind == "tvsum":
        within = [_gaussian_coverage(annotations, prediction.mean, std, mass) for mass in INTERVALS]
        nll = _gaussian_nll(annotations, prediction.mean, std)
    else:
        within = [_bernoulli_coverage(annotations, prediction.mean, mass) for mass in INTERVALS]
        nll = _bernoulli_nll(annotations, prediction.mean)
    return Calibration(nll, within[0], within[1], _rank_correlation(std, annotations.std(axis=0)))


def annotation_std(prediction: Prediction, kind: Kind) -> FloatArray:
    """Standard deviation of a single person's annotation around the predicted mean."""
    if kind == "tvsum":
        return np.maximum(prediction.std, 1e-6)
    p = np.clip(prediction.mean, 0.0, 1.0)
    return np.sqrt(prediction.std**2 + p * (1 - p)) + 1e-6


def _gaussian_coverage(annotations: FloatArray, mean: FloatArray, std: FloatArray, mass: float) -> float:
    return float((np.abs(annotations - mean) <= stats.norm.ppf(0.5 + mass / 2) * std).mean())


def _bernoulli_coverage(annotations: FloatArray, probability: FloatArray, mass: float) -> float:
    """Two answers leave no interval of a given mass. So "no" is spread evenly over [0, 1 − p] and "yes" over the rest
    (the probability integral transform of counts: C. Czado, T. Gneiting, L. Held, Biometrics 65, 2009), and what lies
    in the central `mass` counts: exactly `mass` of it, if p is right."""
    no = 1 - np.clip(probability, 1e-6, 1 - 1e-6)  # (T,)
    low, high = 0.5 - mass / 2, 0.5 + mass / 2
    share_of_no = (np.minimum(high, no) - np.minimum(low, no)) / no
    share_of_yes = (np.maximum(high, no) - np.maximum(low, no)) / (1 - no)
    return float(np.where(annotations > 0.5, share_of_yes, share_of_no).mean())


def _gaussian_nll(annotations: FloatArray, mean: FloatArray, std: FloatArray) -> float:
    return float(-np.mean(stats.norm.logpdf(annotations, mean, std)))


def _bernoulli_nll(annotations: FloatArray, probability: FloatArray) -> float:
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-np.where(annotations > 0.5, np.log(p), np.log1p(-p)).mean())


def _rank_correlation(a: FloatArray, b: FloatArray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(stats.spearmanr(a, b).statistic)


# ---- how much does the choice change? ----

DRAWS = 64
RELATIVE_NOISE = 0.1


@dataclass(frozen=True)
class Robustness:
    """`jaccard` is the mean overlap, in frames, of the summary with those under noise; `unstable` is the share of
    segments that are in some of the disturbed summaries and out of others."""

    jaccard: float
    unstable: float


def robustness(prediction: Prediction, segments: Segments, *, budget: float = 0.15) -> Robustness:
    """Gaussian noise of a tenth of the spread of the segment scores, so that models of any scale can be compared."""
    base = select(prediction, segments, budget)
    choices = perturbed_choices(
        base.values,
        segments.lengths,
        base.budget_frames,
        noise=RELATIVE_NOISE * float(base.values.std()),
        draws=DRAWS,
        rng=np.random.default_rng(0),
    )  # (R, M)
    both = (choices & base.chosen) @ segments.lengths
    either = (choices | base.chosen) @ segments.lengths
    share = choices.mean(axis=0)
    jaccard = np.divide(both, either, out=np.ones(len(both)), where=either > 0)
    return Robustness(float(jaccard.mean()), float(((share > 0) & (share < 1)).mean()))


# ---- all of it ----


def measure(prediction: Prediction, video: BenchmarkVideo, kind: Kind) -> tuple[dict[str, float | None], int]:
    """Every metric of one prediction, and how many correlations were undefined. A method that claims no uncertainty
    (its deviation is zero everywhere) is not held to any. `range` is the highest importance less the lowest."""
    agreed = agreement(prediction, video, kind)
    trust = asdict(calibration(prediction, video, kind)) if prediction.std.any() else {}
    firm = asdict(robustness(prediction, video.segments))
    return {**numbers(agreed), **trust, **firm, "range": float(np.ptp(prediction.mean))}, agreed.undefined


def numbers(agreed: Agreement) -> dict[str, float | None]:
    return {name: value for name, value in asdict(agreed).items() if name != "undefined"}
