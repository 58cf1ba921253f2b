"""Kernel ridge regression on landmarks."""

from __future__ import annotations

import numpy as np
import pytest

from vastsum.bench.methods.kernel_ridge import PENALTY, KernelRidge, squared_distances
from vastsum.types import FloatArray

Videos = list[tuple[FloatArray, FloatArray]]


@pytest.fixture(scope="module")
def videos() -> Videos:
    """Two kinds of video: what is wanted is how far a frame is from the origin, or the opposite of it."""
    rng = np.random.default_rng(0)
    found = []
    for n in range(8):
        frames = rng.standard_normal((50, 3))
        wanted = (1 if n % 2 else -1) * np.linalg.norm(frames, axis=1)
        frames = np.column_stack([frames, np.full(50, 5.0 * (n % 2))])  # the last feature says which kind it is
        found.append((frames, wanted))
    return found


def test_with_all_frames_for_landmarks_it_is_kernel_ridge_regression(videos: Videos) -> None:
    fitted = KernelRidge.fit(videos, n_landmarks=1000)
    assert len(fitted.weights) == 400
    wanted = np.concatenate([target for _, target in videos])
    apart = fitted.sharpness * squared_distances(fitted.landmarks, fitted.landmarks)
    kernel = np.exp(-apart - fitted.video_sharpness * squared_distances(fitted.landmark_videos, fitted.landmark_videos))
    exact = np.linalg.solve(kernel + PENALTY * np.eye(400), wanted - wanted.mean())
    expected = kernel @ exact + wanted.mean()
    found = np.concatenate([fitted.predict(features) for features, _ in videos])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_it_learns_what_no_line_tells_and_what_hangs_on_the_video(videos: Videos) -> None:
    *training, odd, even = videos
    fitted = KernelRidge.fit(training, n_landmarks=100, penalty=0.1)
    for features, wanted in (odd, even):
        assert np.corrcoef(fitted.predict(features), wanted)[0, 1] > 0.7


def test_frames_that_are_all_the_same_are_no_trouble() -> None:
    fitted = KernelRidge.fit([(np.ones((30, 4)), np.linspace(0, 1, 30))], n_landmarks=10)
    assert np.isfinite(fitted.weights).all()
    np.testing.assert_allclose(fitted.predict(np.ones((5, 4))), 0.5, atol=0.01)
