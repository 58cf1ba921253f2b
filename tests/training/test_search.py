"""The search for settings writes down every trial, and goes on from what is written."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from vastsum.scorers.vastsum import NetworkConfig

SCRIPT = Path(__file__).parents[2] / "scripts" / "search.py"


def trials_in(log: Path) -> list[Any]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_a_search_is_logged_and_gone_on_with(
    tmp_path: Path, synthetic_files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "studies" / "log.jsonl"
    small = ["network.width=16", "network.layers=1", "training.epochs=1", "loss.rank_pairs=16"]
    command = [str(SCRIPT), str(synthetic_files["tvsum"]), "-o", str(log)]
    command += ["--trials=1", *(f"--set={setting}" for setting in small)]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr
    assert len(trials_in(log)) == 1
    monkeypatch.setattr(sys, "argv", command)
    runpy.run_path(command[0], run_name="__main__")  # in this process, which has loaded torch
    trials = trials_in(log)
    assert len(trials) == 2
    assert all(-1 <= trial["tau"] <= 1 for trial in trials)
    assert trials[0]["held"] == {"network.width": 16, "network.layers": 1, "training.epochs": 1, "loss.rank_pairs": 16}
    assert trials[0]["settings"]["network.dropout"] == NetworkConfig().dropout, "the recipe as it stands comes first"
    assert trials[0]["settings"] != trials[1]["settings"]
    assert "network.width" not in trials[0]["settings"]
