"""Training learns, repeats to the bit, and goes on after a kill as if nothing had happened."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from vastsum.bench.data import BenchmarkVideo, Dataset, load_splits
from vastsum.bench.data.splits import Splits
from vastsum.bench.measures.metrics import agreement, judge
from vastsum.bench.methods.learned import Moment
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import Config, VastsumMethod, pool_scores
from vastsum.bench.training.batches import VideoTensors, pad
from vastsum.bench.training.checkpoints import load_scorer, load_tensors, save_tensors
from vastsum.bench.training.loop import Member, Trainer
from vastsum.bench.training.runs import Job, Run, load_run, open_run, train_job, train_run
from vastsum.errors import CheckpointError, ConfigError, OutputError

QUICK = load_config(None, ["network.width=16", "network.heads=2", "network.layers=1", "network.head_width=16",
                           "network.positions=64", "training.epochs=4",
                           "training.batch_size=3", "loss.rank_pairs=64", "loss.stability_warmup=1"])  # fmt: skip
LEARNING = load_config(None, ["network.width=32", "network.heads=4", "network.layers=1", "network.dropout=0.1",
                              "network.input_dropout=0.2", "training.epochs=25", "training.learning_rate=0.003",
                              "training.batch_size=4"], ablation="paper")  # fmt: skip


def quiet(job: Job, epoch: int, row: dict[str, float]) -> None:
    pass


def start(folder: Path, dataset: Dataset, config: Config = QUICK, protocol: str = "5fcv", n_seeds: int = 1) -> Run:
    splits = load_splits(dataset)
    two = Splits(splits.source, splits.splits[:2])
    return open_run(folder, dataset, two, protocol, n_seeds, config, resume=False)


def alone(config: Config, videos: list[BenchmarkVideo]) -> Trainer:
    return Trainer(VastsumMethod(config), [Member(tuple(videos), seed=0)])


def weights_of(run: Run, job: Job, name: str = "last") -> dict[str, torch.Tensor]:
    return load_tensors(run.folder / job.name / f"{name}.safetensors")[0]


def assert_same_bits(one: dict[str, torch.Tensor], two: dict[str, torch.Tensor]) -> None:
    assert one.keys() == two.keys()
    for name in one:
        assert torch.equal(one[name], two[name]), name


@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_it_learns_the_synthetic_benchmark(kind: str, tvsum: Dataset, summe: Dataset) -> None:
    dataset = {"tvsum": tvsum, "summe": summe}[kind]
    names = list(dataset.videos)
    trainer = alone(LEARNING, [dataset.videos[name] for name in names[:7]])
    test = [dataset.videos[name] for name in names[7:]]
    torch.set_num_threads(1)

    def score_tau() -> float:
        scorer = trainer.method.scorer(trainer.network(), dataset.kind)
        predictions = [scorer.predict(video.features, video.segments) for video in test]
        pairs = zip(predictions, test, strict=True)
        return float(np.mean([agreement(prediction, video, dataset.kind).score_tau for prediction, video in pairs]))

    before = score_tau()
    logs = [trainer.train_epoch(epoch)[0] for epoch in range(LEARNING.training.epochs)]
    after = score_tau()
    assert logs[-1]["main"] < logs[0]["main"]
    assert after > before + 0.1
    assert after > 0.15
    assert all(np.isfinite(value) for log in logs for value in log.values())


def test_the_same_seed_gives_the_same_bits_and_another_does_not(tmp_path: Path, tvsum: Dataset) -> None:
    runs = [start(tmp_path / name, tvsum, n_seeds=2) for name in "ab"]
    for run in runs:
        train_run(run, tvsum, judge, quiet)
    for job in runs[0].jobs:
        for name in ("last", "best"):
            assert_same_bits(weights_of(runs[0], job, name), weights_of(runs[1], job, name))
        assert (runs[0].folder / job.name / "log.csv").read_text() == (
            runs[1].folder / job.name / "log.csv"
        ).read_text()
    one, two = weights_of(runs[0], Job(0, 0)), weights_of(runs[0], Job(0, 1))
    assert not torch.equal(one["project.weight"], two["project.weight"])


def test_workers_give_the_same_bits_as_one_process(tmp_path: Path, summe: Dataset) -> None:
    alone, together = start(tmp_path / "alone", summe), start(tmp_path / "together", summe)
    train_run(alone, summe, judge, quiet)
    seen = []
    train_run(together, summe, judge, lambda *news: seen.append(news), workers=2)
    for job in alone.jobs:
        assert_same_bits(weights_of(alone, job), weights_of(together, job))
    assert len(seen) == 2 * QUICK.training.epochs


def test_training_leaves_the_callers_random_numbers_alone(tvsum: Dataset) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    alone(QUICK, list(tvsum.videos.values())[:2]).train_epoch(0)
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize(("protocol", "n_passed_over"), [("5fcv", 0), ("tvt", 2)])
def test_the_log_has_every_epoch_and_the_chosen_one_is_the_best(
    tmp_path: Path, tvsum: Dataset, protocol: str, n_passed_over: int
) -> None:
    assert QUICK.training.chosen_after == 0.5
    run = start(tmp_path / "run", tvsum, protocol=protocol)
    train_job(run, tvsum, Job(0, 0), judge, quiet)
    folder = run.folder / "split0.seed0"
    with (folder / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == [1, 2, 3, 4]
    assert {"total", "main", "rank", "stability", "kl", "learning_rate", "tau", "rho"} <= set(rows[0])
    result = json.loads((folder / "result.json").read_text())
    best = max(rows[n_passed_over:], key=lambda row: float(row["tau"]))
    assert result["chosen_epoch"] == int(best["epoch"])
    scorer, meta = load_scorer(folder / "best.safetensors")
    assert meta["epoch"] == result["chosen_epoch"]
    watched = [tvsum.relative.videos[name] for name in run.parts(Job(0, 0)).watched]
    taus = [judge(scorer.predict(video.features, video.segments), video, "tvsum")[0] for video in watched]
    assert np.mean(taus) == pytest.approx(float(best["tau"]))
    assert not (folder / "state.safetensors").exists()


def test_last_watches_nothing(tmp_path: Path, tvsum: Dataset) -> None:
    run = start(tmp_path / "run", tvsum, protocol="last")
    train_job(run, tvsum, Job(1, 0), judge, quiet)
    assert not (run.folder / "split1.seed0" / "best.safetensors").exists()
    assert "tau" not in (run.folder / "split1.seed0" / "log.csv").read_text()


class Stopped(Exception):  # noqa: N818
    pass


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_stopped_after_any_epoch_it_ends_in_the_same_bits(tmp_path: Path, tvsum: Dataset, stop_after: int) -> None:
    whole, broken = start(tmp_path / "whole", tvsum), start(tmp_path / "broken", tvsum)
    job = Job(0, 0)
    train_job(whole, tvsum, job, judge, quiet)

    def stop(_job: Job, epoch: int, _row: dict[str, float]) -> None:
        if epoch == stop_after:
            raise Stopped

    with pytest.raises(Stopped):
        train_job(broken, tvsum, job, judge, stop)
    assert not broken.is_finished(job)
    (broken.folder / job.name / ".last.safetensors.x.part").write_bytes(b"half a file")
    train_job(broken, tvsum, job, judge, quiet)
    for name in ("last", "best"):
        assert_same_bits(weights_of(whole, job, name), weights_of(broken, job, name))
    files = {path.name for path in (broken.folder / job.name).iterdir()}
    assert files == {"log.csv", "result.json", "last.safetensors", "best.safetensors"}


def n_left_of(session: int) -> int:
    """Its processes, but for those that only wait to be buried."""
    listed = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True)
    return sum(not state.startswith("Z") for state in listed.stdout.split())


def test_killed_for_real_it_resumes_to_the_same_bits(
    run_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, tvsum: Dataset
) -> None:
    """SIGKILL to the command in the middle of training, which its workers notice; then --resume."""
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
    while not list(killed.glob("*/state.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.15)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert len(list(killed.glob("*/result.json"))) < len(three), "it was killed in the middle"
    deadline = time.monotonic() + 10
    while n_left_of(process.pid):
        assert time.monotonic() < deadline, "the workers did not leave"
        time.sleep(0.05)

    refused = run_here(*asked, "-o", killed)
    assert refused.returncode == 1
    assert "--resume" in refused.stderr
    subprocess.run([*command, "-o", str(killed), "--resume", "--workers=1"], check=True, **quiet_output)
    assert run_here(*asked, "-o", tmp_path / "whole", "--workers=1").returncode == 0
    run = load_run(killed)
    whole = load_run(tmp_path / "whole")
    for job in run.jobs:
        assert_same_bits(weights_of(whole, job), weights_of(run, job))
        assert_same_bits(weights_of(whole, job, "best"), weights_of(run, job, "best"))


def test_a_run_is_resumed_only_as_it_was_started(tmp_path: Path, tvsum: Dataset, summe: Dataset) -> None:
    start(tmp_path / "run", tvsum)
    splits = Splits("x", load_splits(tvsum).splits[:2])
    same = replace(splits, source=load_splits(tvsum).source)

    def again(dataset: Dataset, splits: Splits, protocol: str, n_seeds: int, config: Config) -> Run:
        return open_run(tmp_path / "run", dataset, splits, protocol, n_seeds, config, resume=True)

    assert again(tvsum, same, "5fcv", 1, QUICK).jobs == [Job(0, 0), Job(1, 0)]
    changed = [
        (summe, same, "5fcv", 1, QUICK), (tvsum, same, "tvt", 1, QUICK), (tvsum, same, "5fcv", 2, QUICK),
        (tvsum, same, "5fcv", 1, load_config()), (tvsum, splits, "5fcv", 1, QUICK),
    ]  # fmt: skip
    for arguments in changed:
        with pytest.raises(ConfigError, match="was started with another"):
            again(*arguments)
    with pytest.raises(OutputError, match="exists already"):
        start(tmp_path / "run", tvsum)
    with pytest.raises(ConfigError, match="seed"):
        start(tmp_path / "other", tvsum, n_seeds=0)
    assert not (tmp_path / "other").exists()


def test_broken_runs_and_checkpoints_are_named(tmp_path: Path, tvsum: Dataset) -> None:
    run = start(tmp_path / "run", tvsum)
    train_job(run, tvsum, Job(0, 0), judge, quiet)
    good = run.folder / "split0.seed0" / "last.safetensors"
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
            load_scorer(path)
        assert str(caught.value).startswith(str(path))
        assert "\n" not in str(caught.value)
    (run.folder / "run.json").write_text("{}")
    with pytest.raises(CheckpointError, match="damaged"):
        load_run(run.folder)
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_run(tmp_path / "absent")


def test_accumulating_and_padding_give_the_same_epochs(tvsum: Dataset) -> None:
    """One video at a time, or all padded together: noise belongs to the video, so only rounding differs."""
    logs = []
    for at_once in (1, 3):
        config = QUICK.with_settings({"training.videos_at_once": at_once}, "test")
        trainer = alone(config, list(tvsum.videos.values())[:5])
        logs.append([trainer.train_epoch(epoch)[0] for epoch in range(3)])
    for one, three in zip(*logs, strict=True):
        assert one == pytest.approx(three, rel=1e-4, abs=1e-5)


def test_the_stability_loss_pools_and_solves_as_the_decoder_does(summe: Dataset) -> None:
    videos = list(summe.videos.values())[:3]
    batch = pad([VideoTensors.of(video) for video in videos])
    signal = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(0))
    pooled = pool_scores(signal, batch)
    for row, video in enumerate(videos):
        ids, n = video.segments.ids, len(video.segments.picks)
        for k in range(len(video.segments)):
            inside = signal[row, :n][torch.from_numpy(ids == k)]
            expected = inside.mean() if len(inside) else signal[row, video.segments.first_picks[k]]
            assert float(pooled[row, k]) == pytest.approx(float(expected), abs=1e-6)
    moment = Moment(0, [np.random.default_rng(row) for row in range(3)])
    base, perturbed = VastsumMethod(QUICK)._solve(pooled, batch, moment)
    assert perturbed.shape == (3, QUICK.loss.stability_draws, batch.n_segments)
    for row, video in enumerate(videos):
        for solution in (base[row], *perturbed[row]):
            chosen = solution[: len(video.segments)].numpy()
            assert video.segments.lengths[chosen].sum() <= 0.15 * video.segments.n_frames
            assert not solution[len(video.segments) :].any()


@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_the_linear_path_is_a_closed_form_of_the_training_videos(kind: str, tvsum: Dataset, summe: Dataset) -> None:
    videos = list({"tvsum": tvsum, "summe": summe}[kind].videos.values())[:4]
    config = LEARNING.with_settings({"network.linear_share": 1.0}, "test")
    trainer = alone(config, videos)
    before = trainer.importance([videos])[0]
    trainer.train_epoch(0)
    after = trainer.importance([videos])[0]
    for first, then in zip(before, after, strict=True):
        np.testing.assert_array_equal(first, then)  # not trained
    pairs = zip(videos, after, strict=True)
    fits = [np.corrcoef(then, video.annotations.mean(axis=0))[0, 1] for video, then in pairs]
    assert np.mean(fits) > 0.2


def test_one_network_learns_from_both_kinds_of_annotation(tvsum: Dataset, summe: Dataset) -> None:
    """As the embedded model does: each video by the likelihood of its own kind, on one scale of importance."""
    settings = {"network.offset": 0.5, "network.temperature": 0.15}
    config = LEARNING.with_settings(settings, "test")
    both = [*list(tvsum.videos.values())[:5], *list(summe.videos.values())[:5]]
    trainer = alone(config, both)
    for epoch in range(20):
        trainer.train_epoch(epoch)
    for dataset in (tvsum, summe):
        unseen = list(dataset.videos.values())[5:]
        scorer = trainer.method.scorer(trainer.network(), "tvsum")
        predictions = [scorer.predict(video.features, video.segments) for video in unseen]
        taus = [agreement(p, video, dataset.kind).score_tau for p, video in zip(predictions, unseen, strict=True)]
        assert np.mean(taus) > 0.1
        assert all(-0.5 < prediction.mean.mean() < 1.5 for prediction in predictions)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("cosine", [1, 0.9330, 0.75, 0.5, 0.25, 0.0670]), ("hold", [1, 1, 1, 1, 1, 0.5]), ("constant", [1] * 6)],
)
def test_learning_rate_schedules(tvsum: Dataset, schedule: str, expected: list[float]) -> None:
    settings = {"training.epochs": 6, "training.schedule": schedule, "training.learning_rate": 1.0}
    config = QUICK.with_settings(settings, "test")
    trainer = alone(config, list(tvsum.videos.values())[:1])
    assert [trainer._learning_rate(epoch) for epoch in range(6)] == pytest.approx(expected, abs=1e-4)


def test_a_checkpoint_of_other_settings_says_that_it_is_of_another_version(tmp_path: Path) -> None:
    config = LEARNING.to_dict()
    config["network"]["kernel_share"] = 0.75
    save_tensors(tmp_path / "old.safetensors", {}, {"config": config, "kind": "tvsum"})
    with pytest.raises(CheckpointError, match=r"'network\.kernel_share'.*train it again, or use the version"):
        load_scorer(tmp_path / "old.safetensors")
