"""CMX 3600 edit decision list: what every editing program reads, one event a chosen piece."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from vastsum.export.cutlist import CutList
from vastsum.files import write_text
from vastsum.summary import Summary

_REEL_LENGTH = 8
_TITLE_LENGTH = 70
_RESERVED_REELS = {"BL", "AX"}  # black, and auxiliary sources


def write_edl(summary: Summary, destination: Path) -> list[str]:
    """Write one event a chosen piece: picture and, where the video has sound, two channels of it.

    Record time codes count from 00:00:00:00; source time codes as CutList says. Reels have one name, made from the
    file's. The format foresees 999 events; beyond, numbers take four digits, which today's programs accept. Videos of
    variable or unusual rates are counted at a standard rate, by time (see FrameClock).
    """
    cuts = CutList.of(summary, destination)
    write_text(destination, "\n".join(_lines(cuts)) + "\n")
    return cuts.notes


def _lines(cuts: CutList) -> Iterator[str]:
    stem = Path(cuts.name).stem
    yield f"TITLE: {_ascii(stem)[: _TITLE_LENGTH - 8]} SUMMARY"
    yield f"FCM: {'DROP FRAME' if cuts.drop_frame else 'NON-DROP FRAME'}"
    yield ""
    reel, channels = reel_name(stem), "AA/V" if cuts.n_channels else "V"
    for number, cut in enumerate(cuts.cuts, start=1):
        source, record = cuts.first + cut.start, cut.record
        codes = [cuts.timecode(n) for n in (source, source + cut.n_frames, record, record + cut.n_frames)]
        yield f"{number:03d}  {reel:<{_REEL_LENGTH}} {channels:<5} C        {' '.join(codes)}"
        yield f"* FROM CLIP NAME: {cuts.name}"
        if cuts.note and number == 1:  # readers know comments of events only
            yield f"* COMMENT: {cuts.note.upper()}"
        yield f"* COMMENT: IMPORTANCE {cut.piece.importance:.3f} CHANCE {cut.piece.chance:.2f}"


def reel_name(stem: str) -> str:
    """At most eight capital letters and digits."""
    name = re.sub(r"[^A-Z0-9]", "", _ascii(stem).upper())[:_REEL_LENGTH]
    return f"{name}REEL"[:_REEL_LENGTH] if not name or name in _RESERVED_REELS else name


def _ascii(text: str) -> str:
    """Letters without their accents; what has no plain form is left out."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().strip()
