"""The timeline as a picture: importance with its uncertainty, the segments, and which people would likely choose."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from pathlib import Path

import numpy as np

from vastsum.errors import VideoError
from vastsum.export.drawing import (
    BAND,
    CURVE,
    FAINT,
    INK,
    LEFT_OUT,
    QUIET,
    TINT,
    Box,
    Canvas,
    chance_colour,
)
from vastsum.export.source import shown_name
from vastsum.export.timecode import format_length, format_short
from vastsum.selection.chance import CLEAR, OF_MEAN
from vastsum.summary import Float64Array, Summary
from vastsum.video import grab
from vastsum.video.source import UInt8Array

_WIDTH = 1600
_LEFT, _RIGHT = 84, _WIDTH - 36
_STRIP_TOP, _STRIP_HEIGHT = 112, 104
_PLOT_HEIGHT, _LANE_HEIGHT = 300, 40
_GAP = 18
_TIME_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


def write_png(summary: Summary, destination: Path) -> list[str]:
    """Draw the timeline; without a strip of thumbnails where the video can no longer be read, which is noted."""
    pictures = _thumbnails(summary)
    plot_top = _STRIP_TOP + (_STRIP_HEIGHT + _GAP if pictures else 0)
    plot = (_LEFT, plot_top, _RIGHT, plot_top + _PLOT_HEIGHT)
    lane = (_LEFT, plot[3] + 10, _RIGHT, plot[3] + 10 + _LANE_HEIGHT)
    canvas = Canvas(_WIDTH, lane[3] + 112, scale=3)
    _title(canvas, summary)
    _strip(canvas, pictures)
    _chosen_columns(canvas, summary, (_LEFT, plot[1], _RIGHT, lane[3]))
    _curve(canvas, summary, plot)
    _lane(canvas, summary, lane)
    _time_axis(canvas, summary, lane[3])
    _legend(canvas, lane[3] + 74)
    canvas.save(destination)
    return [] if pictures else [f"{destination.name} has no pictures: the video could not be read again"]


def _thumbnails(summary: Summary) -> list[UInt8Array]:
    """Pictures of equal parts of the video, as many as fit side by side: a key frame of each, or else its middle."""
    aspect = summary.video.width / summary.video.height
    n = int(np.clip(round((_RIGHT - _LEFT) / (_STRIP_HEIGHT * aspect)), 6, 20))
    times_s = (np.arange(n) + 0.5) / n * summary.video.duration_s
    try:
        reach_s = summary.video.duration_s / n / 2
        return grab(summary.video.path, times_s.tolist(), max_size=(640, 2 * _STRIP_HEIGHT), nearby_s=reach_s)
    except VideoError:
        return []


def _title(canvas: Canvas, summary: Summary) -> None:
    canvas.text((_LEFT, 26), canvas.shortened(shown_name(summary), 32, _RIGHT - _LEFT), 32)
    facts = [
        f"{format_length(summary.duration_s)} of {format_length(summary.video.duration_s)}",
        f"{summary.fraction:.1%} (budget {summary.budget.fraction:.1%})",
        f"{len(summary.pieces)} piece{'s' * (len(summary.pieces) != 1)}",
        f"{summary.model.scorer} on {summary.model.backbone}",
    ]
    canvas.text((_LEFT, 70), canvas.shortened("   ·   ".join(facts), 18, _RIGHT - _LEFT), 18, QUIET)


def _strip(canvas: Canvas, pictures: list[UInt8Array]) -> None:
    edges = np.linspace(_LEFT, _RIGHT, len(pictures) + 1)
    for picture, left, right in zip(pictures, edges, edges[1:], strict=False):
        canvas.picture(picture, (left + 1, _STRIP_TOP, right - 1, _STRIP_TOP + _STRIP_HEIGHT), cover=True)


def _x(summary: Summary, time_s: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * time_s / summary.video.duration_s


def _chosen_columns(canvas: Canvas, summary: Summary, area: Box) -> None:
    for segment in summary.selected:
        canvas.box((_x(summary, segment.start_s), area[1], _x(summary, segment.end_s), area[3]), TINT)


@dataclass(frozen=True)
class _Scale:
    """Importance to height."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * (value - self.low) / (self.high - self.low)


def _curve(canvas: Canvas, summary: Summary, plot: Box) -> None:
    times_s, mean, std = _drawn_points(summary)
    std = OF_MEAN * std
    scale = _scale(mean, plot)
    above, below = (np.clip(edge, scale.low, scale.high) for edge in (mean + std, mean - std))
    xs = [_x(summary, time_s) for time_s in times_s]
    _value_axis(canvas, scale)
    upper, lower = ([(x, scale.y(value)) for x, value in zip(xs, edge, strict=True)] for edge in (above, below))
    canvas.polygon(upper + lower[::-1], BAND)
    canvas.line([(_LEFT, scale.bottom), (_RIGHT, scale.bottom)], QUIET)
    canvas.line([(x, scale.y(value)) for x, value in zip(xs, mean, strict=True)], CURVE, 3)


def _drawn_points(summary: Summary) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Time, importance and uncertainty of each pick, or of groups of picks where there are more than pixels.

    The first and the last value are drawn out to the ends of the video.
    """
    columns = [summary.times_s(summary.picks), summary.importance, summary.uncertainty]
    group = -(-len(summary.picks) // (_RIGHT - _LEFT))
    starts = np.arange(0, len(summary.picks), group)
    sizes = np.diff(np.append(starts, len(summary.picks)))
    times_s, mean, std = (np.add.reduceat(column, starts) / sizes for column in columns)
    times_s = np.concatenate([[0.0], times_s, [summary.video.duration_s]])
    return times_s, np.pad(mean, 1, mode="edge"), np.pad(std, 1, mode="edge")


def _scale(mean: Float64Array, plot: Box) -> _Scale:
    """The curve is to be read: it fills most of the plot, whatever of the band is cut off."""
    low, high = float(mean.min()), float(mean.max())
    margin = 0.25 * (high - low) or max(abs(high), 1.0) * 0.1
    return _Scale(low - margin, high + margin, plot[1], plot[3])


def _values_marked(scale: _Scale) -> list[tuple[float, str]]:
    """About four round values."""
    rough = (scale.high - scale.low) / 4
    magnitude = 10.0 ** floor(log10(rough))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= rough * 0.999)
    decimals = max(0, 1 - floor(log10(step))) if step < 10 else 0
    values = np.arange(np.ceil(scale.low / step), np.floor(scale.high / step) + 1) * step
    labels = [f"{value + 0.0:.{decimals}f}" for value in values]
    while decimals and all(label.endswith("0") for label in labels):
        decimals -= 1
        labels = [label[:-1].rstrip(".") for label in labels]
    return list(zip(values.tolist(), labels, strict=True))


def _value_axis(canvas: Canvas, scale: _Scale) -> None:
    for value, label in _values_marked(scale):
        canvas.line([(_LEFT, scale.y(value)), (_RIGHT, scale.y(value))], FAINT)
        canvas.text((_LEFT - 12, scale.y(value)), label, 15, QUIET, anchor="rm")


def _lane(canvas: Canvas, summary: Summary, lane: Box) -> None:
    """All segments in a row; where they are too narrow for a gap, they touch, and chosen ones stay visible."""
    for segment in sorted(summary.segments, key=lambda segment: segment.selected):
        left, right = _x(summary, segment.start_s), _x(summary, segment.end_s)
        gap = 1.0 if right - left > 4 else 0.0
        if segment.selected:
            box = (left + gap, lane[1], max(right - gap, left + 1), lane[3])
            canvas.box(box, chance_colour(segment.chance), radius=3 * gap)
        else:
            canvas.box((left + gap, lane[1] + 8, right - gap, lane[3] - 8), LEFT_OUT, radius=3 * gap)


def _time_axis(canvas: Canvas, summary: Summary, top: float) -> None:
    duration_s = summary.video.duration_s
    step_s = next((step for step in _TIME_STEPS_S if duration_s / step <= 14), duration_s / 10)
    decimals = 0 if step_s >= 1 else max(1, -floor(log10(step_s)))
    for time_s in np.arange(0, duration_s * 1.0001, step_s):
        x = _x(summary, float(time_s))
        canvas.line([(x, top + 6), (x, top + 13)], QUIET)
        label = format_short(float(time_s), decimals)
        middle = min(x, _WIDTH - 8 - canvas.text_width(label, 16) / 2)
        canvas.text((middle, top + 18), label, 16, INK, anchor="ma")


def _legend(canvas: Canvas, y: float) -> None:
    x: float = _LEFT
    canvas.line([(x, y), (x + 30, y)], CURVE, 2.5)
    x = _label(canvas, x + 40, y, "importance")
    canvas.box((x, y - 8, x + 30, y + 8), BAND)
    x = _label(canvas, x + 40, y, "± how sure the mean of people is")
    canvas.box((x, y - 8, x + 30, y + 8), LEFT_OUT, radius=3)
    x = _label(canvas, x + 40, y, "segment left out")
    for n in range(60):
        canvas.box((x + 2 * n, y - 8, x + 2 * n + 2, y + 8), chance_colour(CLEAR * n / 59))
    _label(canvas, x + 130, y, "piece chosen: the darker, the more likely people would choose it too")


def _label(canvas: Canvas, x: float, y: float, text: str) -> float:
    canvas.text((x, y), text, 16, QUIET, anchor="lm")
    return x + canvas.text_width(text, 16) + 36
