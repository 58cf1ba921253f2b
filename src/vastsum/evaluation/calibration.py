"""Is the predicted uncertainty right? Held against what the annotators of a video really said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from vastsum.data import BenchmarkVideo, Kind
from vastsum.types import FloatArray, Prediction

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
    """Scores are taken as Gaussian with the predicted mean and deviation. Binary summaries are Bernoulli: the mean is
    the probability, and an annotation's own variance p(1 − p) adds to the uncertainty of p."""
    annotations = video.annotations.astype(np.float64)  # (U, T)
    std = annotation_std(prediction, kind)
    distance = np.abs(annotations - prediction.mean)
    within = [float((distance <= stats.norm.ppf(0.5 + mass / 2) * std).mean()) for mass in INTERVALS]
    nll = (
        _gaussian_nll(annotations, prediction.mean, std)
        if kind == "tvsum"
        else _bernoulli_nll(annotations, prediction.mean)
    )
    return Calibration(nll, within[0], within[1], _rank_correlation(std, annotations.std(axis=0)))


def annotation_std(prediction: Prediction, kind: Kind) -> FloatArray:
    """Standard deviation of a single person's annotation around the predicted mean."""
    if kind == "tvsum":
        return np.maximum(prediction.std, 1e-6)
    p = np.clip(prediction.mean, 0.0, 1.0)
    return np.sqrt(prediction.std**2 + p * (1 - p)) + 1e-6


def _gaussian_nll(annotations: FloatArray, mean: FloatArray, std: FloatArray) -> float:
    return float(-np.mean(stats.norm.logpdf(annotations, mean, std)))


def _bernoulli_nll(annotations: FloatArray, probability: FloatArray) -> float:
    p = np.clip(probability, 1e-6, 1 - 1e-6)
    return float(-np.where(annotations > 0.5, np.log(p), np.log1p(-p)).mean())


def _rank_correlation(a: FloatArray, b: FloatArray) -> float:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return float(stats.spearmanr(a, b).statistic)
