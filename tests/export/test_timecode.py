"""Times as people read them, budgets as they ask for them, time codes as editing programs count them."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from summaries import make_summary

from vastsum.errors import ConfigError
from vastsum.export import format_short, format_time, parse_budget, read_budget
from vastsum.export.timecode import FrameClock, format_length, nearest_standard_rate


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (64.2, "00:01:04.200"),
        (0, "00:00:00.000"),
        (59.9996, "00:01:00.000"),
        (360_000, "100:00:00.000"),
        (-1, "00:00:00.000"),
    ],
)
def test_times_read_as_people_write_them(seconds: float, text: str) -> None:
    assert format_time(seconds) == text


def test_short_forms() -> None:
    assert format_time(64.2, 0) == "00:01:04"
    assert [format_short(s) for s in (4, 64, 3723)] == ["0:04", "1:04", "1:02:03"]
    assert format_short(0.5, 1) == "0:00.5"
    assert [format_length(s) for s in (0.04, 4.84, 59.96, 90)] == ["0.04 s", "4.8 s", "1:00", "1:30"]


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("15%", 0.15),
        (" 15 % ", 0.15),
        ("0.15", 0.15),
        (".5", 0.5),
        ("1", 1.0),
        ("100%", 1.0),
        ("12.5%", 0.125),
        ("90s", 0.15),
        ("90 S", 0.15),
        ("1:30", 0.15),
        ("0:01:30", 0.15),
        ("1:30.0", 0.15),
        ("1m30s", 0.15),
        ("1.5min", 0.15),
        ("0.025h", 0.15),
        ("600s", 1.0),
        ("601s", 1.0),
        ("1h", 1.0),
    ],
)
def test_budgets_are_understood(text: str, fraction: float) -> None:
    assert parse_budget(text, 600.0) == pytest.approx(fraction, abs=1e-15)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("0", "leaves no summary"),
        ("0%", "leaves no summary"),
        ("0s", "leaves no summary"),
        ("0:00", "leaves no summary"),
        ("-5%", "not a length"),
        ("-1:30", "not a length"),
        ("", "not a length"),
        ("  ", "not a length"),
        ("much", "not a length"),
        ("%", "not a length"),
        ("s", "not a length"),
        ("nan", "not a length"),
        ("inf", "not a length"),
        ("1e-3", "not a length"),
        ("1:75", "not a length"),
        ("1:60:00", "not a length"),
        ("15%%", "not a length"),
        ("٣%", "not a length"),
        ("150%", "more than the whole video"),
        ("90", "did you mean 90% or 90s"),
        ("9" * 400 + "s", "leaves no summary"),
    ],
)
def test_nonsense_budgets_are_refused_in_words(text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as caught:
        parse_budget(text, 600.0)
    assert caught.value.remedy


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=12) | st.from_regex(r"[0-9.:%smh -]{0,10}", fullmatch=True))
def test_whatever_is_typed_gives_a_share_or_a_clear_error(text: str) -> None:
    try:
        fraction = parse_budget(text, 600.0)
    except ConfigError:
        return
    assert 0 < fraction <= 1


def test_a_budget_can_be_read_before_the_video() -> None:
    assert read_budget("30s").fraction_of(60.0) == 0.5
    assert read_budget("10%").fraction_of(60.0) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("fps", "rate"),
    [
        (29.97, Fraction(30000, 1001)),
        (29.98, Fraction(30000, 1001)),
        (29.995, Fraction(30)),
        (23.976, Fraction(24000, 1001)),
        (25.0, Fraction(25)),
        (15.0, None),
        (240.0, None),
    ],
)
def test_measured_rates_snap_to_the_standard_ones(fps: float, rate: Fraction | None) -> None:
    assert nearest_standard_rate(fps) == rate


@pytest.mark.parametrize(
    ("fps", "rate"),
    [(15, 30), (12.5, 25), (14.7, 24), (1, 24), (240, 60), (57, 60), (15000 / 1001, Fraction(30000, 1001))],
)
def test_unusual_rates_are_counted_by_time_at_a_standard_one(fps: float, rate: Fraction) -> None:
    summary = make_summary(fps=fps)
    clock = FrameClock.of(summary)
    assert (clock.rate, clock.even) == (rate, False)
    for segment in summary.segments:
        last_s = segment.end_s - 1 / fps
        start, stop = clock.span(segment, last_s)
        assert start < stop
        assert -1e-6 < start / rate - segment.start_s < 1 / rate
        assert (stop - 1) / rate <= max(last_s, start / rate) + 1e-6
    assert clock.n_frames(summary) == round(summary.video.duration_s * rate)


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (0, "00:00:00;00"),
        (1799, "00:00:59;29"),
        (1800, "00:01:00;02"),
        (3597, "00:01:59;29"),
        (3598, "00:02:00;02"),
        (17981, "00:09:59;29"),
        (17982, "00:10:00;00"),
        (107892, "01:00:00;00"),
        (24 * 107892, "00:00:00;00"),
    ],
)
def test_drop_frame_time_code_keeps_up_with_the_clock(frame: int, code: str) -> None:
    assert FrameClock(Fraction(30000, 1001), even=True).timecode(frame) == code


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2_000_000), st.sampled_from([Fraction(30000, 1001), Fraction(60000, 1001), Fraction(25)]))
def test_a_time_code_is_read_back_as_its_frame(frame: int, rate: Fraction) -> None:
    clock = FrameClock(rate, even=True)
    assert clock.frame_of(clock.timecode(frame)) == frame
    assert clock.frame_of(clock.timecode(frame, drop_frame=False)) == frame


@pytest.mark.parametrize(
    "code", ["", "now", "00:00:01:25", "00:61:00:00", "00:00:00;00", "99:00:00:00", "00:00:00:00 "]
)
def test_what_is_no_time_code_at_the_rate_is_none(code: str) -> None:
    assert FrameClock(Fraction(25), even=True).frame_of(code) is None
    assert FrameClock(Fraction(30000, 1001), even=True).frame_of("00:01:00;00") is None  # dropped


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2_000_000), st.sampled_from([Fraction(30000, 1001), Fraction(60000, 1001), Fraction(25)]))
def test_time_codes_agree_with_opentimelineio(frame: int, rate: Fraction) -> None:
    opentime = pytest.importorskip("opentimelineio").opentime
    clock = FrameClock(rate, even=True)
    time = opentime.RationalTime(frame, float(rate))
    assert clock.timecode(frame) == opentime.to_timecode(time, float(rate), drop_frame=clock.drop_frame)
    assert clock.timecode(frame, drop_frame=False) == opentime.to_timecode(time, float(rate), drop_frame=False)
