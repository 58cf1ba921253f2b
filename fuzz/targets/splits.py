"""Split files, in the spellings there are."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.bench.data.splits import read_split_file


def seeds(_: Path) -> list[bytes]:
    plain = [{"train": ["video_1", "video_2"], "test": ["video_3"]}, {"train": ["video_3"], "test": ["video_1"]}]
    keys = [{"train_keys": ["../data/tvsum.h5/video_1"], "test_keys": ["video_2"], "val_keys": ["video_3"]}]
    return [json.dumps(content).encode() for content in (plain, keys)]


TARGET = Target("splits.json", seeds, read_split_file, mutate_json)
