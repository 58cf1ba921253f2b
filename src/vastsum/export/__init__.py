"""A summary as files: one module a format, one line each in `FORMATS`."""

from vastsum.export.formats import FORMATS, Format, format_of, save
from vastsum.export.timecode import format_short, format_time, parse_budget, read_budget

__all__ = [
    "FORMATS",
    "Format",
    "format_of",
    "format_short",
    "format_time",
    "parse_budget",
    "read_budget",
    "save",
]
