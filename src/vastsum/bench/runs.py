"""The folder of `vastsum train`: a bench of VASTSum alone, by one protocol, that keeps its weights.

RUN/bench.json, RUN/tvsum.csv.gz, RUN/tvsum.jsonl.gz   as in every bench: what was asked for, and what came of it
RUN/split0.seed0/best.safetensors                      the chosen epoch (5fcv, tvt)
RUN/split0.seed0/last.safetensors                      the final epoch
RUN/split0.seed0/log.csv                               every epoch's losses and, where videos are watched, their τ
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from vastsum.bench.checkpoints import recorded_network, save_tensors
from vastsum.bench.data import Split
from vastsum.bench.methods.vastsum import NetworkConfig
from vastsum.bench.plan import FORMAT, MAX_SEEDS, OLD_RUN, Plan, is_finished
from vastsum.bench.protocols import Parts, Protocol, parts_of
from vastsum.bench.records import REGIMES, Task, read
from vastsum.bench.training import Log, Trained
from vastsum.errors import CheckpointError
from vastsum.files import write_text
from vastsum.types import Kind

METHOD = "vastsum"


def save_training(plan: Plan, task: Task, trained: Trained) -> None:
    """Its weights and its log."""
    assert plan.config is not None
    benchmark, (protocol,) = plan.benchmark(task.data), plan.protocols
    dataset = benchmark.dataset
    width = dataset.seen(relative=plan.config.network.relative).feature_width
    meta = {
        "kind": dataset.kind,
        "config": replace(plan.config, network=replace(plan.config.network, feature_width=width)).to_dict(),
        "data": {"name": dataset.path.name, "fingerprint": dataset.fingerprint},
        "protocol": protocol,
        "split": task.split,
        "seed": task.seed,
        "parts": asdict(parts_of(benchmark.splits.splits, task.split, protocol)),
    }
    folder = plan.folder / f"split{task.split}.seed{task.seed}"
    if protocol in ("5fcv", "tvt"):
        best = {**meta, "epoch": trained.chosen_epoch}
        save_tensors(folder / "best.safetensors", trained.best.state_dict(), best)
    save_tensors(folder / "last.safetensors", trained.last.state_dict(), {**meta, "epoch": len(trained.log)})
    write_text(folder / "log.csv", _table(trained.log))


def _table(log: list[Log]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=["epoch", *log[-1]], lineterminator="\n")
    writer.writeheader()
    writer.writerows({"epoch": n, **row} for n, row in enumerate(log, start=1))
    return text.getvalue()


@dataclass(frozen=True)
class Run:
    """What bench.json says of such a folder."""

    folder: Path
    data: str
    kind: Kind
    fingerprint: str
    protocol: Protocol
    split_source: str
    splits: tuple[Split, ...]
    n_seeds: int
    network: NetworkConfig

    @property
    def tasks(self) -> Iterator[Task]:
        for seed in range(self.n_seeds):
            for split in range(len(self.splits)):
                yield Task(self.data, METHOD, REGIMES[self.protocol], split, seed)

    def parts(self, task: Task) -> Parts:
        return parts_of(self.splits, task.split, self.protocol)

    def checkpoint(self, task: Task, name: str) -> Path:
        return self.folder / f"split{task.split}.seed{task.seed}" / f"{name}.safetensors"

    def is_done(self, task: Task) -> bool:
        record = read(self.folder, self.data).get(task)
        return record is not None and "failed" not in record and is_finished(record, self.parts(task))


def load_run(folder: Path) -> Run:
    path = Path(folder) / "bench.json"
    if (Path(folder) / OLD_RUN).exists():
        remedy = "train it again into another folder; its .safetensors files can be evaluated and exported as they are"
        raise CheckpointError(folder, "is a run of an earlier version of vastsum", remedy)
    try:
        return _parsed(Path(folder), json.loads(path.read_text(encoding="utf-8")), path)
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise CheckpointError(path, problem, "give a folder made by 'vastsum train'") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        remedy = "give a folder made by 'vastsum train', or train again in another one"
        raise CheckpointError(path, f"is damaged, or no training of one network ({error!r})", remedy) from error


def _parsed(folder: Path, content: dict[str, Any], path: Path) -> Run:
    ((name, data),), (protocol,) = content["data"].items(), content["protocols"]
    run = Run(
        folder=folder,
        data=name,
        kind=data["kind"],
        fingerprint=data["fingerprint"],
        protocol=protocol,
        split_source=data["split_source"],
        splits=tuple(
            Split(_names(part["train"]), _names(part["test"]), _names(part["validation"])) for part in data["splits"]
        ),
        n_seeds=content["seeds"],
        network=recorded_network(content["config"], path),
    )
    if run.kind not in get_args(Kind) or run.protocol not in get_args(Protocol) or content["format"] != FORMAT:
        raise ValueError(f"{run.kind}, {run.protocol}, format {content['format']}")
    if type(run.n_seeds) is not int or not 1 <= run.n_seeds <= MAX_SEEDS:
        raise ValueError(f"seeds: {run.n_seeds}")
    if Path(name).name != name:
        raise ValueError(f"data: {name}")
    return run


def _names(content: Any) -> tuple[str, ...]:
    if not isinstance(content, list) or not all(isinstance(name, str) for name in content):
        raise ValueError("a list of names expected")
    return tuple(content)
