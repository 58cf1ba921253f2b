"""A run: every split and seed of one configuration, in a folder that can be killed and resumed at any moment.

RUN/run.json                        what was asked for: data, protocol, splits, seeds, configuration
RUN/split0.seed0/log.csv            every epoch's losses and, where videos are watched, their τ and ρ
RUN/split0.seed0/best.safetensors   the chosen epoch (5fcv, tvt)
RUN/split0.seed0/last.safetensors   the final epoch
RUN/split0.seed0/result.json        written last: the job is finished
RUN/split0.seed0/state.safetensors  where to go on from; removed when finished
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
import torch

from vastsum import __version__
from vastsum.bench.data import BenchmarkVideo, Dataset, Split
from vastsum.bench.data.splits import Splits
from vastsum.bench.methods.vastsum import Config, VastsumMethod
from vastsum.bench.training.checkpoints import load_tensors, recorded_config, save_tensors
from vastsum.bench.training.loop import Member, Trainer
from vastsum.bench.training.protocols import Parts, Protocol, parts_of, recipe_under
from vastsum.bench.training.workers import share_out, tell
from vastsum.errors import CheckpointError, ConfigError, OutputError
from vastsum.files import write_json, write_text
from vastsum.types import Kind, Prediction

MAX_SEEDS = 10_000
CHECKPOINT_EVERY = 1  # epochs between the states a killed run resumes from

Judge = Callable[[Prediction, BenchmarkVideo, Kind], tuple[float, float]]
"""τ and ρ of the prediction for a video."""

Report = Callable[["Job", int, dict[str, float]], None]
"""Told after every epoch: the job, how many epochs are done, and the epoch's row of the log."""


@dataclass(frozen=True)
class Job:
    split: int
    seed: int

    @property
    def name(self) -> str:
        return f"split{self.split}.seed{self.seed}"


@dataclass(frozen=True)
class Run:
    """What run.json says."""

    folder: Path
    kind: Kind
    data_name: str
    fingerprint: str
    protocol: Protocol
    split_source: str
    splits: tuple[Split, ...]
    n_seeds: int
    config: Config

    @property
    def jobs(self) -> list[Job]:
        return [Job(split, seed) for seed in range(self.n_seeds) for split in range(len(self.splits))]

    def parts(self, job: Job) -> Parts:
        return parts_of(self.splits, job.split, self.protocol)

    def is_finished(self, job: Job) -> bool:
        return (self.folder / job.name / "result.json").exists()

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": 1,
            "vastsum": __version__,
            "data": {"name": self.data_name, "kind": self.kind, "fingerprint": self.fingerprint},
            "protocol": self.protocol,
            "splits": {"source": self.split_source, "parts": [asdict(split) for split in self.splits]},
            "seeds": self.n_seeds,
            "config": self.config.to_dict(),
        }


def open_run(
    folder: Path, dataset: Dataset, splits: Splits, protocol: Protocol, n_seeds: int, config: Config, *, resume: bool
) -> Run:
    """Start a new run folder, or go on with one that was asked for in just the same way."""
    if n_seeds < 1:
        raise ConfigError("--seeds", f"{n_seeds} is not positive", "train with at least one seed")
    if n_seeds > MAX_SEEDS:
        raise ConfigError("--seeds", f"{n_seeds} are more than anyone waits for", f"train with at most {MAX_SEEDS}")
    width = dataset.seen(relative=config.network.relative).feature_width
    config = replace(config, network=replace(config.network, feature_width=width))
    run = Run(
        Path(folder), dataset.kind, dataset.path.name, dataset.fingerprint, protocol,
        splits.source, splits.splits, n_seeds, config,
    )  # fmt: skip
    for index in range(len(run.splits)):
        parts_of(run.splits, index, protocol)
    if resume and (run.folder / "run.json").exists():
        _require_same(load_run(run.folder), run)
        return run
    if run.folder.exists() and (not run.folder.is_dir() or any(run.folder.iterdir())):
        raise OutputError(folder, "exists already", "add --resume to go on with it, or choose another -o")
    write_json(run.folder / "run.json", run.to_dict())
    return run


def load_run(folder: Path) -> Run:
    path = Path(folder) / "run.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        run = Run(
            folder=Path(folder),
            kind=content["data"]["kind"],
            data_name=content["data"]["name"],
            fingerprint=content["data"]["fingerprint"],
            protocol=content["protocol"],
            split_source=content["splits"]["source"],
            splits=tuple(
                Split(_names(part["train"]), _names(part["test"]), _names(part["validation"]))
                for part in content["splits"]["parts"]
            ),
            n_seeds=content["seeds"],
            config=recorded_config(content["config"], path),
        )
        if run.kind not in get_args(Kind) or run.protocol not in get_args(Protocol):
            raise ValueError(f"{run.kind}, {run.protocol}")
        if type(run.n_seeds) is not int or not 1 <= run.n_seeds <= MAX_SEEDS:
            raise ValueError(f"seeds: {run.n_seeds}")
        return run
    except OSError as error:
        raise CheckpointError(
            path, f"cannot be read ({error.strerror})", "give a folder made by 'vastsum train'"
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(path, f"is damaged ({error!r})", "train the run again in another folder") from error


def _names(content: Any) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise ValueError("a list of names expected")
    return tuple(content)


def train_run(
    run: Run, dataset: Dataset, judge: Judge, report: Report, *, workers: int = 1, device: str = "cpu"
) -> None:
    """Train whatever jobs are not finished, `workers` at a time, each in a process of its own."""
    waiting = [job for job in run.jobs if not run.is_finished(job)]
    for job in set(run.jobs) - set(waiting):
        _tidy(run.folder / job.name)
    if workers <= 1 or len(waiting) <= 1 or device != "cpu":
        for job in waiting:
            train_job(run, dataset, job, judge, report, device)
        return
    share_out(waiting, _work, report, min(workers, len(waiting)), _start_worker, run, dataset, judge)


_worker: dict[str, Any] = {}  # what a worker process was started with; set once by _start_worker


def _start_worker(run: Run, dataset: Dataset, judge: Judge) -> None:
    _worker.update(run=run, dataset=dataset, judge=judge)


def _work(job: Job) -> None:
    train_job(_worker["run"], _worker["dataset"], job, _worker["judge"], tell)


def train_job(run: Run, dataset: Dataset, job: Job, judge: Judge, report: Report, device: str = "cpu") -> None:
    """Train one split and seed, from its last saved state where there is one."""
    torch.set_num_threads(1)  # the same bits whatever the machine; parallelism comes from jobs
    folder = run.folder / job.name
    parts, dataset = run.parts(job), dataset.seen(relative=run.config.network.relative)
    watched = [dataset.videos[name] for name in parts.watched]
    member = Member(tuple(dataset.videos[name] for name in parts.train), job.seed)
    trainer = Trainer(VastsumMethod(run.config), [member], device)
    log = _resume(trainer, folder)
    n_epochs = run.config.training.epochs
    for epoch in range(len(log), n_epochs):
        row: dict[str, float] = {"epoch": epoch + 1, **trainer.train_epoch(epoch)[0]}
        if watched:
            scores = trainer.importance([watched])[0]
            predicted = (Prediction.certain(score, trainer.method.decoder) for score in scores)
            agreements = [judge(each, video, run.kind) for each, video in zip(predicted, watched, strict=True)]
            row["tau"], row["rho"] = np.mean(agreements, axis=0).tolist()
            if _chosen(run, [*log, row]) is row:
                _save_weights(folder / "best.safetensors", run, job, trainer, epoch + 1)
        log.append(row)
        _write_log(folder / "log.csv", log)
        if (epoch + 1) % CHECKPOINT_EVERY == 0:
            save_tensors(folder / "state.safetensors", trainer.state(), {"log": log})
        report(job, epoch + 1, row)
    _save_weights(folder / "last.safetensors", run, job, trainer, n_epochs)
    chosen = _chosen(run, log) if watched else log[-1]
    result = {"epochs": n_epochs, "chosen_epoch": int(chosen["epoch"]), "chosen": dict(sorted(chosen.items()))}
    write_json(folder / "result.json", result)  # in this order whether or not the log was loaded
    _tidy(folder)


def _chosen(run: Run, log: list[dict[str, float]]) -> dict[str, float]:
    """The row with the highest τ so far; of those to choose from, once there are any."""
    recipe = recipe_under(run.protocol, run.config.training)
    rows = [row for row in log if recipe.may_choose(int(row["epoch"]))]
    return max(rows or log, key=lambda row: row["tau"])


def _tidy(folder: Path) -> None:
    """Where to go on from is of no use to a finished job; what cannot be removed now is removed by the next run."""
    with suppress(OSError):
        (folder / "state.safetensors").unlink(missing_ok=True)


def _resume(trainer: Trainer, folder: Path) -> list[dict[str, float]]:
    """Load the last saved state; the log so far tells how many epochs it holds."""
    for leftover in folder.glob(".*.part"):  # of a process that was killed while writing
        leftover.unlink()
    state = folder / "state.safetensors"
    if not state.exists():
        return []
    tensors, meta = load_tensors(state)
    trainer.load_state(tensors)
    return cast(list[dict[str, float]], meta["log"])


def _save_weights(path: Path, run: Run, job: Job, trainer: Trainer, epoch: int) -> None:
    meta = {
        "kind": run.kind,
        "config": run.config.to_dict(),
        "data": {"name": run.data_name, "fingerprint": run.fingerprint},
        "protocol": run.protocol,
        "split": job.split,
        "seed": job.seed,
        "epoch": epoch,
        "parts": asdict(run.parts(job)),
    }
    save_tensors(path, trainer.network().state_dict(), meta)


def _write_log(path: Path, log: Sequence[dict[str, float]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(log[-1]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(log)
    write_text(path, text.getvalue())


def _require_same(earlier: Run, asked: Run) -> None:
    before, now = earlier.to_dict(), asked.to_dict()
    for key in ("data", "protocol", "splits", "seeds", "config"):
        if before[key] != now[key]:
            raise ConfigError(
                asked.folder, f"was started with another {key}", "resume with the same arguments, or choose another -o"
            )
