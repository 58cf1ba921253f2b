"""The scripts around a study: what goes beyond the paper, other splits, two backbones side by side."""

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

from vastsum.data import load_dataset, load_splits

ROOT = Path(__file__).parents[2]


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_every_setting_beyond_the_paper_is_written_down(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    small = ["network.width=16", "network.layers=1", "training.epochs=1", "loss.rank_pairs=16"]
    output = tmp_path / "beyond.json"
    done = run("search_beyond.py", synthetic_files["tvsum"], "-o", output, *(f"--set={setting}" for setting in small))
    assert done.returncode == 0, done.stderr
    study = json.loads(output.read_text())
    assert len(study["tried"]) == 5 + 2 * 4 * 5  # without a path, and with either
    assert len(study["kernels"]) == 10
    assert study["best"]["tau"] == max(trial["tau"] for trial in study["tried"])
    scaled = [trial["coverage_90"] for trial in study["covered"]]
    assert scaled == sorted(scaled), "wider intervals hold more"
    assert abs(study["nearest"]["coverage_90"] - 0.9) == min(abs(c["coverage_90"] - 0.9) for c in study["covered"])


def test_the_later_one_may_choose_the_later_one_does(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    small = ["network.width=16", "network.layers=1", "training.epochs=3", "loss.rank_pairs=16"]
    output = tmp_path / "epochs.json"
    settings = [f"--set={setting}" for setting in small]
    done = run("first_epoch.py", synthetic_files["tvsum"], "-o", output, "--seeds", 1, *settings)
    assert done.returncode == 0, done.stderr
    study = json.loads(output.read_text())
    epochs = [trial["epoch"] for trial in study["tried"]]
    assert epochs == sorted(epochs)
    assert epochs[-1] == 3, "nothing is left to choose from"
    assert len(study["after_every_epoch"]) == 3


def test_other_splits_are_splits(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    path = tmp_path / "splits.json"
    assert run("random_splits.py", synthetic_files["summe"], "-o", path).returncode == 0
    dataset = load_dataset(synthetic_files["summe"])
    splits = load_splits(dataset, path).splits
    assert len(splits) == 5
    for split in splits:
        assert {*split.train, *split.test} == set(dataset.videos)
        assert len(split.test) == round(0.2 * len(dataset.videos))
    assert len({split.test for split in splits}) > 1


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


def test_firmness_is_told_against_no_stability_loss(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    small = [
        "network.width=16",
        "network.layers=1",
        "training.epochs=2",
        "loss.rank_pairs=16",
        "loss.stability_warmup=0",
    ]
    output = tmp_path / "firmness.json"
    scales = ["--noise", "0.02", "0.002", "--strength", "0.002"]
    settings = [f"--set={setting}" for setting in small]
    done = run("firmness.py", synthetic_files["summe"], "-o", output, *scales, *settings)
    assert done.returncode == 0, done.stderr
    without, *others = json.loads(output.read_text())["tried"]
    assert without["settings"] == {"loss.stability_weight": 0.0}
    assert without["jaccard_over_none"] == {"mean": 0, "low": 0, "high": 0}
    assert [trial["settings"]["loss.stability_weight"] for trial in others] == pytest.approx([0.1, 1.0])
    for trial in others:
        assert trial["jaccard_over_none"]["mean"] == pytest.approx(trial["jaccard"] - without["jaccard"], abs=2e-4)
    assert len({trial["spread"] for trial in (without, *others)}) > 1, "the loss does something"


def test_a_study_of_every_step_goes_on_where_it_stopped(
    script: Callable[[str], ModuleType], tmp_path: Path, synthetic_files: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output = tmp_path / "steps.json"
    asked = [synthetic_files["summe"], "--method", "vasnet", "--max-epochs", 2, "-o", output]
    done = run("every_step.py", *asked)
    assert done.returncode == 0, done.stderr
    study = json.loads(output.read_text())
    assert len(study["trainings"]) == 5
    for found in study["found"].values():
        assert max(found["mean of all"], found["best epoch"]) <= found["best step"]
    (_, *rest) = study["trainings"].items()
    output.write_text(json.dumps(study | {"trainings": dict(rest)}))

    # From here on in this process, which has loaded torch.
    monkeypatch.syspath_prepend(ROOT / "scripts")  # where the workers find the module
    monkeypatch.setattr(sys, "argv", ["every_step.py", *map(str, asked)])
    script("every_step").main()
    assert "1 of 1 trained" in capsys.readouterr().out
    assert json.loads(output.read_text())["found"] == study["found"]
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--max-epochs", "3"])
    with pytest.raises(SystemExit, match=r"error: .* holds another study"):  # a text, so the exit code is 1
        runpy.run_path(str(ROOT / "scripts" / "every_step.py"), run_name="__main__")
