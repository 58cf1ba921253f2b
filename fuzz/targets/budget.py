"""How long a summary may be, as a person writes it."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutation import text_mutator
from fuzz.target import Target
from vastsum.export import read_budget

_WORDS = (
    "%",
    "s",
    "m",
    "h",
    "min",
    "sec",
    ":",
    ".",
    "0",
    "1",
    "59",
    "60",
    "9" * 400,
    "e5",
    "-",
    " ",
    "٣",
    "²",
    "½",
    "inf",
)


def seeds(_: Path) -> list[bytes]:
    return [b"15%", b"0.15", b"90s", b"2m30s", b"1:30", b"1:02:03.5", b"1h"]


def use(path: Path) -> None:
    asked = read_budget(path.read_text(encoding="utf-8", errors="surrogateescape"))
    for duration_s in (0.04, 60.0, 1e6):
        fraction = asked.fraction_of(duration_s)
        assert 0 < fraction <= 1, fraction


TARGET = Target("budget.txt", seeds, use, text_mutator(_WORDS))
