"""`vastsum prepare` and `vastsum models` as a user runs them, and the way from videos to a table of results."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from test_prepare import make_film

SMALL = [
    "--set=network.width=16", "--set=network.heads=2", "--set=network.layers=1", "--set=training.epochs=1",
    "--workers=1",
]  # fmt: skip
Result = subprocess.CompletedProcess[str]


def vastsum(*arguments: object) -> Result:
    command = [sys.executable, "-m", "vastsum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    for seed, name in enumerate(("beach", "hills", "old town")):
        make_film(folder / f"{name}.mp4", seed)
    return folder


def test_from_videos_to_results(run_here: Callable[..., Result], films: Path, tmp_path: Path) -> None:
    table, data, run = tmp_path / "people.csv", tmp_path / "mine.h5", tmp_path / "run"
    table.write_text(
        "video,annotator,start_s,end_s\n"
        "beach,anna,0,2\nbeach,ben,0:01,0:03.5\n"
        "hills.mp4,anna,4,6.5\nhills.mp4,ben,,\n"
        "old town,anna,5,8\nold town,ben,6,8.5\n"
    )
    made = vastsum("prepare", films, "--annotations", table, "-o", data)
    assert made.returncode == 0, made.stderr
    assert "3 videos, annotated like summe" in made.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.h5", "people.csv"]
    checked = run_here("check", data)
    assert checked.returncode == 0, checked.stdout
    assert "summe, 3 of 3 videos usable, no errors, 0 notes" in checked.stdout
    assert "old town" in checked.stdout
    trained = run_here("train", data, "-o", run, "--workers=1", *SMALL)
    assert trained.returncode == 0, trained.stderr
    assert "trained 3 networks" in trained.stdout
    evaluated = run_here("evaluate", run, data)
    assert evaluated.returncode == 0, evaluated.stderr
    assert "VASTSum" in evaluated.stdout


def test_without_annotations(run_here: Callable[..., Result], films: Path, tmp_path: Path) -> None:
    data = tmp_path / "mine.h5"
    (tmp_path / "broken.mp4").write_bytes(b"not a video")
    made = vastsum("prepare", films / "beach.mp4", tmp_path / "broken.mp4", "-o", data, "--fps=1")
    assert made.returncode == 1
    assert "Traceback" not in made.stderr
    assert f"left out: {tmp_path / 'broken.mp4'}: " in made.stderr
    assert "'vastsum train' needs annotations" in made.stdout
    assert "1 video, 1 left out" in made.stdout
    with h5py.File(data) as file:
        assert set(file) == {"beach"}
        assert file["beach/features"].shape == (8, 1280)
        assert not [key for key in file["beach"] if key.startswith(("user_", "gt"))]
    checked = run_here("check", data)
    assert checked.returncode == 1
    assert "beach/user_summary: is missing" in checked.stdout


def test_mistakes_are_one_line_and_leave_nothing(run_here: Callable[..., Result], films: Path, tmp_path: Path) -> None:
    table, data = tmp_path / "people.csv", tmp_path / "mine.h5"
    table.write_text("video,annotator,start_s,end_s\nbeach,anna,0,2\nbeech,anna,0,2\n")
    refused = vastsum("prepare", films, "--annotations", table, "-o", data)
    assert refused.returncode == 1
    (line,) = refused.stderr.strip().splitlines()
    assert line == f"error: {table}: line 3: 'beech' is none of the videos given; correct it, or add the video"
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    data.write_bytes(b"precious")
    refused = run_here("prepare", films, "-o", data)
    assert refused.returncode == 1
    assert "exists already" in refused.stderr
    assert data.read_bytes() == b"precious"


def test_models(run_here: Callable[..., Result]) -> None:
    shown = vastsum("models")
    assert shown.returncode == 0, shown.stderr
    for word in (
        "kind",
        "licence",
        "trained on",
        "present",
        "efficientnet_lite0",
        "googlenet",
        "Apache-2.0",
        "--weights",
    ):
        assert word in shown.stdout
    listed = {(row["kind"], row["name"]): row for row in json.loads(run_here("models", "--json").stdout)}
    default = listed["backbone", "efficientnet_lite0"]
    assert default["present"]
    assert default["is_default"]
    assert 10_000_000 < default["n_bytes"] < 20_000_000
    assert default["width"] == 1280
    by_path = listed["backbone", "googlenet"]
    assert (by_path["present"], by_path["n_bytes"]) == (False, None)
    assert ("scorer", "vastsum") in listed


def test_help_stays_light() -> None:
    script = """
import sys
import vastsum.cli.app as a
a.app(["--help"], standalone_mode=False)
loaded = {"torch", "av", "onnxruntime", "h5py"} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "prepare" in done.stdout
    assert "models" in done.stdout
