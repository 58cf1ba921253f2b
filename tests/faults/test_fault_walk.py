"""Wherever the world fails, a command ends in its result or in a clear error; nothing is half-written, and the next
run succeeds. `scripts/fault_walk.py` walks on for longer: more faults, at more moments."""

from __future__ import annotations

from pathlib import Path

import pytest
from scenarios import SCENARIOS, Stage
from walking import Walk

FEWEST = {"summarize mp4": 40, "summarize json": 8, "prepare": 15, "check": 15, "train": 3}  # places


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if not scenario.slow])
def test_a_fault_at_any_call_does_no_harm(name: str, tmp_path: Path) -> None:
    walk = Walk(Stage(SCENARIOS[name], tmp_path))
    steps = [walk.step(site) for site in walk.own_sites()]
    assert len(steps) >= FEWEST.get(name, 0), "the boundary does not see the program's calls any more"
    wrong = [f"{step.site}: {violation}" for step in steps for violation in step.violations]
    assert not wrong, "\n".join(wrong)
