"""From scores on the picks to segments: each step against a loop that does it frame by frame."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.selection import expand, perturbed_choices, segment_means, segment_values, select, stability, summary_mask
from vastsum.types import PAPER_DECODER, Decoder, Prediction, Segments


@st.composite
def timelines(draw: st.DrawFn) -> Segments:
    n_frames = draw(st.integers(1, 60))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, n_frames - 1)), max_size=8)) - {n_frames})
    starts = np.array([0, *cuts])
    ends = np.append(starts[1:] - 1, n_frames - 1)
    picks = sorted(draw(st.sets(st.integers(0, n_frames - 1), min_size=1, max_size=20)))
    return Segments(np.column_stack([starts, ends]), np.array(picks), n_frames)


@settings(max_examples=200, deadline=None)
@given(timelines(), st.integers(0, 1000))
def test_segment_values_equal_the_paper_read_frame_by_frame(segments: Segments, seed: int) -> None:
    scores = np.random.default_rng(seed).normal(size=len(segments.picks))
    frames = np.empty(segments.n_frames)
    for n in range(segments.n_frames):
        before = [t for t, pick in enumerate(segments.picks) if pick <= n]
        frames[n] = scores[before[-1] if before else 0]
    assert expand(scores, segments.picks, segments.n_frames) == pytest.approx(frames)
    means = [frames[start : end + 1].mean() for start, end in segments.bounds]
    assert segment_means(frames, segments.bounds) == pytest.approx(means)
    assert segment_values(scores, segments) == pytest.approx(means)


@settings(max_examples=200, deadline=None)
@given(timelines())
def test_every_pick_lies_in_its_segment(segments: Segments) -> None:
    for pick, k in zip(segments.picks, segments.ids, strict=True):
        start, end = segments.bounds[k]
        assert start <= pick <= end
    assert segments.lengths.sum() == segments.n_frames


@settings(max_examples=200, deadline=None)
@given(timelines(), st.integers(0, 1000), st.floats(0.05, 1.0))
def test_a_selection_is_within_budget_and_not_empty_if_it_can_be(segments: Segments, seed: int, budget: float) -> None:
    scores = np.random.default_rng(seed).normal(size=len(segments.picks))
    selection = select(Prediction(scores, np.ones_like(scores)), segments, budget)
    mask = summary_mask(selection.chosen, segments)
    assert len(mask) == segments.n_frames
    assert mask.sum() <= budget * segments.n_frames
    assert selection.chosen.any() == (segments.lengths.min() <= int(budget * segments.n_frames))


def test_stability_is_one_without_noise_and_less_where_the_choice_is_close() -> None:
    values, weights = np.array([1.0, 0.50, 0.49, 0.0]), np.array([1, 1, 1, 1])
    chosen = np.array([True, True, False, False])
    quiet = perturbed_choices(values, weights, 2, noise=0.0, draws=8, rng=np.random.default_rng(0))
    noisy = perturbed_choices(values, weights, 2, noise=0.05, draws=200, rng=np.random.default_rng(0))
    assert stability(chosen, quiet).tolist() == [1, 1, 1, 1]
    firm, close, close_too, out = stability(chosen, noisy)
    assert firm == out == 1
    assert 0.4 < close < 0.8
    assert 0.4 < close_too < 0.8


@given(st.floats(0.125, 64.0, width=32), st.integers(2, 9), st.integers(2, 9))
def test_segments_of_equal_score_tie_whatever_their_lengths(score: float, first: int, second: int) -> None:
    n_frames = 3 + first + second
    frames = np.full(n_frames, score)
    frames[:3] = score / 7
    bounds = np.array([[0, 2], [3, 2 + first], [3 + first, n_frames - 1]])
    _, a, b = segment_means(frames, bounds)
    assert a == b


def test_a_sharper_decoder_weighs_differences_in_importance_over_length() -> None:
    segments = Segments(np.array([[0, 29], [30, 39], [40, 99]]), np.arange(0, 100, 10), 100)
    scores = np.array([5.0, 5, 5, 1, 1, 1, 1, 1, 1, 1])
    z = (scores - scores.mean()) / scores.std()
    values = segment_values(scores, segments, Decoder(sharpness=2.0, length_power=0.5))
    np.testing.assert_allclose(values, np.exp(2 * z[[0, 3, 4]]) * np.sqrt([30, 10, 60]), rtol=1e-6)
    np.testing.assert_allclose(segment_values(scores * 3 + 7, segments, Decoder(2.0, 0.5)), values, rtol=1e-6)


def test_scores_that_are_all_alike_are_decoded_by_length_alone() -> None:
    segments = Segments(np.array([[0, 29], [30, 99]]), np.arange(0, 100, 10), 100)
    scores = np.full(10, 0.1) + np.random.default_rng(0).normal(0, 1e-17, 10)
    np.testing.assert_array_equal(segment_values(scores, segments, Decoder(sharpness=4.0)), [1.0, 1.0])


def test_a_prediction_is_decoded_as_it_asks_unless_told_otherwise() -> None:
    segments = Segments(np.array([[0, 9], [10, 39], [40, 99]]), np.arange(0, 100, 10), 100)
    scores = np.array([1.0, 0.99, 0.99, 0.99, 0, 0, 0, 0, 0, 0])
    prediction = Prediction(scores, np.zeros(10), Decoder(length_power=1.0))
    assert select(prediction, segments, 0.3).chosen.tolist() == [False, True, False]
    assert select(prediction, segments, 0.3, PAPER_DECODER).chosen.tolist() == [True, False, False]
