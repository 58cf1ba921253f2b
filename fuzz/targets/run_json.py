"""bench.json of `vastsum train`, which tells what a run of trainings consists of."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.bench.methods.vastsum import Config
from vastsum.bench.runs import load_run


def seeds(_: Path) -> list[bytes]:
    parts = [{"train": ["video_1"], "test": ["video_2"], "validation": []}]
    content = {
        "format": 2,
        "vastsum": "0",
        "data": {"a": {"kind": "tvsum", "fingerprint": "0", "splits": parts, "split_source": "round-robin (5 folds)"}},
        "methods": ["vastsum"],
        "protocols": ["5fcv"],
        "seeds": 1,
        "max_epochs": None,
        "config": Config().to_dict(),
    }
    return [json.dumps(content).encode()]


def use(path: Path) -> None:
    run = load_run(path.parent)
    for task in islice(run.tasks, 10):
        run.parts(task)


TARGET = Target("bench.json", seeds, use, mutate_json)
