"""WebVTT chapters: where on the original video the chosen pieces are."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from vastsum.export.source import shown_name
from vastsum.export.timecode import format_short, format_time
from vastsum.files import write_text
from vastsum.summary import Summary


def write_vtt(summary: Summary, destination: Path) -> None:
    """Write one chapter a chosen piece, timed on the original video and not on the summary.

    Meant for `<track kind="chapters">` beside the original, so that a viewer can jump from highlight to highlight.
    """
    write_text(destination, "\n".join(_lines(summary)) + "\n")


def _lines(summary: Summary) -> Iterator[str]:
    # A name may hold "-->", which would be taken for a cue.
    yield f"WEBVTT - Summary of {escape(shown_name(summary), quote=False)}"
    yield ""
    yield "NOTE Times are those of the original video."
    for number, segment in enumerate(summary.pieces, start=1):
        end_s = max(segment.end_s, segment.start_s + 0.001)  # a cue must not be empty after rounding
        yield ""
        yield str(number)
        yield f"{format_time(segment.start_s)} --> {format_time(end_s)}"
        yield f"{number}. {format_short(segment.start_s)} (importance {segment.importance:.2f})"
