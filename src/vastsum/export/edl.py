"""CMX 3600 edit decision list: what every editing program reads, one event a chosen piece."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from vastsum.export.source import has_audio, shown_name
from vastsum.export.timecode import FrameClock
from vastsum.files import write_text
from vastsum.summary import Summary

_REEL_LENGTH = 8
_TITLE_LENGTH = 70
_RESERVED_REELS = {"BL", "AX"}  # black, and auxiliary sources


def write_edl(summary: Summary, destination: Path, *, drop_frame: bool | None = None) -> None:
    """Write one event a chosen piece: picture and, where the video has sound, two channels of it.

    Source time codes count from 00:00:00:00 at the first frame of the video; record time codes from the same at the
    start of the summary. At 29.97 and 59.94 frames a second they are drop-frame unless `drop_frame` is False. Reels
    have one name, made from the file's. The format foresees 999 events; beyond, numbers take four digits, which today's
    programs accept. Videos of variable or unusual rates are counted at a standard rate, by time (see FrameClock).
    """
    write_text(destination, "\n".join(_lines(summary, FrameClock.of(summary), drop_frame)) + "\n")


def _lines(summary: Summary, clock: FrameClock, drop_frame: bool | None) -> Iterator[str]:
    # Only at these rates is there anything to drop.
    drop = clock.drop_frame and drop_frame is not False
    name = shown_name(summary)
    yield f"TITLE: {_ascii(Path(name).stem)[: _TITLE_LENGTH - 8]} SUMMARY"
    yield f"FCM: {'DROP FRAME' if drop else 'NON-DROP FRAME'}"
    yield ""
    if not clock.even:
        rates = f"{summary.video.fps:.3f} A SECOND: COUNTED BY TIME AT {float(clock.rate):.3f}"
        yield f"* FRAMES UNEVEN OR UNUSUAL, {rates} A SECOND"
    reel, channels = reel_name(Path(name).stem), "AA/V" if has_audio(summary) else "V"
    record = 0
    for number, segment in enumerate(summary.pieces, start=1):
        start, stop = clock.span(segment)
        codes = [clock.timecode(n, drop_frame=drop) for n in (start, stop, record, record + stop - start)]
        yield f"{number:03d}  {reel:<{_REEL_LENGTH}} {channels:<5} C        {' '.join(codes)}"
        yield f"* FROM CLIP NAME: {name}"
        yield f"* COMMENT: IMPORTANCE {segment.importance:.3f} CHANCE {segment.chance:.2f}"
        record += stop - start


def reel_name(stem: str) -> str:
    """At most eight capital letters and digits."""
    name = re.sub(r"[^A-Z0-9]", "", _ascii(stem).upper())[:_REEL_LENGTH]
    return f"{name}REEL"[:_REEL_LENGTH] if not name or name in _RESERVED_REELS else name


def _ascii(text: str) -> str:
    """Letters without their accents; what has no plain form is left out."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().strip()
