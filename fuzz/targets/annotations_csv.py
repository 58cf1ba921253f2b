"""Annotations as a table."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutation import text_mutator
from fuzz.target import Target
from fuzz.targets.annotations_json import use

_WORDS = (",", ";", "\t", '"', '""', "\r\n", "video", "annotator", "start_s", "end_s", "score", "0:01", "1:02:03", "-1",
          "1e9", "nan", "inf", "5", "1", "0", "٣", "\ufeff", "\0", "{")  # fmt: skip


def seeds(_: Path) -> list[bytes]:
    return [
        b"video,annotator,start_s,end_s\na,Ann,0,1\na,Ann,0:01.5,3\na,Bo,,\n",
        b"video;annotator;start_s;end_s;score\na;Ann;0;2;1\na;Ann;2;4;5\n",
        b'video\tannotator\tstart_s\tend_s\n"a"\tAnn\t0\t1\n',
    ]


TARGET = Target("annotations.csv", seeds, use, text_mutator(_WORDS))
