"""What a run of many videos wrote down of each, and reads again: whatever it is by now, it is at most ignored."""

from __future__ import annotations

import json
from pathlib import Path

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.jobs.ledger import _restored


def seeds(_: Path) -> list[bytes]:
    outcome = {
        "source": "a.mp4",
        "name": "a",
        "status": "done",
        "attempts": 1,
        "started_at": "2026-01-01",
        "files": ["a"],
    }
    return [json.dumps(outcome).encode()]


def use(path: Path) -> None:
    _restored(path.read_bytes())


TARGET = Target("outcome.json", seeds, use, mutate_json)
