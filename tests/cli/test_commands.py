"""The commands, run as a user runs them: real processes, real files.

What a process of its own adds nothing to (it has torch to load first) is run in this one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import pytest
from broken import BREAKAGES, write_good

from vastsum.bench.checkpoints import load_checkpoint
from vastsum.bench.data import load_dataset
from vastsum.scoring.onnx_scorer import load_scorer as load_onnx

SMALL = ["--set=network.width=16", "--set=network.heads=2", "--set=network.layers=1", "--set=training.epochs=2"]
ALONE = "--workers=1"  # every process has torch to load first
Result = subprocess.CompletedProcess[str]


def vastsum(*arguments: object) -> Result:
    command = [sys.executable, "-m", "vastsum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def assert_clear_error(result: Result, *words: str) -> None:
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert word in line


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, synthetic_files: dict[str, Path]) -> Path:
    run = tmp_path_factory.mktemp("runs") / "run"
    result = vastsum("train", synthetic_files["tvsum"], "--protocol=5fcv", "--seeds=2", "-o", run, *SMALL)
    assert result.returncode == 0, result.stderr
    return run


def test_synth_check_train_evaluate(trained: Path, synthetic_files: dict[str, Path], tmp_path: Path) -> None:
    """The two commands of the README, and what they print."""
    numbers, page = tmp_path / "numbers.json", tmp_path / "page.html"
    result = vastsum("evaluate", trained, synthetic_files["tvsum"], "--json", numbers, "--html", page)
    assert result.returncode == 0, result.stderr
    assert "VASTSum \\u00b7 5fcv" in page.read_text()
    for word in ("VASTSum", "5fcv", "last", "Ridge", "Random", "Human", "Mean annotator", "chosen on the test videos"):
        assert word in result.stdout
    content = json.loads(numbers.read_text())
    rows = {(row["method"], row["protocol"]): row for row in content["table"]}
    ours = rows["VASTSum", "5fcv"]
    assert (ours["n_splits"], ours["n_seeds"]) == (5, 2)
    assert set(ours["tau"]) == {"mean", "std_over_seeds", "std_over_splits"}
    assert ours["tau"]["mean"] >= rows["VASTSum", "last"]["tau"]["mean"]
    for metric in ("nll", "coverage_50", "coverage_90", "std_correlation", "jaccard", "unstable", "f1"):
        assert metric in ours
    per_video = [row for row in content["videos"] if (row["method"], row["protocol"]) == ("VASTSum", "5fcv")]
    assert len(per_video) == 10 * 2
    by_hand = {}
    for row in per_video:
        by_hand.setdefault((row["seed"], row["split"]), []).append(row["metrics"]["tau"])
    assert ours["tau"]["mean"] == pytest.approx(sum(sum(v) / len(v) for v in by_hand.values()) / len(by_hand))


def test_evaluate_one_checkpoint_on_its_own_test_videos(
    run_here: Callable[..., Result], trained: Path, synthetic_files: dict[str, Path]
) -> None:
    checkpoint = trained / "split0.seed1" / "best.safetensors"
    result = run_here("evaluate", checkpoint, synthetic_files["tvsum"])
    assert result.returncode == 0, result.stderr
    assert "scored on the 2 test videos of its split" in result.stdout
    other = run_here("evaluate", checkpoint, synthetic_files["summe"])
    assert other.returncode == 0, other.stderr
    assert "trained on another file" in other.stdout


def test_evaluate_refuses_what_does_not_fit(
    run_here: Callable[..., Result], trained: Path, synthetic_files: dict[str, Path], tmp_path: Path
) -> None:
    assert_clear_error(vastsum("evaluate", trained, synthetic_files["summe"]), "was trained on tvsum,")
    write_good(tmp_path / "narrow.h5")
    checkpoint = trained / "split0.seed0" / "last.safetensors"
    assert_clear_error(run_here("evaluate", checkpoint, tmp_path / "narrow.h5"), "features of width", "backbone")
    assert_clear_error(run_here("evaluate", tmp_path, synthetic_files["tvsum"]), "bench.json")
    started = tmp_path / "started"
    started.mkdir()
    shutil.copy(trained / "bench.json", started)
    assert_clear_error(run_here("evaluate", started, synthetic_files["tvsum"]), "10 of 10", "--resume")


@pytest.mark.parametrize("protocol", ["tvt", "last"])
def test_the_other_protocols_and_kinds(
    run_here: Callable[..., Result], tmp_path: Path, synthetic_files: dict[str, Path], protocol: str
) -> None:
    run = tmp_path / "run"
    result = run_here(
        "train", synthetic_files["summe"], "--protocol", protocol, "-o", run, "--ablation=gated-residual", ALONE, *SMALL
    )
    assert result.returncode == 0, result.stderr
    shown = run_here("evaluate", run, synthetic_files["summe"]).stdout
    assert protocol in shown
    assert ("chosen on validation" in shown) == (protocol == "tvt")


def test_check_a_good_file(synthetic_files: dict[str, Path]) -> None:
    result = vastsum("check", synthetic_files["tvsum"])
    assert result.returncode == 0
    assert "10 of 10 videos usable, no errors" in result.stdout
    assert "synth_3" in result.stdout


def test_check_lists_every_problem_and_exits_with_1(run_here: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "bad.h5"
    write_good(path, n_videos=8)
    names = ["no features", "picks repeat", "segments overlap", "NaN scores", "wider features", "summary too short"]
    with h5py.File(path, "a") as file:
        for number, name in enumerate(names, start=1):
            BREAKAGES[name][0](file[f"video_{number}"])
    result = run_here("check", path)
    assert result.returncode == 1
    for number, name in enumerate(names, start=1):
        assert f"video_{number}/{BREAKAGES[name][1]}: " in result.stdout
    assert "6 errors" in result.stdout


def test_check_of_a_group_without_anything(run_here: Callable[..., Result], tmp_path: Path) -> None:
    write_good(tmp_path / "bad.h5")
    with h5py.File(tmp_path / "bad.h5", "a") as file:
        file.create_group("video_4")
    result = run_here("check", tmp_path / "bad.h5")
    assert result.returncode == 1
    assert "video_4/features: is missing" in result.stdout


def test_check_names_videos_a_split_file_invents(
    run_here: Callable[..., Result], synthetic_files: dict[str, Path], tmp_path: Path
) -> None:
    splits = tmp_path / "splits.json"
    splits.write_text('[{"train": ["synth_1"], "test": ["nobody"]}]')
    result = run_here("check", synthetic_files["tvsum"], "--splits", splits)
    assert result.returncode == 1
    assert "nobody" in result.stdout


def test_synth_does_not_overwrite(run_here: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    assert vastsum("synth", "-o", path, "--videos=3", "--seconds=10").returncode == 0
    before = path.read_bytes()
    assert_clear_error(run_here("synth", "-o", path), "exists already", "--overwrite")
    assert path.read_bytes() == before
    assert run_here("synth", "-o", path, "--videos=4", "--seconds=10", "--overwrite").returncode == 0
    assert path.read_bytes() != before


@pytest.mark.parametrize("name", ["no features", "picks past the end", "segments leave a gap", "NaN features"])
def test_training_on_a_broken_file_writes_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bad.h5"
    write_good(path, n_videos=6)
    with h5py.File(path, "a") as file:
        BREAKAGES[name][0](file["video_2"])
    assert_clear_error(
        vastsum("train", path, "-o", tmp_path / "run", *SMALL), str(path), f"video_2/{BREAKAGES[name][1]}", ";"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["bad.h5"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "network.widht=3"], ["network.widht"]),
        (["--ablation", "none-such"], ["none-such"]),
        (["--seeds", "0"], ["--seeds"]),
        (["--device", "tpu"], ["--device"]),
        (["--splits", "absent.json"], ["absent.json"]),
        (["--config", "absent.toml"], ["absent.toml"]),
        (["--scores", "absent.tsv"], ["absent.tsv"]),
    ],
)
def test_wrong_arguments_write_nothing(
    run_here: Callable[..., Result],
    tmp_path: Path,
    synthetic_files: dict[str, Path],
    arguments: list[str],
    words: list[str],
) -> None:
    result = run_here("train", synthetic_files["tvsum"], "-o", tmp_path / "run", *arguments, cwd=tmp_path)
    assert_clear_error(result, *words)
    assert not list(tmp_path.iterdir())


def test_help_and_import_do_not_load_torch() -> None:
    for code in ("import vastsum", "import vastsum.cli.app as a; a.app(['--help'], standalone_mode=False)"):
        script = f"{code}\nimport sys; assert 'torch' not in sys.modules, 'torch was imported'"
        subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.DEVNULL)


def test_version() -> None:
    assert vastsum("--version").stdout.startswith("vastsum 0.")


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    assert "Traceback" in vastsum("--debug", "check", tmp_path / "absent.h5").stderr


def test_a_checkpoint_becomes_a_model_for_summarize(
    run_here: Callable[..., Result], trained: Path, synthetic_files: dict[str, Path], tmp_path: Path
) -> None:
    checkpoint = trained / "split0.seed0" / "last.safetensors"
    model = tmp_path / "mine.onnx"
    exported = vastsum("export", checkpoint, "-o", model)
    assert exported.returncode == 0
    video = load_dataset(synthetic_files["tvsum"]).videos["synth_1"]
    theirs = load_onnx(model).predict(video.features, video.segments)
    ours = load_checkpoint(checkpoint)[0].predict(video.with_channels().features, video.segments)
    assert theirs.mean == pytest.approx(ours.mean, abs=1e-4)
    assert theirs.std == pytest.approx(ours.std, abs=1e-4)
    assert_clear_error(run_here("export", checkpoint, "-o", model), "exists already")
    assert_clear_error(run_here("export", checkpoint, "-o", tmp_path / "mine.bin"), ".onnx")
    assert_clear_error(run_here("export", tmp_path / "absent.safetensors", "-o", tmp_path / "x.onnx"), "does not exist")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.onnx"]
