"""The scripts in studies/: what goes beyond the paper, features side by side, choosing after every step."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import h5py
import numpy as np
import pytest

from vastsum.bench.data import load_dataset
from vastsum.features.relative import N_CHANNELS

ROOT = Path(__file__).parents[2]


def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "studies" / name), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_the_linear_path_is_chosen_by_folds_that_are_not_tested(synthetic_files: dict[str, Path]) -> None:
    done = run("linear_path.py", "choose", *synthetic_files.values())
    assert done.returncode == 0, done.stderr
    *splits, nested = done.stdout.splitlines()[1:]
    assert len(splits) == 5
    rows = np.array([[float(cell) for cell in line.split()[-2:]] for line in splits])  # of both files
    np.testing.assert_allclose([float(cell) for cell in nested.split()[1:]], rows.mean(axis=0), atol=0.001)


def test_leaving_out_what_the_linear_path_sees_makes_it_worse(synthetic_files: dict[str, Path]) -> None:
    done = run("linear_path.py", "leave-one-out", *synthetic_files.values())
    assert done.returncode == 0, done.stderr
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()]
    score = {row[0]: [float(cell) for cell in row[1:]] for row in cells[2:]}
    assert len(score) == 1 + N_CHANNELS + 9
    assert score["nothing"][0] > score["what is seen: channels alone"][0] + 0.1  # what people say is planted in it
    assert score["both: the paper's decoder"][0] == score["nothing"][0]  # a decoder changes no score


def test_two_backbones_side_by_side(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    one, both = synthetic_files["tvsum"], tmp_path / "both.h5"
    assert run("side_by_side.py", one, one, "-o", both).returncode == 0
    for name, video in load_dataset(one).videos.items():
        twice = load_dataset(both).videos[name]
        np.testing.assert_array_equal(twice.features, np.concatenate([video.features] * 2, axis=1))
        np.testing.assert_array_equal(twice.annotations, video.annotations)


def test_files_of_other_picks_are_refused(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    other, both = tmp_path / "other.h5", tmp_path / "both.h5"
    other.write_bytes(synthetic_files["tvsum"].read_bytes())
    with h5py.File(other, "r+") as file:
        next(iter(file.values()))["picks"][-1] += 1
    refused = run("side_by_side.py", synthetic_files["tvsum"], other, "-o", both)
    assert refused.returncode != 0
    assert "sampled at other frames" in refused.stderr
    assert not both.exists()


def test_a_study_of_every_step_goes_on_where_it_stopped(
    script: Callable[[str], ModuleType], tmp_path: Path, synthetic_files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output = tmp_path / "steps.json"
    asked = [synthetic_files["summe"], "--method", "vasnet", "--max-epochs", 2, "-o", output]
    done = run("every_step.py", *asked)
    assert done.returncode == 0, done.stderr
    whole = json.loads(output.read_text())
    assert len(whole["trainings"]) == 5
    for found in whole["found"].values():
        assert max(found["mean of all"], found["best epoch"]) <= found["best step"]
    (_, *rest) = whole["trainings"].items()
    output.write_text(json.dumps(whole | {"trainings": dict(rest)}))

    # From here on in this process, which has loaded torch.
    monkeypatch.syspath_prepend(ROOT / "studies")  # where the workers find the module
    monkeypatch.setattr(sys, "argv", ["every_step.py", *map(str, asked)])
    script("studies/every_step").main()
    assert "1 of 1 trained" in capsys.readouterr().out
    assert json.loads(output.read_text())["found"] == whole["found"]
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--max-epochs", "3"])
    with pytest.raises(SystemExit, match=r"error: .* holds another study"):  # a text, so the exit code is 1
        runpy.run_path(str(ROOT / "studies" / "every_step.py"), run_name="__main__")
