"""What a person may count on: never over budget, never empty, whole segments, and honest chances."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.errors import ConfigError, DataError
from vastsum.segmentation import at_good_places, max_segment_s
from vastsum.selection import segment_values, select
from vastsum.selection.decode import DECODERS
from vastsum.selection.fill import LEAST
from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import Marks, Prediction, Segments, Stretch
from vastsum.video import Timeline, VideoInfo

MODEL = ModelNames("vastsum", "efficientnet_lite0")


def timeline_of(pts: np.ndarray, last: int, unit: Fraction = Fraction(1, 1000)) -> Timeline:
    return Timeline(pts.astype(np.int64), unit, last, np.array([0]))


def video_of(n_frames: int, duration_s: float) -> SourceVideo:
    return SourceVideo(Path("films/holiday.mp4"), duration_s, n_frames / duration_s, n_frames, 640, 360)


def tiling(starts: list[int], picks: list[int], n_frames: int) -> Segments:
    bounds = np.column_stack([starts, [*[s - 1 for s in starts[1:]], n_frames - 1]])
    return Segments(bounds, np.array(picks), n_frames)


def simple(
    budget: float = 0.25, std: float = 0.05, timeline: Timeline | None = None, marks: Marks | None = None
) -> Summary:
    """400 frames at 25 a second in four equal segments, of which the third is the best."""
    mean = np.repeat([0.2, 0.4, 0.9, 0.3], 10) + np.tile(np.linspace(0, 0.05, 10), 4)
    segments = tiling([0, 100, 200, 300], list(range(0, 400, 10)), 400)
    prediction = Prediction(mean.astype(np.float32), np.full(40, std, dtype=np.float32))
    return Summary.choose(
        video_of(400, 16.0), MODEL, prediction, segments, budget, timeline=timeline, marks=marks or Marks()
    )


@st.composite
def summaries(draw: st.DrawFn) -> Summary:
    """Any video, evenly spaced or not, under any budget."""
    n_frames = draw(st.integers(1, 300))
    cuts = sorted(draw(st.sets(st.integers(1, max(n_frames - 1, 1)), max_size=12)) - {n_frames})
    picks = sorted(draw(st.sets(st.integers(0, n_frames - 1), min_size=1, max_size=30)))
    segments = tiling([0, *cuts], picks, n_frames)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps = rng.integers(1, 400, n_frames) if draw(st.booleans()) else np.full(n_frames, 40)
    timeline = timeline_of(np.concatenate([[7], 7 + np.cumsum(steps[:-1])]), int(steps[-1]))
    prediction = Prediction(rng.normal(0.5, 0.4, len(picks)), rng.uniform(0, 0.3, len(picks)))
    budget = draw(st.floats(0.0005, 1.0))
    video = video_of(n_frames, timeline.duration_s)
    return Summary.choose(video, MODEL, prediction, segments, budget, timeline=timeline)


@settings(max_examples=300, deadline=None)
@given(summaries(), st.floats(0.0005, 1.0))
def test_never_empty_never_over_budget_and_always_a_whole_timeline(first: Summary, budget: float) -> None:
    for summary in (first, first.with_budget(budget)):
        assert summary.selected
        assert summary.n_frames >= 1
        if summary.n_frames > 1:
            assert summary.duration_s <= summary.budget.seconds + 1e-6
        assert summary.fraction == pytest.approx(summary.duration_s / summary.video.duration_s)
        rows = summary.segments
        assert rows[0].start_frame == 0
        assert rows[-1].end_frame == summary.video.n_frames - 1
        assert rows[0].start_s == 0
        assert rows[-1].end_s == summary.video.duration_s
        for row, after in pairwise(rows):
            assert (after.start_frame, after.start_s) == (row.end_frame + 1, row.end_s)
        assert all(0 <= row.chance <= 1 and row.uncertainty >= 0 for row in rows)
        means = segment_values(summary.importance, summary.layout)
        assert [row.importance for row in rows] == pytest.approx(means)


@settings(max_examples=150, deadline=None)
@given(summaries(), st.floats(0.0005, 1.0), st.floats(0.0005, 1.0))
def test_the_way_to_a_budget_does_not_matter(summary: Summary, by_way_of: float, budget: float) -> None:
    assert summary.with_budget(by_way_of).with_budget(budget) == summary.with_budget(budget)


@settings(max_examples=150, deadline=None)
@given(summaries())
def test_a_summary_survives_its_dictionary_exactly(summary: Summary) -> None:
    again = Summary.from_dict(summary.to_dict())
    assert again == summary
    assert again.to_dict() == summary.to_dict()
    assert again.importance.tobytes() == summary.importance.tobytes()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([24, 25, 30, 30000 / 1001, 60]), st.floats(0.1, 0.9))
def test_evenly_spaced_frames_are_chosen_as_on_the_benchmark(seed: int, fps: float, budget: float) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 60, 12)
    n_frames = int(lengths.sum())
    segments = tiling([0, *np.cumsum(lengths)[:-1].tolist()], list(range(0, n_frames, 7)), n_frames)
    prediction = Prediction(rng.random(len(segments.picks)), rng.random(len(segments.picks)))
    video = video_of(n_frames, n_frames / fps)
    for decoder in DECODERS.values():
        expected = select(prediction, segments, budget, decoder)
        summary = Summary.choose(video, MODEL, prediction, segments, budget, decoder=decoder)
        if expected.chosen.any():
            ends = {(row.start_frame, row.end_frame) for row in summary.selected}
            whole = {(first, last) for first, last in segments.bounds[expected.chosen].tolist()}
            filled = segments.lengths[expected.chosen].sum() / (budget * n_frames)
            assert ends == whole if decoder == DECODERS["paper"] else ends >= whole or filled < LEAST


def test_the_best_segment_is_chosen_and_the_numbers_add_up() -> None:
    summary = simple()
    assert summary.ranges == [(200, 299)]
    assert (summary.n_frames, summary.duration_s, summary.fraction) == (100, 4.0, 0.25)
    assert (summary.selected[0].start_s, summary.selected[0].end_s) == (8.0, 12.0)
    assert (summary.budget.fraction, summary.budget.seconds) == (0.25, 4.0)
    assert repr(summary) == "<Summary of holiday.mp4: 1 of 4 segments, 4.0 of 16.0 s>"
    assert summary.prediction.mean.dtype == np.float64


def test_with_budget_leaves_the_first_as_it_was() -> None:
    summary = simple()
    longer = summary.with_budget(0.5)
    assert summary.ranges == [(200, 299)]
    assert longer.ranges == [(100, 299)]
    assert [(row.start_frame, row.end_frame) for row in longer.selected] == [(100, 199), (200, 299)]
    with pytest.raises(ValueError, match="read-only"):
        summary.importance[0] = 1.0


def test_the_whole_video_fits_its_own_length_even_with_rounded_times() -> None:
    pts = np.round(np.arange(400) * 1000 / 30)
    timeline = timeline_of(pts, 33)
    prediction = Prediction(np.full(40, 0.5), np.zeros(40))
    segments = tiling([0, 101, 199, 300], list(range(0, 400, 10)), 400)
    video = video_of(400, timeline.duration_s)
    whole = Summary.choose(video, MODEL, prediction, segments, 1.0, timeline=timeline)
    assert whole.n_frames == 400
    assert whole.fraction == pytest.approx(1.0)


@pytest.mark.parametrize("budget", [0, -0.1, 1.01, float("nan"), float("inf")])
def test_impossible_budgets_are_refused(budget: float) -> None:
    with pytest.raises(ConfigError, match="share of the video"):
        simple().with_budget(budget)


def test_variable_rate_is_budgeted_by_time_on_screen() -> None:
    # The first hundred frames flash by in 1 s; the second hundred stay for 99 s.
    steps = np.repeat([10, 990], 100)
    timeline = timeline_of(np.concatenate([[0], np.cumsum(steps)[:-1]]), 990)
    segments = tiling([0, 100], [0, 100], 200)
    prediction = Prediction(np.array([0.1, 0.9]), np.zeros(2))
    video = video_of(200, timeline.duration_s)
    summary = Summary.choose(video, MODEL, prediction, segments, 0.5, timeline=timeline)
    first, part = summary.selected  # by frames, the whole second one would have fitted
    assert (first.start_frame, first.end_frame, first.end_s) == (0, 99, pytest.approx(1.0))
    assert part.start_frame == 100
    assert 48 < part.duration_s <= 49
    trimmed = summary.with_budget(0.005)
    assert trimmed.ranges == [(100, 100)]  # one frame stays for 0.99 s, more than asked for, but there is no less


def test_a_budget_below_every_segment_trims_the_best_one_around_its_best_pick() -> None:
    summary = simple(0.05)
    assert summary.n_frames == 20
    (chosen,) = summary.selected
    assert chosen.start_frame <= 290 <= chosen.end_frame  # the most important pick
    assert chosen.importance > 0.9
    bounds = [(row.start_frame, row.end_frame) for row in summary.segments]
    assert bounds == [(0, 99), (100, 199), (200, 279), (280, 299), (300, 399)]
    assert summary.segments[3].start_s == pytest.approx(11.2)
    assert simple(0.0001).n_frames == 1


def test_trimming_uses_the_real_times_of_frames() -> None:
    # In the best segment all time is spent on the frames before its best pick.
    pts = np.concatenate([np.arange(200) * 40, 8000 + np.arange(50) * 400, 28000 + np.arange(150) * 40])
    timeline = timeline_of(pts, 40)
    mean = np.repeat([0.2, 0.4, 0.9, 0.3], 10)
    mean[25] = 1.0  # frame 250, the first of the quick ones
    prediction = Prediction(mean, np.zeros(40))
    segments = tiling([0, 100, 200, 300], list(range(0, 400, 10)), 400)
    video = video_of(400, timeline.duration_s)
    summary = Summary.choose(video, MODEL, prediction, segments, 1.0 / timeline.duration_s, timeline=timeline)
    (chosen,) = summary.selected
    assert chosen.start_frame <= 250 <= chosen.end_frame
    assert chosen.duration_s <= 1.0
    assert chosen.start_s == timeline.times_s[chosen.start_frame]
    assert chosen.end_s == timeline.times_s[chosen.end_frame + 1]


def test_people_would_rather_include_what_stands_out_and_more_of_it_in_longer_summaries() -> None:
    chances = [row.chance for row in simple().segments]
    assert max(chances) == chances[2] > 0.4 > 0.2 > max(chances[0], chances[3])
    assert all(b > a for a, b in zip(chances, [row.chance for row in simple(0.5).segments], strict=True))


def test_where_all_scores_are_alike_the_chance_is_about_the_budget() -> None:
    segments = tiling([0, 100], [0, 100], 200)
    summary = Summary.choose(video_of(200, 8.0), MODEL, Prediction(np.full(2, 0.5), np.zeros(2)), segments, 0.5)
    assert [row.chance for row in summary.segments] == pytest.approx([0.5, 0.5], abs=0.02)


def test_what_whole_segments_leave_over_goes_on_from_a_chosen_one() -> None:
    summary = simple(0.3)  # 120 frames: the best segment, and the beginning of the one after it
    assert summary.ranges == [(200, 319)]
    assert summary.duration_s == pytest.approx(summary.budget.seconds)
    assert summary.starts == [0, 100, 200, 300]
    assert summary.with_budget(0.25) == simple(0.25)


def test_a_part_never_shows_the_flash_of_another_shot() -> None:
    cut_inside = Marks(cuts=(310,))  # 0.4 s before the part would end
    assert simple(0.3, marks=cut_inside).ranges == [(200, 309)]
    cut_before = Marks(cuts=(300,))
    assert simple(0.3, marks=cut_before).ranges == [(200, 299)]  # 0.8 s of another shot
    assert simple(0.32, marks=cut_before).n_frames == 128  # more than a second is a shot of its own


def test_what_fills_the_budget_comes_before_what_ends_well() -> None:
    """0.96 s are left over: too little for a piece of its own beside what would end at 310."""
    talk = Marks(speech=(Stretch(300, 310), Stretch(313, 390)), pauses=(311,))
    assert simple(0.31, marks=talk).ranges == [(200, 323)]
    assert simple(0.35, marks=talk).ranges == [(100, 128), (200, 310)]  # 1.6 s are enough for both


def test_no_piece_begins_or_ends_with_a_flash() -> None:
    begun_and_ended = Marks(cuts=(205, 210, 290))  # 0.2 s and 0.2 s of other shots, and then 0.4 s of another
    assert simple(0.25, marks=begun_and_ended).ranges[0] == (210, 289)
    assert simple(1.0, marks=begun_and_ended).ranges == [(0, 399)]
    within = simple(0.5, marks=Marks(cuts=(205,)))
    assert within.ranges == [(100, 299)]  # it goes on before


def test_what_is_cut_down_to_the_budget_stays_in_its_shot() -> None:
    assert simple(0.03).ranges == [(284, 295)]
    assert simple(0.03, marks=Marks(cuts=(287,))).ranges == [(287, 298)]
    assert simple(0.03, marks=Marks(cuts=(287, 294))).ranges == [(284, 295)]  # too short a shot


@pytest.mark.parametrize(("shortest_s", "budget"), [(0.3, 0.15), (0.3, 0.3), (0.7, 0.05), (0.7, 0.15)])
def test_a_film_of_short_shots_is_cut_without_flashes(shortest_s: float, budget: float) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n_frames = 2250
        cuts = np.cumsum(rng.uniform(shortest_s, 4 * shortest_s, n_frames) * 25).astype(int)
        marks = Marks(tuple(cuts[cuts < n_frames].tolist()))
        found = tiling([0], list(range(0, n_frames, 12)), n_frames)
        segments = at_good_places(replace(found, fps=25), marks, max_s=max_segment_s(90.0, budget))
        prediction = Prediction(rng.standard_normal(len(found.picks)), np.zeros(len(found.picks)))
        summary = Summary.choose(video_of(n_frames, 90.0), MODEL, prediction, segments, budget, marks=marks)
        for first, last in summary.ranges:
            inside = [cut for cut in marks.cuts if first < cut <= last]
            assert all(cut - first >= 12 and last + 1 - cut >= 12 for cut in inside)


def test_a_part_ends_where_speech_pauses_if_that_fills_the_budget() -> None:
    spoken = (Stretch(290, 390),)
    assert simple(0.3, marks=Marks(speech=spoken, pauses=(315,))).ranges == [(200, 314)]
    assert simple(0.3, marks=Marks(speech=spoken, pauses=(305,))).ranges == [(200, 319)]  # 88 % is too little


def test_a_sentence_is_finished_before_anything_else_is_added() -> None:
    """Three seconds are left; 100 … 174 would be worth more than the beginning of the last segment."""
    assert simple(0.44).ranges == [(100, 175), (200, 299)]
    unfinished = Marks(speech=(Stretch(250, 330),), pauses=(335,))
    assert simple(0.44, marks=unfinished).ranges == [(200, 375)]
    cut_between = replace(unfinished, cuts=(300,))
    assert simple(0.44, marks=cut_between).ranges == [(100, 175), (200, 299)]
    too_long = Marks(speech=(Stretch(250, 390),), pauses=(395,))
    assert simple(0.44, marks=too_long).ranges == [(100, 175), (200, 299)]


def test_no_sentence_is_begun_only_to_fill_the_rest() -> None:
    """97 % are full; more would end within a sentence."""
    assert simple(0.258).ranges == [(200, 302)]
    talk = Marks(speech=(Stretch(0, 399),), pauses=(50, 350))
    assert simple(0.258, marks=talk).ranges == [(200, 299)]


def test_what_shows_nothing_is_left_out_while_there_is_anything_else() -> None:
    black = (Stretch(200, 280, "black"),)
    assert simple(0.25, marks=Marks(empty=black)).ranges == [(100, 199)]
    everything = (Stretch(0, 399, "frozen"),)
    assert simple(0.25, marks=Marks(empty=everything)).ranges == [(200, 299)]
    kept = simple(0.25, marks=Marks(empty=black)).with_budget(0.25, keep=[2])
    assert kept.ranges == [(200, 299)]  # a person's word counts


def test_disagreement_does_not_average_out_within_a_segment() -> None:
    assert [row.uncertainty for row in simple(std=0.25).segments] == pytest.approx([0.25] * 4)


def test_the_highlight_is_the_best_pick_or_the_first_frame_of_a_segment_without_picks() -> None:
    summary = simple()
    assert summary.highlight(summary.segments[2]) == 290
    segments = tiling([0, 5, 8], [0, 9], 10)
    bare = Summary.choose(video_of(10, 1.0), MODEL, Prediction(np.ones(2), np.zeros(2)), segments, 1.0)
    assert [bare.highlight(row) for row in bare.segments] == [0, 5, 9]


def test_times_between_cuts_are_interpolated_without_a_timeline_and_exact_with_one() -> None:
    pts = np.concatenate([np.arange(399) * 40, [15_960 + 500]])
    timeline = timeline_of(pts, 40)
    segments = tiling([0, 390], [0, 390], 400)
    prediction = Prediction(np.ones(2), np.zeros(2))
    exact = Summary.choose(video_of(400, 16.5), MODEL, prediction, segments, 1.0, timeline=timeline)
    assert exact.times_s(np.array([0, 398, 399, 400])) == pytest.approx([0, 15.92, 16.46, 16.5])
    loaded = Summary.from_dict(exact.to_dict())
    assert loaded == exact
    assert loaded.times_s(np.array([0, 390, 395, 400])) == pytest.approx([0, 15.6, 16.05, 16.5])


def test_parts_that_do_not_belong_together_are_refused() -> None:
    segments = tiling([0, 5], [0, 5], 10)
    good = Prediction(np.ones(2), np.zeros(2))
    for prediction, problem in [
        (Prediction(np.ones(3), np.zeros(3)), "3 scores with 3 uncertainties for 2 picks"),
        (Prediction(np.array([1, np.nan]), np.zeros(2)), "no numbers"),
        (Prediction(np.ones(2), -np.ones(2)), "no numbers"),
    ]:
        with pytest.raises(DataError, match=problem):
            Summary.choose(video_of(10, 1.0), MODEL, prediction, segments)
    with pytest.raises(DataError, match="number of frames"):
        Summary.choose(video_of(11, 1.0), MODEL, good, segments)


def test_facts_come_from_the_frames_and_not_from_the_header() -> None:
    info = VideoInfo(Path("a.mp4"), 640, 360, 99.0, 1e6, 0, "h264", "mov", 1)
    video = SourceVideo.of(info, timeline_of(np.arange(50) * 40, 40))
    assert video == SourceVideo(Path.cwd() / "a.mp4", 2.0, 25.0, 50, 640, 360)


def test_summaries_are_compared_by_content() -> None:
    assert simple() == simple()
    assert simple() != simple(0.5)
    assert simple() != "a summary"
    with pytest.raises(TypeError, match="unhashable"):
        hash(simple())


def test_a_persons_word_counts_and_the_rest_of_the_budget_goes_to_the_others() -> None:
    half = simple(0.5)
    assert half.ranges == [(100, 299)]
    kept = half.with_budget(0.5, keep=[0])
    assert kept.ranges == [(0, 99), (200, 299)]
    assert half.with_budget(0.5, leave_out=[2]).ranges == [(100, 199), (300, 399)]
    assert half.with_budget(0.1, keep=[0, 1]).ranges == [(0, 199)]  # over budget, as asked
    assert half.with_budget(0.1, leave_out=[2]).selected[0].start_frame >= 100  # the next best is trimmed
    assert half.with_budget(0.5) == half
    for wrong in ({"keep": [0], "leave_out": [0]}, {"leave_out": [0, 1, 2, 3]}, {"keep": [4]}):
        with pytest.raises(ConfigError):
            half.with_budget(0.5, **wrong)


@settings(max_examples=100, deadline=None)
@given(summaries(), st.data())
def test_kept_segments_are_in_and_left_out_ones_are_not(summary: Summary, data: st.DataObject) -> None:
    whole = summary.with_budget(1.0)
    n = len(whole.segments)
    keep = data.draw(st.sets(st.integers(0, n - 1)))
    leave_out = data.draw(st.sets(st.integers(0, n - 1), max_size=n - 1)) - keep
    edited = whole.with_budget(data.draw(st.floats(0.01, 1.0)), keep=keep, leave_out=leave_out)
    chosen = {row.start_frame for row in edited.selected}
    assert {whole.segments[k].start_frame for k in keep} <= chosen
    for k in leave_out:
        row = whole.segments[k]
        assert not any(row.start_frame <= start <= row.end_frame for start in chosen)
    kept_s = sum(whole.segments[k].duration_s for k in keep)
    assert edited.n_frames == 1 or edited.duration_s <= max(edited.budget.seconds, kept_s) + 1e-6
    assert Summary.from_dict(edited.to_dict()) == edited


def test_boundaries_can_be_moved_and_scores_stay() -> None:
    moved = simple(0.25).with_starts([0, 100, 190, 290])
    assert [(row.start_frame, row.end_frame) for row in moved.segments] == [(0, 99), (100, 189), (190, 289), (290, 399)]
    assert moved.segments[2].start_s == pytest.approx(190 / 25)
    assert moved.ranges == [(190, 289)]
    assert moved.with_starts([0, 100, 200, 300]) == simple(0.25)
    for wrong in ([], [1, 5], [0, 5, 5], [0, 400]):
        with pytest.raises(ConfigError, match="one after another"):
            simple().with_starts(wrong)
