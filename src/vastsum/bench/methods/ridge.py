"""A linear model in closed form, the row that every deep model must be read beside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import ndimage, stats

from vastsum.types import FloatArray, Prediction, Segments


class RidgeScorer:
    """Ridge regression from one frame's features to its mean annotation; the prediction is smoothed in time."""

    def __init__(
        self, weights: FloatArray, feature_mean: FloatArray, target_mean: float, noise: float, smoothing: float
    ):
        self.weights, self.feature_mean, self.target_mean = weights, feature_mean, target_mean
        self.noise, self.smoothing = noise, smoothing

    @classmethod
    def fit(
        cls, videos: Iterable[tuple[FloatArray, FloatArray]], *, penalty: float = 100.0, smoothing: float = 4.0
    ) -> RidgeScorer:
        """`videos` yields features (T, D) and annotations (U, T); `smoothing` is the width of a Gaussian in picks."""
        pairs = [(features.astype(np.float64), annotations) for features, annotations in videos]
        x = np.concatenate([features for features, _ in pairs])  # (n, D)
        y = np.concatenate([annotations.mean(axis=0) for _, annotations in pairs]).astype(np.float64)  # (n,)
        feature_mean, target_mean = x.mean(axis=0), float(y.mean())
        x -= feature_mean
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ (y - target_mean))
        noise = float(np.sqrt(np.mean([annotations.var() for _, annotations in pairs])))
        return cls(weights, feature_mean, target_mean, noise, smoothing)

    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        mean = (features - self.feature_mean) @ self.weights + self.target_mean
        mean = ndimage.gaussian_filter1d(mean, self.smoothing)
        return Prediction(mean, np.full(len(mean), self.noise))


PENALTIES = (10.0, 30.0, 100.0, 300.0, 1000.0)
SMOOTHINGS = (1.0, 2.0, 4.0, 8.0)
N_INNER_FOLDS = 4


def choose_ridge(videos: Sequence[tuple[FloatArray, FloatArray]]) -> RidgeScorer:
    """Fit to all `videos`, with the penalty and smoothing that rank best on folds of these videos alone."""
    totals = dict.fromkeys(((p, s) for p in PENALTIES for s in SMOOTHINGS), 0.0)
    folds = [set(range(first, len(videos), N_INNER_FOLDS)) for first in range(min(N_INNER_FOLDS, len(videos)))]
    for held_out in folds if len(videos) > 1 else []:
        kept = [pair for n, pair in enumerate(videos) if n not in held_out]
        for penalty in PENALTIES:
            scorer = RidgeScorer.fit(kept, penalty=penalty)
            for n in held_out:
                features, annotations = videos[n]
                raw = (features - scorer.feature_mean) @ scorer.weights
                for smoothing in SMOOTHINGS:
                    smooth = ndimage.gaussian_filter1d(raw, smoothing)
                    totals[penalty, smoothing] += _agreement(smooth, annotations.mean(axis=0))
    penalty, smoothing = max(totals, key=lambda setting: totals[setting])
    return RidgeScorer.fit(videos, penalty=penalty, smoothing=smoothing)


def _agreement(predicted: FloatArray, wanted: FloatArray) -> float:
    """Spearman's ρ; 0 where a side is constant and there is none."""
    if np.ptp(predicted) == 0 or np.ptp(wanted) == 0:
        return 0.0
    return float(stats.spearmanr(predicted, wanted).statistic)
