"""Annotations as JSON, and whether they can be put on the frames of a video."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.bench.data.annotations import read_annotations
from vastsum.video import Timeline

TIMELINE = Timeline(np.arange(100, dtype=np.int64), Fraction(1, 25), 1, np.array([0], dtype=np.int64))


def seeds(_: Path) -> list[bytes]:
    kept = {
        "videos": {"a": {"annotators": [{"name": "Ann", "keep": [[0, 1], ["0:01.5", 3]]}, {"name": "B", "keep": []}]}}
    }
    scored = {"videos": {"a": {"annotators": [{"name": "Ann", "scores": [[0, 2, 1], [2, 4, 5]]}]}}}
    return [json.dumps(content).encode() for content in (kept, scored)]


def use(path: Path) -> None:
    read = read_annotations(path)
    for video in read.videos.values():
        read.frames(video, TIMELINE)


TARGET = Target("annotations.json", seeds, use, mutate_json)
