"""What a bench consists of, and where each of its results lies.

DIR/bench.json                                 what was asked for
DIR/runs/tvsum.googlenet/vasnet/whole.split0.seed0.json   one training: what it scored on every test video
DIR/runs/tvsum.googlenet/vasnet/tvt.split0.seed0.json     the same with a validation part held out
DIR/tables/…                                   made of these
DIR/bookmarks/…                                where long trainings are; gone when all is done
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from vastsum import __version__
from vastsum.data import Dataset, Split
from vastsum.data.splits import Splits
from vastsum.errors import ConfigError, OutputError
from vastsum.files import write_json
from vastsum.training.methods import Entry, entry_of
from vastsum.training.protocols import Parts, Protocol, parts_of

Regime = Literal["whole", "tvt"]
"""What is trained on: the whole training part of a split (5fcv and last are read off it), or that less a validation
part."""


BOOKMARKS = "bookmarks"


@dataclass(frozen=True)
class Task:
    """One training of one method on one file."""

    data: str
    method: str
    regime: Regime
    split: int
    seed: int

    @property
    def what(self) -> str:
        """Which method on which file: what progress is told of."""
        return f"{self.method} on {self.data}"

    @property
    def chosen_by(self) -> Protocol:
        """The protocol that chooses its epoch; `last` needs none."""
        return "tvt" if self.regime == "tvt" else "5fcv"

    def path(self, folder: Path) -> Path:
        return folder / "runs" / self.data / self.method / f"{self._name}.json"

    def bookmark(self, folder: Path) -> Path:
        """Of the group that this is the first of."""
        return folder / BOOKMARKS / self.data / self.method / f"{self._name}.safetensors"

    @property
    def _name(self) -> str:
        return f"{self.regime}.split{self.split}.seed{self.seed}"


@dataclass(frozen=True, eq=False)
class Benchmark:
    """One file of the bench with its splits."""

    dataset: Dataset
    splits: Splits

    @property
    def name(self) -> str:
        return self.dataset.path.stem

    @property
    def is_standard(self) -> bool:
        """Published numbers may stand beside ours: the videos and splits are those everyone uses."""
        return self.splits.source.startswith("standard")

    def parts(self, task: Task) -> Parts:
        return parts_of(self.splits.splits, task.split, task.chosen_by)


@dataclass(frozen=True, eq=False)
class Plan:
    """`given` are methods that need more than a benchmark file, with what they need."""

    folder: Path
    benchmarks: tuple[Benchmark, ...]
    methods: tuple[str, ...]
    protocols: tuple[Protocol, ...]
    n_seeds: int
    max_epochs: int | None
    given: Mapping[str, Entry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_seeds < 1:
            raise ConfigError("--seeds", f"{self.n_seeds} is not positive", "train with at least one seed")
        names = [benchmark.name for benchmark in self.benchmarks]
        if len(set(names)) != len(names):
            raise ConfigError("DATA", f"two files are called {max(names, key=names.count)}", "rename one of them")
        for method in self.methods:
            self.entry(method)

    def entry(self, method: str) -> Entry:
        return self.given[method] if method in self.given else entry_of(method)

    @property
    def regimes(self) -> list[Regime]:
        regimes: list[Regime] = ["whole"] if set(self.protocols) & {"5fcv", "last"} else []
        return [*regimes, "tvt"] if "tvt" in self.protocols else regimes

    def epochs(self, own: int) -> int:
        """How long a method trains whose recipe says `own` epochs."""
        return own if self.max_epochs is None else min(own, self.max_epochs)

    def tasks(self, benchmark: Benchmark, method: str) -> Iterator[Task]:
        """Every training of one method on one file; a closed-form method has no seeds to vary. Trainings on the same
        videos come one after another: stacked together, they pad least."""
        entry = self.entry(method)
        n_seeds = 0 if entry.missing else 1 if entry.fit else self.n_seeds
        for regime in self.regimes:
            for split in range(len(benchmark.splits.splits)):
                for seed in range(n_seeds):
                    yield Task(benchmark.name, method, regime, split, seed)

    def all_tasks(self) -> Iterator[Task]:
        for benchmark in self.benchmarks:
            for method in self.methods:
                yield from self.tasks(benchmark, method)

    def result(self, task: Task) -> dict[str, Any] | None:
        """What was written for a task; None where it is still to be done, or failed and may be tried again."""
        try:
            content: dict[str, Any] = json.loads(task.path(self.folder).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content

    def is_done(self, task: Task) -> bool:
        result = self.result(task)
        return result is not None and "failed" not in result

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": 1,
            "vastsum": __version__,
            "data": {
                benchmark.name: {
                    "kind": benchmark.dataset.kind,
                    "fingerprint": benchmark.dataset.fingerprint,
                    "splits": [_split(split) for split in benchmark.splits.splits],
                    "split_source": benchmark.splits.source,
                }
                for benchmark in self.benchmarks
            },
            "methods": list(self.methods),
            "protocols": list(self.protocols),
            "seeds": self.n_seeds,
            "max_epochs": self.max_epochs,
        }


def _split(split: Split) -> dict[str, list[str]]:
    return {part: list(names) for part, names in asdict(split).items()}


def open_plan(plan: Plan, *, resume: bool) -> None:
    """Claim the folder. Methods, protocols and seeds may be added to a bench; its data and epochs may not change."""
    path = plan.folder / "bench.json"
    now = plan.to_dict()
    if path.exists() and resume:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        for key in ("data", "max_epochs"):
            shared = now[key] if key != "data" else {name: now[key][name] for name in now[key] if name in earlier[key]}
            before = earlier[key] if key != "data" else {name: earlier[key][name] for name in shared}
            if shared != before:
                raise ConfigError(
                    plan.folder, f"was started with another {key}", "resume with the same, or choose another -o"
                )
        now["data"] = earlier["data"] | now["data"]  # files that are left out today may be asked for again
    elif plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise OutputError(plan.folder, "exists already", "add --resume to go on with it, or choose another -o")
    write_json(path, now)
