"""TVSum's table of scores."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutation import text_mutator
from fuzz.target import Target
from vastsum.bench.data.scores_tsv import read_scores_tsv

_WORDS = (
    "\t",
    ",",
    "1",
    "5",
    "nan",
    "inf",
    "1e400",
    "-1",
    "\r\n",
    "\u2028",
    "\x1c",
    "id1",
    "id2",
    "VT",
    "",
    "٣",
    "1_0",
)


def seeds(_: Path) -> list[bytes]:
    return [b"id1\tVT\t1,2,3\nid1\tVT\t3,3,3\nid2\tVU\t5,5\n", b"id2\tVT\t1\n"]


def use(path: Path) -> None:
    read_scores_tsv(path, {"video_1": "id1", "video_2": ""})
    read_scores_tsv(path, {"video_1": "", "video_2": ""})


TARGET = Target("scores.tsv", seeds, use, text_mutator(_WORDS))
