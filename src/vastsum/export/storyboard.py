"""Contact sheet: a picture of each chosen piece at its most important pick."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, sqrt
from pathlib import Path

import numpy as np

from vastsum.errors import VideoError
from vastsum.export.drawing import FAINT, INK, QUIET, Canvas, chance_colour
from vastsum.export.source import shown_name
from vastsum.export.timecode import format_length, format_time
from vastsum.summary import Summary, SummarySegment
from vastsum.video import grab
from vastsum.video.source import UInt8Array

MAX_PICTURES = 1000
_MARGIN, _GAP, _HEADER, _CAPTION = 32, 18, 100, 46
_MIN_CELL_WIDTH = 160  # for the line of text under a picture
_MIN_WIDTH = 720  # of the sheet, so that its title fits


def write_storyboard(summary: Summary, destination: Path) -> None:
    """Draw the chosen pieces in a grid, in order of time, with time codes and importance.

    Of more than 1000 the most important are shown. The video must still be where it was.
    """
    segments = _shown_segments(summary)
    sheet = _Sheet.of(len(segments), summary.video.width / summary.video.height)
    pictures = _pictures(summary, segments, sheet)
    canvas = Canvas(sheet.width, sheet.height, scale=2 if len(segments) <= 200 else 1)  # large sheets take memory
    _title(canvas, summary, len(segments))
    strongest = max(abs(segment.importance) for segment in segments)
    for n, (segment, picture) in enumerate(zip(segments, pictures, strict=True)):
        _cell(canvas, sheet, n, segment, picture, segment.importance / strongest if strongest else 0.0)
    canvas.save(destination)


@dataclass(frozen=True)
class _Sheet:
    n_columns: int
    n_rows: int
    cell_width: float
    picture_height: float

    @classmethod
    def of(cls, n: int, aspect: float) -> _Sheet:
        """About the shape of a screen, with pictures that get smaller as they get more."""
        cell_width = float(np.interp(n, [1, 4, 30, 200, MAX_PICTURES], [640, 420, 280, 200, _MIN_CELL_WIDTH]))
        aspect = min(max(aspect, 9 / 16), 3.0)
        cell_width = max(cell_width * min(sqrt(aspect / 1.5), 1.2), _MIN_CELL_WIDTH)
        picture_height = cell_width / aspect
        wanted = sqrt(n * 1.6 * (picture_height + _CAPTION + _GAP) / (cell_width + _GAP))

        def cost(n_columns: int) -> float:
            """Near the wanted shape, but rather another than one with a nearly empty last row."""
            return abs(log(n_columns / wanted)) + 0.4 * (-n % n_columns) / n_columns

        n_columns = min(range(1, n + 1), key=cost)
        return cls(n_columns, ceil(n / n_columns), cell_width, picture_height)

    @property
    def width(self) -> float:
        return max(2 * _MARGIN + self.n_columns * (self.cell_width + _GAP) - _GAP, _MIN_WIDTH)

    @property
    def height(self) -> float:
        return _HEADER + self.n_rows * (self.picture_height + _CAPTION + _GAP) - _GAP + _MARGIN

    def place(self, n: int) -> tuple[float, float]:
        row, column = divmod(n, self.n_columns)
        return (
            _MARGIN + column * (self.cell_width + _GAP),
            _HEADER + row * (self.picture_height + _CAPTION + _GAP),
        )


def _shown_segments(summary: Summary) -> list[SummarySegment]:
    best = sorted(summary.pieces, key=lambda segment: -segment.importance)[:MAX_PICTURES]
    return sorted(best, key=lambda segment: segment.start_frame)


def _pictures(summary: Summary, segments: list[SummarySegment], sheet: _Sheet) -> list[UInt8Array]:
    frames = np.array([summary.highlight(segment) for segment in segments])
    # Into the frame's time on screen, where rounding cannot turn it into the one before.
    times_s = summary.times_s(frames) * 0.5 + summary.times_s(frames + 1) * 0.5
    size = (ceil(2 * sheet.cell_width), ceil(2 * sheet.picture_height))
    try:
        return grab(summary.video.path, times_s.tolist(), max_size=size)
    except VideoError as error:
        remedy = f"{error.remedy}; a storyboard shows pictures of the video, so that must be where it was"
        raise VideoError(error.where, error.problem, remedy) from error


def _title(canvas: Canvas, summary: Summary, n_shown: int) -> None:
    room = canvas.width - 2 * _MARGIN
    canvas.text((_MARGIN, 22), canvas.shortened(shown_name(summary), 28, room), 28)
    n = len(summary.pieces)
    shown = f"{n} pieces" if n_shown == n else f"the {n_shown} most important of {n} pieces"
    shown = "1 piece" if n == 1 else shown
    facts = (
        f"{shown}   ·   {format_length(summary.duration_s)} of {format_length(summary.video.duration_s)}"
        f"   ·   {summary.fraction:.1%}"
    )
    canvas.text((_MARGIN, 62), canvas.shortened(facts, 16, room), 16, QUIET)


def _cell(canvas: Canvas, sheet: _Sheet, n: int, segment: SummarySegment, picture: UInt8Array, strength: float) -> None:
    """The picture; under it start and duration, importance, and a bar as long as it is important."""
    left, top = sheet.place(n)
    right, bottom = left + sheet.cell_width, top + sheet.picture_height
    canvas.box((left, top, right, bottom), INK)
    # Cells have the video's shape, unless that is very tall or very wide; then the picture is shown whole, on black.
    same_shape = abs(sheet.cell_width / sheet.picture_height * picture.shape[0] / picture.shape[1] - 1) < 0.05
    canvas.picture(picture, (left, top, right, bottom), cover=same_shape)
    canvas.box((left, bottom + 5, right, bottom + 10), FAINT)
    canvas.box(
        (left, bottom + 5, left + max(strength, 0.0) * sheet.cell_width, bottom + 10),
        chance_colour(segment.chance),
    )
    wide = sheet.cell_width >= 240
    size = 17 if wide else 14
    code = format_time(segment.start_s, 1 if wide else 0)
    canvas.text((left, bottom + 18), f"{code}  + {format_length(segment.duration_s)}", size, INK)
    canvas.text((right, bottom + 18), f"{segment.importance:.2f}", size, QUIET, anchor="ra")
