"""What the rooms make of a video together: budgets are filled, marks are found and heeded."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from vastsum import Summarizer
from vastsum.selection import select
from vastsum.sound import Speech
from vastsum.summarizer import _above_zero, marks_of
from vastsum.types import Prediction, Segments, Stretch
from vastsum.video import Shots, Timeline

RATE = 25


def shots(dead: tuple[Stretch, ...] = (), cuts: tuple[int, ...] = (), fades: tuple[Stretch, ...] = ()) -> Shots:
    return Shots(np.array(cuts, np.int64), dead, fades)


def timeline(n_frames: int, fps: int) -> Timeline:
    return Timeline(np.arange(n_frames), Fraction(1, fps), 1, np.array([0]))


def heard(*spans_s: tuple[float, float], until_s: float) -> Speech:
    """A detector that is sure, hearing everything one step of 32 ms late."""
    voice = np.zeros(int(until_s / 0.032), np.uint8)
    for start_s, end_s in spans_s:
        voice[round(start_s / 0.032) + 1 : round(end_s / 0.032) + 1] = 255
    return Speech(voice, np.where(np.repeat(voice, 4)[: int(until_s * 100)], 200, 0).astype(np.uint8))


def test_a_picture_that_is_shown_is_not_frozen_but_a_film_that_stops_is() -> None:
    slides = shots((Stretch(0, 74, "frozen"), Stretch(77, 150, "frozen")), cuts=(75,))
    assert marks_of(slides, heard(until_s=8.0), timeline(200, RATE)).empty == ()
    stopped = shots((Stretch(100, 174, "frozen"),), cuts=(20, 175))
    assert marks_of(stopped, heard(until_s=8.0), timeline(200, RATE)).empty == stopped.dead
    long = shots((Stretch(0, 299, "frozen"),))
    assert marks_of(long, heard(until_s=12.0), timeline(320, RATE)).empty == long.dead


def test_speech_is_marked_in_frames_that_never_overlap() -> None:
    spoken = heard((1.0, 2.1), (2.35, 4.0), until_s=8.0)
    assert len(spoken.spans) == 2
    for fps in (1, 4, 25):
        marks = marks_of(shots(), spoken, timeline(8 * fps, fps))
        assert all(a.last_frame < b.first_frame for a, b in zip(marks.speech, marks.speech[1:], strict=False))
        assert list(marks.pauses) == sorted(set(marks.pauses))
        assert abs(marks.speech[0].first_frame - fps) <= 1


def moving(seed: int, n_frames: int) -> list[np.ndarray]:
    """A camera that pans over a texture of its own."""
    rng = np.random.default_rng(seed)
    texture = np.kron(rng.integers(30, 225, (12, 60, 3)), np.ones((16, 16, 1))).astype(np.uint8)
    return [texture[:120, 3 * k : 3 * k + 160] for k in range(n_frames)]


def test_cards_and_frozen_film_are_left_out_and_cuts_are_heeded(tmp_path: Path) -> None:
    black, blue = np.zeros((120, 160, 3), np.uint8), np.full((120, 160, 3), (20, 40, 160), np.uint8)
    a, b, c = moving(1, 150), moving(2, 150), moving(3, 150)
    pictures = [*a, *[black] * 75, *b, *[b[-1]] * 250, *[blue] * 50, *c]
    film = tmp_path / "film.mp4"
    with av.open(str(film), "w") as out:
        stream = out.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "crf": "18"})
        stream.width, stream.height, stream.pix_fmt = 160, 120, "yuv420p"
        for picture in pictures:
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), "rgb24")))
        out.mux(stream.encode(None))
    summary = Summarizer(speech=False).summarize(film, 0.3)
    assert set(summary.marks.cuts) >= {150, 225, 675}
    assert {one.kind for one in summary.marks.empty} == {"black", "frozen", "blank"}
    for budget in (0.1, 0.3, 0.5):
        shorter = summary.with_budget(budget)
        taken = np.zeros(len(pictures), bool)
        for first, last in shorter.ranges:
            taken[first : last + 1] = True
        assert not taken[150:225].any()
        assert not taken[380:675].any()  # the frozen film is found a few frames late
        assert shorter.duration_s >= 0.95 * shorter.budget.seconds
        for first, last in shorter.ranges:  # no flash of another shot
            assert all(min(cut - first, last + 1 - cut) >= 12 for cut in (150, 225, 675) if first < cut <= last)


def test_a_dull_video_is_summarised_to_its_full_budget() -> None:
    segments = Segments(np.array([[s, s + 9] for s in range(0, 200, 10)]), np.arange(0, 200, 10), 200)
    dull = Prediction(np.random.default_rng(0).uniform(-0.5, -0.1, 20), np.full(20, 0.3))
    assert select(dull, segments).chosen.sum() == 1
    assert select(_above_zero(dull), segments).chosen.sum() == 3


def test_order_and_real_importance_stay_as_they_are() -> None:
    mean = np.linspace(-1, 1, 50)
    shown = _above_zero(Prediction(mean, np.ones(50)))
    assert (np.diff(shown.mean) > 0).all()
    assert (shown.mean > 0).all()
    assert np.abs(shown.mean - mean)[mean > 0.2].max() < 1e-3
    assert (shown.std == 1).all()
