"""Times as people read and write them, budgets as they ask for them, and the time codes of editing programs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from vastsum.errors import ConfigError
from vastsum.summary import Summary, SummarySegment

_BUDGET_REMEDY = "write it like 15%, 0.15, 90s, 2m30s or 1:30"
_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_SHARE = re.compile(rf"({_NUMBER})\s*(%?)", re.ASCII)
_UNITS = re.compile(rf"(?=.)(?:({_NUMBER})\s*h)?\s*(?:({_NUMBER})\s*m(?:in)?)?\s*(?:({_NUMBER})\s*s(?:ec)?)?", re.ASCII)
_TIMECODE = re.compile(r"(\d\d):(\d\d):(\d\d)[:;](\d\d)", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+):)?(\d+):(\d+(?:\.\d*)?)", re.ASCII)

_NTSC = Fraction(1000, 1001)
_STANDARD_RATES = tuple(sorted([Fraction(n) for n in (24, 25, 30, 48, 50, 60)] + [n * _NTSC for n in (24, 30, 48, 60)]))
# Far enough for rates measured on short videos with times rounded to milliseconds; the nearest rate wins.
_RATE_TOLERANCE = 0.002


def format_time(seconds: float, decimals: int = 3) -> str:
    """00:01:04.200"""
    unit = 10**decimals
    whole, part = divmod(round(max(seconds, 0.0) * unit), unit)
    minutes, secs = divmod(whole, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}:{secs:02d}"
    return f"{text}.{part:0{decimals}d}" if decimals else text


def format_short(seconds: float, decimals: int = 0) -> str:
    """As short as can be: 1:04, 1:02:03, 0:00.5"""
    hours, minutes, rest = format_time(seconds, decimals).split(":")
    return f"{int(hours)}:{minutes}:{rest}" if int(hours) else f"{int(minutes)}:{rest}"


def format_length(seconds: float) -> str:
    """How long something lasts: 0.04 s, 4.8 s, 1:04"""
    if seconds < 1:
        return f"{seconds:.2f} s"
    return f"{seconds:.1f} s" if seconds < 59.95 else format_short(seconds)


@dataclass(frozen=True)
class RequestedBudget:
    """A budget as it was asked for, before the video's duration is known: a share or a number of seconds."""

    text: str
    share: float | None
    seconds: float | None

    def fraction_of(self, duration_s: float) -> float:
        if self.share is not None:
            return self.share
        assert self.seconds is not None
        return min(self.seconds / duration_s, 1.0)

    def warnings(self, duration_s: float) -> tuple[str, ...]:
        longer = self.seconds is not None and self.seconds > duration_s
        return ("the budget is longer than the video: all of it is kept",) if longer else ()


def read_budget(text: str) -> RequestedBudget:
    """Understand '15%', '0.15', '90s', '2m30s', '1:30' or '1:02:03'; nonsense is a ConfigError."""
    stripped = text.strip().lower()
    if match := _SHARE.fullmatch(stripped):
        share = float(match[1]) / (100 if match[2] else 1)
        if share > 1:
            hint = f"did you mean {match[1]}% or {match[1]}s?" if not match[2] else "ask for a part of the video"
            raise ConfigError("budget", f"'{text}' is more than the whole video", hint)
        return RequestedBudget(text, _positive(text, share), None)
    seconds = _seconds(stripped)
    if seconds is None:
        raise ConfigError("budget", f"'{text}' is not a length", _BUDGET_REMEDY)
    return RequestedBudget(text, None, _positive(text, seconds))


def parse_budget(text: str, duration_s: float) -> float:
    """The share of a video of this duration that a person asks for."""
    return read_budget(text).fraction_of(duration_s)


def _seconds(text: str) -> float | None:
    if match := _CLOCK.fullmatch(text):
        hours, minutes, seconds = float(match[1] or 0), float(match[2]), float(match[3])
        if seconds >= 60 or (match[1] and minutes >= 60):
            return None
        return 3600 * hours + 60 * minutes + seconds
    if match := _UNITS.fullmatch(text):
        return sum(float(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True))
    return None


def _positive(text: str, value: float) -> float:
    if not 0 < value < float("inf"):
        raise ConfigError("budget", f"'{text}' leaves no summary", _BUDGET_REMEDY)
    return value


@dataclass(frozen=True)
class FrameClock:
    """How an editing program counts the frames of a video: always at a constant rate.

    Where the video's frames lie evenly at that rate, its own frame numbers are used and cuts are exact to the frame.
    Otherwise (variable or unusual rates, above 60 too, which these programs convert on import) time is what counts.
    """

    rate: Fraction
    even: bool

    @classmethod
    def of(cls, summary: Summary) -> FrameClock:
        rate = nearest_standard_rate(summary.video.n_frames / summary.video.duration_s)
        if rate is None:
            return cls(_conversion_rate(summary.video.fps), even=False)
        starts_s = np.array([segment.start_s for segment in summary.segments])
        drift = np.abs(starts_s * float(rate) - [segment.start_frame for segment in summary.segments])
        return cls(rate, even=bool((drift < 0.5).all()))

    @property
    def base(self) -> int:
        """Frames that a second of time code holds: 30 for 29.97."""
        return ceil(self.rate)

    @property
    def drop_frame(self) -> bool:
        """Whether some numbers are skipped so that time code keeps up with the clock: so at 29.97 and its multiples."""
        return self.rate.denominator != 1 and self.base % 30 == 0

    def span(self, piece: SummarySegment, last_s: float) -> tuple[int, int]:
        """The first frame of a piece, and the first after it; `last_s` is when its last frame appears.

        Counted by time, it shows nothing of what is before or after the piece, whether a program takes the frame on
        screen at a time or the one nearest to it. That may cost a part of the first and last frame's time on screen.
        """
        if self.even:
            return piece.start_frame, piece.end_frame + 1
        start, last = (round(time_s * float(self.rate), 6) for time_s in (piece.start_s, last_s))
        return ceil(start), max(floor(last), ceil(start)) + 1

    def n_frames(self, summary: Summary) -> int:
        return summary.video.n_frames if self.even else max(round(Fraction(summary.video.duration_s) * self.rate), 1)

    def timecode(self, frame: int, *, drop_frame: bool | None = None) -> str:
        """01:02:03:04, or 01:02:03;04 where numbers are dropped; it starts over after 24 hours."""
        drop = self.drop_frame if drop_frame is None else drop_frame
        number = frame + self._numbers_skipped(frame) if drop else frame
        seconds, frames = divmod(number, self.base)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours % 24:02d}:{minutes:02d}:{seconds:02d}{';' if drop else ':'}{frames:02d}"

    def frame_of(self, timecode: str) -> int | None:
        """The frame that carries a time code, drop-frame where it holds a semicolon; None where none does."""
        match = _TIMECODE.fullmatch(timecode)
        if match is None:
            return None
        hours, minutes, seconds, frames = map(int, match.groups())
        minutes += 60 * hours
        drop = self.drop_frame and ";" in timecode
        skipped = self.base // 15 * (minutes - minutes // 10) if drop else 0
        frame = (60 * minutes + seconds) * self.base + frames - skipped
        return frame if self.timecode(frame, drop_frame=drop) == timecode else None

    def _numbers_skipped(self, frame: int) -> int:
        """The first 2 numbers (at 60: 4) of each minute are skipped, except in every tenth minute."""
        skipped_a_minute = self.base // 15
        full_minute = self.base * 60
        short_minute = full_minute - skipped_a_minute
        tens, rest = divmod(frame, full_minute + 9 * short_minute)
        minutes = 0 if rest < full_minute else 1 + (rest - full_minute) // short_minute
        return skipped_a_minute * (9 * tens + minutes)


def nearest_standard_rate(fps: float) -> Fraction | None:
    nearest = min(_STANDARD_RATES, key=lambda rate: abs(float(rate) - fps))
    return nearest if abs(float(nearest) / fps - 1) < _RATE_TOLERANCE else None


def _conversion_rate(fps: float) -> Fraction:
    """A rate that loses none of the frames: a multiple of `fps` (15 → 30), or else the next whole one above it."""
    times = [(round(float(rate) / fps), rate) for rate in _STANDARD_RATES]
    multiples = [(n, abs(float(rate) / fps / n - 1), rate) for n, rate in times if n]
    fitting = [multiple for multiple in multiples if multiple[1] < _RATE_TOLERANCE]
    whole = [rate for rate in _STANDARD_RATES if rate.denominator == 1]
    return min(fitting)[-1] if fitting else min((rate for rate in whole if rate >= fps), default=whole[-1])
