"""Is the predicted uncertainty right? Held against what the annotators of a video really said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from vastsum.bench.data import BenchmarkVideo, Kind
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
