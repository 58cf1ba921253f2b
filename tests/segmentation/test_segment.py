"""From vectors to segments on the original timeline."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.errors import ConfigError, DataError
from vastsum.segmentation import SEGMENTERS, UniformSegmenter, max_segment_s, segment, snap
from vastsum.types import FloatArray, IntArray, Segments

SHARED_DATA = Path(__file__).parents[3] / "shared" / "data"


def scenes(lengths: list[int], noise: float = 0.05, width: int = 32, seed: int = 0) -> FloatArray:
    """One vector of length one a pick; `lengths` are picks a scene."""
    rng = np.random.default_rng(seed)
    vectors = np.repeat(rng.normal(size=(len(lengths), width)), lengths, axis=0)
    vectors += noise * rng.normal(size=vectors.shape)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def two_a_second(n_picks: int, fps: int = 30) -> tuple[IntArray, int]:
    return np.arange(n_picks) * (fps // 2), n_picks * (fps // 2)


def test_a_cut_lies_at_the_frame_of_the_pick_that_starts_the_segment() -> None:
    picks, n_frames = two_a_second(60)
    segments = segment(scenes([20, 25, 15]), picks, n_frames, fps=30)
    assert segments.bounds.tolist() == [[0, 299], [300, 674], [675, 899]]
    assert segments.ids.tolist() == [0] * 20 + [1] * 25 + [2] * 15


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=12),
    st.floats(0, 1),
    st.floats(5, 120),
    st.sampled_from(sorted(SEGMENTERS)),
    st.none() | st.floats(2.5, 30),
    st.integers(0, 2**32 - 1),
)
def test_segments_cover_the_video_and_keep_to_the_limits(
    lengths: list[int], noise: float, fps: float, segmenter: str, max_s: float | None, seed: int
) -> None:
    features = scenes(lengths, noise, seed=seed)
    rng = np.random.default_rng(seed)
    picks = np.cumsum(rng.integers(1, max(int(fps), 2), len(features)))
    n_frames = int(picks[-1] + rng.integers(1, 40))
    segments = segment(features, picks, n_frames, fps, segmenter=segmenter, max_s=max_s)
    starts, ends = segments.bounds.T
    assert starts[0] == 0
    assert ends[-1] == n_frames - 1
    assert (starts[1:] == ends[:-1] + 1).all()
    if len(segments) > 1:
        assert segments.lengths.min() >= fps - 1  # a second, less what whole frames cost
    if max_s is not None:
        assert segments.lengths.max() <= max_s * fps
    else:
        assert np.isin(starts[1:], picks).all()


def test_a_glimpse_joins_the_neighbour_it_resembles() -> None:
    a, b = np.eye(8)[0], np.eye(8)[1]
    like_b = (0.45 * a + 0.9 * b) / np.hypot(0.45, 0.9)
    features = np.array([a] * 10 + [like_b] + [b] * 9)
    picks, n_frames = two_a_second(20)

    class AroundTheGlimpse:
        def cuts(self, features: FloatArray, duration_s: float) -> IntArray:
            return np.array([10, 11])

    segments = segment(features, picks, n_frames, fps=30, segmenter=AroundTheGlimpse())
    assert segments.bounds.tolist() == [[0, 149], [150, 299]]


def test_a_long_still_shot_is_split_evenly() -> None:
    picks, n_frames = two_a_second(200)
    segments = segment(scenes([200]), picks, n_frames, fps=30, max_s=30)
    assert segments.lengths.tolist() == [750] * 4


@pytest.mark.parametrize("segmenter", sorted(SEGMENTERS))
def test_the_smallest_videos(segmenter: str) -> None:
    for features, picks, n_frames in (
        (np.ones((1, 4)), [0], 1),
        (np.ones((1, 4)), [7], 400),
        (np.zeros((3, 4)), [0, 1, 2], 3),
    ):
        segments = segment(features, np.array(picks), n_frames, fps=25, segmenter=segmenter)
        assert segments.bounds.tolist() == [[0, n_frames - 1]]


def test_uniform_segments_are_as_long_as_asked() -> None:
    picks, n_frames = two_a_second(240)
    segments = segment(scenes([240]), picks, n_frames, fps=30, segmenter=UniformSegmenter(length_s=4))
    assert segments.lengths.tolist() == [120] * 30


def test_more_strength_never_means_more_segments() -> None:
    picks, n_frames = two_a_second(300)
    features = scenes([10] * 30, noise=0.6)
    counts = [len(segment(features, picks, n_frames, 30, strength=v)) for v in (0.05, 0.2, 1, 5, 50)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1


def test_the_longest_segment_is_a_share_of_the_budget_and_always_fits_it() -> None:
    assert max_segment_s(600, 0.15, share=0.5) == pytest.approx(45)
    assert max_segment_s(20, 0.15) == pytest.approx(2)  # half of it could not be split into whole seconds
    assert max_segment_s(5, 0.15) == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"features": np.full((3, 2), np.nan)}, DataError, "finite"),
        ({"features": np.zeros(3)}, DataError, "vectors"),
        ({"features": np.zeros((0, 2)), "picks": np.zeros(0, int)}, DataError, "vectors"),
        ({"picks": np.array([0, 2, 1])}, DataError, "increasing"),
        ({"picks": np.array([0, 1])}, DataError, "increasing"),
        ({"picks": np.array([0, 1, 9])}, DataError, "0 … 8"),
        ({"fps": 0.0}, DataError, "frame rate"),
        ({"segmenter": "magic"}, ConfigError, "kts, uniform"),
        ({"strength": -1.0}, ConfigError, "positive"),
        ({"segmenter": "uniform", "strength": 1.0}, ConfigError, "only"),
        ({"max_s": 0.0}, ConfigError, "positive"),
    ],
)
def test_what_cannot_be_segmented_is_named(change: dict[str, object], error: type[Exception], words: str) -> None:
    arguments = {"features": np.zeros((3, 2)), "picks": np.array([0, 3, 6]), "n_frames": 9, "fps": 1.0, **change}
    with pytest.raises(error, match=words):
        segment(**arguments)  # type: ignore[arg-type]


def test_needs_no_torch() -> None:
    code = "import sys, vastsum.segmentation, vastsum.features; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason="the benchmark files (../shared/data) are not here")
@pytest.mark.parametrize("dataset", ["summe", "tvsum"])
def test_segments_are_as_long_as_the_published_ones(dataset: str) -> None:
    h5py = pytest.importorskip("h5py")
    ours, published = [], []
    with h5py.File(SHARED_DATA / f"{dataset}.efficientnet_lite0.h5") as file:
        for video in file.values():
            n_frames, fps = int(video["n_frames"][()]), float(video["fps"][()])
            segments = segment(video["features"][()], video["picks"][()], n_frames, fps)
            ours.append(n_frames / fps / len(segments))
            published.append(n_frames / fps / len(video["change_points"]))
    assert np.mean(ours) == pytest.approx(np.mean(published), rel=0.1)


def test_segments_snap_back_to_key_frames() -> None:
    segments = Segments(np.array([[0, 9], [10, 24], [25, 29], [30, 59]]), np.arange(0, 60, 5), 60)
    snapped = snap(segments, np.array([0, 12, 28, 30]))
    assert snapped.bounds.tolist() == [[0, 11], [12, 29], [30, 59]]
    assert snap(segments, np.array([], dtype=np.int64)).bounds.tolist() == [[0, 59]]
