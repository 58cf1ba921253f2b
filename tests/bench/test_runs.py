"""`vastsum train`: a bench of one method that keeps its weights, repeats to the bit, and resumes after a kill."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from vastsum.bench.checkpoints import load_checkpoint, load_tensors
from vastsum.bench.data import Dataset, load_splits
from vastsum.bench.data.splits import Splits, all_videos
from vastsum.bench.measures import judge
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import Config
from vastsum.bench.plan import Benchmark, Plan, open_plan
from vastsum.bench.records import Task, read
from vastsum.bench.report import evaluate_run
from vastsum.bench.runs import load_run
from vastsum.bench.work import work
from vastsum.errors import CheckpointError, ConfigError, OutputError

QUICK = load_config(None, ["network.width=16", "network.heads=2", "network.layers=1", "network.head_width=16",
                           "network.positions=64", "training.epochs=4", "training.batch_size=3",
                           "loss.rank_pairs=64", "loss.stability_warmup=1"])  # fmt: skip


def plan_of(
    folder: Path, dataset: Dataset, splits: Splits | None = None, config: Config = QUICK, **changes: object
) -> Plan:
    standard = load_splits(dataset)
    two = splits or Splits(standard.source, standard.splits[:2])
    given = {"protocols": ("5fcv",), "n_seeds": 1, "max_epochs": None, "config": config} | changes
    return Plan(folder, (Benchmark(dataset, two),), ("vastsum",), **given)


def train(plan: Plan, workers: int = 1) -> None:
    open_plan(plan, resume=False)
    work(plan, lambda *_: None, workers=workers, device="cpu", together=1)


def weights_of(folder: Path, split: int = 0, seed: int = 0, name: str = "last") -> dict[str, torch.Tensor]:
    return load_tensors(folder / f"split{split}.seed{seed}" / f"{name}.safetensors")[0]


def assert_same_bits(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    assert one.keys() == two.keys()
    for name in one:
        assert torch.equal(one[name], two[name]), name


def test_the_same_seed_gives_the_same_bits_and_another_does_not(tmp_path: Path, tvsum: Dataset) -> None:
    plans = [plan_of(tmp_path / name, tvsum, n_seeds=2) for name in "ab"]
    for plan in plans:
        train(plan)
    for folder in plans[0].folder.glob("split*"):
        for name in ("last", "best"):
            one, other = (load_tensors(tmp_path / run / folder.name / f"{name}.safetensors")[0] for run in "ab")
            assert_same_bits(one, other)
        assert (folder / "log.csv").read_text() == (plans[1].folder / folder.name / "log.csv").read_text()
    one, two = weights_of(tmp_path / "a"), weights_of(tmp_path / "a", seed=1)
    assert not torch.equal(one["project.weight"], two["project.weight"])


def test_workers_give_the_same_bits_as_one_process(tmp_path: Path, summe: Dataset) -> None:
    train(plan_of(tmp_path / "alone", summe))
    train(plan_of(tmp_path / "together", summe), workers=2)
    for split in range(2):
        assert_same_bits(weights_of(tmp_path / "alone", split), weights_of(tmp_path / "together", split))


@pytest.mark.parametrize(("protocol", "n_passed_over"), [("5fcv", 0), ("tvt", 2)])
def test_the_log_has_every_epoch_and_the_chosen_one_is_the_best(
    tmp_path: Path, tvsum: Dataset, protocol: str, n_passed_over: int
) -> None:
    assert QUICK.training.chosen_after == 0.5
    train(plan_of(tmp_path / "run", tvsum, protocols=(protocol,)))
    folder = tmp_path / "run" / "split0.seed0"
    assert {path.name for path in folder.iterdir()} == {"log.csv", "best.safetensors", "last.safetensors"}
    with (folder / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3, 4]
    assert {"total", "main", "rank", "stability", "kl", "learning_rate", "tau"} <= set(rows[0])
    best = max(rows[n_passed_over:], key=lambda row: float(row["tau"]))
    scorer, meta = load_checkpoint(folder / "best.safetensors")
    assert meta["epoch"] == int(best["epoch"])
    run = load_run(tmp_path / "run")
    watched = [tvsum.relative.videos[name] for name in run.parts(next(run.tasks)).watched]
    taus = [judge(scorer.predict(video.features, video.segments), video, "tvsum")[0] for video in watched]
    assert np.mean(taus) == pytest.approx(float(best["tau"]))


def test_with_nothing_chosen_there_is_only_the_last_epoch(tmp_path: Path, tvsum: Dataset) -> None:
    train(plan_of(tmp_path / "run", tvsum, protocols=("last",)))
    assert {path.name for path in (tmp_path / "run" / "split1.seed0").iterdir()} == {"log.csv", "last.safetensors"}


def test_trained_on_all_videos_it_is_judged_on_another_file(tmp_path: Path, tvsum: Dataset, summe: Dataset) -> None:
    plan = plan_of(tmp_path / "run", tvsum, all_videos(tvsum), protocols=("last",))
    train(plan)
    assert all(plan.is_done(task) for task in plan.all_tasks())
    assert "tau" not in (tmp_path / "run" / "split0.seed0" / "log.csv").read_text()
    found = evaluate_run(load_run(tmp_path / "run"), summe)
    assert (found.rows[0].protocol, len(found.rows[0].results)) == ("transfer", len(summe.videos))
    with pytest.raises(CheckpointError, match="trained on all videos"):
        evaluate_run(load_run(tmp_path / "run"), tvsum)


def test_an_evaluation_of_a_run_finds_what_its_training_recorded(tmp_path: Path, summe: Dataset) -> None:
    train(plan_of(tmp_path / "run", summe))
    recorded = read(tmp_path / "run", "summe")[Task("summe", "vastsum", "whole", 1, 0)]["videos"]
    found_rows = evaluate_run(load_run(tmp_path / "run"), summe).rows
    rows = {row.protocol: row for row in found_rows if row.method == "VASTSum"}
    for protocol, videos in recorded.items():
        found = {result.video: result.metrics for result in rows[protocol].results if result.split == 1}
        assert found.keys() == videos.keys()
        for name, metrics in videos.items():
            assert found[name] == pytest.approx(metrics)


def n_left_of(session: int) -> int:
    """Its processes, but for those that only wait to be buried."""
    listed = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True)
    return sum(not state.startswith("Z") for state in listed.stdout.split())


def test_killed_for_real_it_resumes_to_the_same_bits(
    run_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, tvsum: Dataset
) -> None:
    """SIGKILL to the command when its first training is done, which its workers notice; then --resume."""
    settings = [
        "network.width=16",
        "network.heads=2",
        "network.layers=1",
        "training.epochs=6",
    ]
    three = [{"train": split.train, "test": split.test} for split in load_splits(tvsum).splits[:3]]
    (tmp_path / "splits.json").write_text(json.dumps(three))
    asked = ["train", str(tvsum.path), "--protocol=5fcv", f"--splits={tmp_path / 'splits.json'}"]
    asked += [f"--set={setting}" for setting in settings]
    command = [sys.executable, "-m", "vastsum", *asked]
    quiet_output = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    killed = tmp_path / "killed"
    process = subprocess.Popen([*command, "-o", str(killed), "--workers=2"], start_new_session=True, **quiet_output)
    deadline = time.monotonic() + 60
    while not (killed / "tvsum.jsonl.gz").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(read(killed, "tvsum")) < len(three), "it was killed in the middle"
    read.cache_clear()
    deadline = time.monotonic() + 10
    while n_left_of(process.pid):
        assert time.monotonic() < deadline, "the workers did not leave"
        time.sleep(0.05)

    refused = run_here(*asked, "-o", killed)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr
    subprocess.run([*command, "-o", str(killed), "--resume", "--workers=1"], check=True, **quiet_output)
    assert run_here(*asked, "-o", tmp_path / "whole", "--workers=1").returncode == 0
    for split in range(len(three)):
        for name in ("last", "best"):
            one, other = (weights_of(folder, split, name=name) for folder in (tmp_path / "whole", killed))
            assert_same_bits(one, other)


def test_a_run_is_resumed_only_as_it_was_started(tmp_path: Path, tvsum: Dataset, summe: Dataset) -> None:
    folder = tmp_path / "run"
    open_plan(plan_of(folder, tvsum), resume=False)
    open_plan(plan_of(folder, tvsum, n_seeds=2), resume=True)  # seeds may be added
    other = Splits("x", load_splits(tvsum).splits[:2])
    changed = [
        (plan_of(folder, summe), "data"), (plan_of(folder, tvsum, other), "data"),
        (plan_of(folder, tvsum, protocols=("tvt",)), "protocols"),
        (plan_of(folder, tvsum, config=load_config()), "config"),
    ]  # fmt: skip
    for plan, what in changed:
        with pytest.raises(ConfigError, match=f"was started with another {what}"):
            open_plan(plan, resume=True)
    with pytest.raises(OutputError, match="exists already"):
        open_plan(plan_of(folder, tvsum), resume=False)


def test_a_run_of_an_earlier_version_is_named(tmp_path: Path, tvsum: Dataset) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"earlier version.*train it again.*can be evaluated and exported"):
        load_run(tmp_path)
    with pytest.raises(ConfigError, match=r"earlier version.*another -o"):
        open_plan(plan_of(tmp_path, tvsum), resume=True)


def test_what_went_wrong_with_a_training_is_told(
    run_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, tvsum: Dataset
) -> None:
    """A rate at which weights become infinite: nothing that anyone could choose or evaluate."""
    asked = ["train", tvsum.path, "-o", tmp_path / "run", "--workers=1", "--set=training.epochs=2"]
    small = [f"--set=network.{name}" for name in ("width=16", "heads=2", "layers=1")]
    failed = run_here(*asked, *small, "--set=training.learning_rate=1e30")
    assert failed.returncode == 1
    assert "5 of 5 trainings failed" in failed.stderr
    assert "--resume" in failed.stderr


def test_broken_runs_and_checkpoints_are_named(tmp_path: Path, tvsum: Dataset) -> None:
    run = tmp_path / "run"
    train(plan_of(run, tvsum, Splits("one", load_splits(tvsum).splits[:1])))
    good = run / "split0.seed0" / "last.safetensors"
    pickled = tmp_path / "model.safetensors"
    torch.save({"w": torch.ones(1)}, pickled)
    truncated = tmp_path / "cut.safetensors"
    truncated.write_bytes(good.read_bytes()[:-50])
    foreign = tmp_path / "foreign.safetensors"
    import safetensors.torch

    safetensors.torch.save_file({"w": torch.ones(1)}, foreign)
    tensors, _ = load_tensors(good)
    tensors.pop("project.weight")
    partial = tmp_path / "partial.safetensors"
    meta = safetensors.safe_open(good, "pt").metadata()
    safetensors.torch.save_file(tensors, partial, metadata=meta)
    wild = tmp_path / "wild.safetensors"
    nowhere = {name: torch.full_like(tensor, torch.nan) for name, tensor in load_tensors(good)[0].items()}
    safetensors.torch.save_file(nowhere, wild, metadata=meta)
    future = tmp_path / "future.safetensors"
    safetensors.torch.save_file({"w": torch.ones(1)}, future, metadata={"vastsum": '{"format": 99}'})
    cases = [
        (tmp_path / "absent.safetensors", "does not exist"), (pickled, "not a readable"), (truncated, "not a readable"),
        (foreign, "not written by vastsum"), (partial, "whole VASTSum network"), (future, "format 99"),
        (wild, "no numbers"),
    ]  # fmt: skip
    for path, words in cases:
        with pytest.raises(CheckpointError, match=words) as caught:
            load_checkpoint(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
    (run / "bench.json").write_text("{}")
    with pytest.raises(CheckpointError, match="damaged"):
        load_run(run)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_run(tmp_path / "absent")
