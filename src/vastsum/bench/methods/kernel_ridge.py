"""A frame is as important as frames like it were, in videos like its own: kernel ridge regression, in closed form.

Two frames are alike by a Gaussian of how far their features lie apart, and of how far the mean frames of their videos
do. Only some training frames, the landmarks, are compared with (the "subset of regressors": C. Williams, M. Seeger,
"Using the Nyström Method to Speed Up Kernel Machines", NIPS 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, ndimage

from vastsum.types import FloatArray, Prediction, Segments

SHARPNESS = 2.0  # how fast likeness falls, over the mean squared distance of two frames
VIDEO_SHARPNESS = 8.0  # the same for the mean frames of their videos
PENALTY = 10.0  # λ
N_LANDMARKS = 1024
SMOOTHING = 3.0  # of the prediction over time, in picks
JITTER = 1e-6  # landmarks may be nearly the same frame


@dataclass(frozen=True, eq=False)
class KernelRidge:
    landmarks: FloatArray  # (M, D) frames of the training videos
    landmark_videos: FloatArray  # (M, D) the mean frame of the video that each is from
    weights: FloatArray  # (M,)
    target_mean: float
    sharpness: float  # for squared distances of features as they are
    video_sharpness: float

    @classmethod
    def fit(
        cls,
        videos: Sequence[tuple[FloatArray, FloatArray]],
        n_landmarks: int = N_LANDMARKS,
        *,
        sharpness: float = SHARPNESS,
        video_sharpness: float = VIDEO_SHARPNESS,
        penalty: float = PENALTY,
    ) -> KernelRidge:
        """`videos` are features (T, D) and what is wanted of each frame (T,); landmarks lie evenly among all frames."""
        frames = np.concatenate([features for features, _ in videos]).astype(np.float64)  # (n, D)
        wanted = np.concatenate([target for _, target in videos]).astype(np.float64)  # (n,)
        owner = np.repeat(np.arange(len(videos)), [len(features) for features, _ in videos])  # (n,)
        means = np.stack([features.mean(axis=0, dtype=np.float64) for features, _ in videos])  # (videos, D)
        chosen = np.linspace(0, len(frames) - 1, min(n_landmarks, len(frames))).round().astype(int)
        landmarks = frames[chosen]
        unit = 2 * frames.var(axis=0).sum() or 1.0  # the mean squared distance of two frames
        between_videos = video_sharpness / unit * squared_distances(means, means)

        likeness = squared_distances(frames, landmarks) * (sharpness / unit)  # (n, M)
        likeness += between_videos[np.ix_(owner, owner[chosen])]
        np.exp(-likeness, out=likeness)
        among = likeness[chosen]  # (M, M)
        system = likeness.T @ likeness + penalty * among + JITTER * np.eye(len(chosen))
        weights = linalg.solve(system, likeness.T @ (wanted - wanted.mean()), assume_a="pos")
        return cls(
            landmarks, means[owner[chosen]], weights, float(wanted.mean()), sharpness / unit, video_sharpness / unit
        )

    def predict(self, features: FloatArray) -> FloatArray:
        """What is expected of each frame (T,) of a video (T, D)."""
        video = features.mean(axis=0, keepdims=True)
        apart = self.sharpness * squared_distances(features, self.landmarks)  # (T, M)
        apart += self.video_sharpness * squared_distances(video, self.landmark_videos)
        expected: FloatArray = np.exp(-apart) @ self.weights + self.target_mean
        return expected


class KernelRidgeScorer:
    """By itself, a closed form to read networks beside; its prediction is smoothed in time."""

    def __init__(self, fitted: KernelRidge, noise: float) -> None:
        self.fitted, self.noise = fitted, noise

    @classmethod
    def fit(cls, videos: Sequence[tuple[FloatArray, FloatArray]]) -> KernelRidgeScorer:
        """`videos` are features (T, D) and annotations (U, T)."""
        fitted = KernelRidge.fit([(features, annotations.mean(axis=0)) for features, annotations in videos])
        return cls(fitted, float(np.sqrt(np.mean([annotations.var() for _, annotations in videos]))))

    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        mean = ndimage.gaussian_filter1d(self.fitted.predict(features.astype(np.float64)), SMOOTHING)
        return Prediction(mean, np.full(len(mean), self.noise))


def squared_distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """(n, D), (m, D) → (n, m)"""
    apart: FloatArray = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.maximum(apart, 0.0)
