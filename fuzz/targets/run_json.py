"""run.json, which tells what a run of trainings consists of."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.bench.methods.vastsum import Config
from vastsum.bench.training.runs import load_run


def seeds(_: Path) -> list[bytes]:
    parts = [{"train": ["video_1"], "test": ["video_2"], "validation": []}]
    content = {
        "format": 1,
        "vastsum": "0",
        "data": {"name": "a.h5", "kind": "tvsum", "fingerprint": "0"},
        "protocol": "5fcv",
        "splits": {"source": "round-robin (5 folds)", "parts": parts},
        "seeds": 1,
        "config": Config().to_dict(),
    }
    return [json.dumps(content).encode()]


def use(path: Path) -> None:
    run = load_run(path.parent)
    for job in run.jobs[:10]:
        run.parts(job)


TARGET = Target("run.json", seeds, use, mutate_json)
