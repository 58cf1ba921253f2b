"""What a bench consists of, and where each of its results lies.

DIR/bench.json                                 what was asked for
DIR/tvsum.googlenet.….gz                       what its trainings left: see records.py
DIR/tables/…                                   made of these
DIR/bookmarks/…                                where long trainings are; gone when all is done
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vastsum import __version__
from vastsum.bench.data import BenchmarkVideo, Dataset, Split
from vastsum.bench.data.splits import Splits
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.methods.registry import Entry, configured, entry_of
from vastsum.bench.methods.vastsum import Config
from vastsum.bench.protocols import Parts, Protocol, method_under, parts_of
from vastsum.bench.records import Record, Regime, Task, forget, read
from vastsum.errors import ConfigError, OutputError
from vastsum.files import write_json
from vastsum.types import Kind

FORMAT = 2
MAX_SEEDS = 10_000
OLD_RUN = "run.json"  # of `vastsum train`, before it was a bench


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

    def has_videos_of(self, other: Benchmark) -> bool:
        """Whether a video is in both files, whatever its features: videos are known by name and length."""
        ours, theirs = (
            {(name, video.segments.n_frames) for name, video in each.dataset.videos.items()} for each in (self, other)
        )
        return bool(ours & theirs)


@dataclass(frozen=True)
class Material:
    """The videos of a task, with relative channels where the method is given them. `kind` is the training videos'."""

    kind: Kind
    training: tuple[BenchmarkVideo, ...]
    watched: tuple[BenchmarkVideo, ...]
    test: tuple[BenchmarkVideo, ...]


@dataclass(frozen=True, eq=False)
class Plan:
    """`given` are methods that need more than a benchmark file, with what they need. Where there is a `config`, it is
    that of VASTSum here, and its weights are kept."""

    folder: Path
    benchmarks: tuple[Benchmark, ...]
    methods: tuple[str, ...]
    protocols: tuple[Protocol, ...]
    n_seeds: int
    max_epochs: int | None
    given: Mapping[str, Entry] = field(default_factory=dict)
    config: Config | None = None

    def __post_init__(self) -> None:
        if self.n_seeds < 1:
            raise ConfigError("--seeds", f"{self.n_seeds} is not positive", "train with at least one seed")
        if self.n_seeds > MAX_SEEDS:
            problem = f"{self.n_seeds} are more than anyone waits for"
            raise ConfigError("--seeds", problem, f"train with at most {MAX_SEEDS}")
        names = [benchmark.name for benchmark in self.benchmarks]
        if len(set(names)) != len(names):
            raise ConfigError("DATA", f"two files are called {max(names, key=names.count)}", "rename one of them")
        for method in self.methods:
            self.entry(method)
        if "transfer" in self.protocols:
            for benchmark in self.benchmarks:
                self._require_others(benchmark)

    def entry(self, method: str) -> Entry:
        if method in self.given:
            return self.given[method]
        return entry_of(method) if self.config is None else configured(self.config)

    @property
    def regimes(self) -> list[Regime]:
        regimes: list[Regime] = ["whole"] if set(self.protocols) & {"5fcv", "last"} else []
        return regimes + [regime for regime in ("tvt", "transfer") if regime in self.protocols]

    def benchmark(self, name: str) -> Benchmark:
        return next(benchmark for benchmark in self.benchmarks if benchmark.name == name)

    def others(self, benchmark: Benchmark) -> list[Benchmark]:
        """The files to transfer from: features of the same width, and none of this file's videos."""
        width = benchmark.dataset.feature_width
        return [
            other
            for other in self.benchmarks
            if other.dataset.feature_width == width and not other.has_videos_of(benchmark)
        ]

    def _require_others(self, benchmark: Benchmark) -> None:
        others = self.others(benchmark)
        if len({other.dataset.kind for other in others}) == 1:
            return
        problem = "different kinds of annotation" if others else "nothing else"
        raise ConfigError(
            "--protocol",
            f"transfer to {benchmark.name} has {problem} to train on",
            "name files with features of the same backbone, other videos and one kind of annotation",
        )

    def trained_on(self, task: Task) -> dict[str, str]:
        """The fingerprints of the other files, by name: those of this file are in bench.json."""
        if task.regime != "transfer":
            return {}
        return {other.name: other.dataset.fingerprint for other in self.others(self.benchmark(task.data))}

    def training_kind(self, task: Task) -> Kind:
        own = self.benchmark(task.data)
        return (self.others(own)[0] if task.regime == "transfer" else own).dataset.kind

    def learned(self, task: Task) -> LearnedMethod:
        """The task's method with its own recipe, but for a cap on its epochs where the plan has one, and for what its
        protocol says of choosing one."""
        learn = self.entry(task.method).learn
        assert learn is not None
        method = learn(self.training_kind(task))
        return method_under(task.chosen_by, method.with_recipe(epochs=self.epochs(method.recipe.epochs)))

    def material(self, task: Task) -> Material:
        relative = self.entry(task.method).relative
        own = self.benchmark(task.data)
        videos = own.dataset.seen(relative=relative).videos
        kind = self.training_kind(task)
        if task.regime == "transfer":
            others = [other.dataset.seen(relative=relative) for other in self.others(own)]
            training = tuple(video for other in others for video in other.videos.values())
            return Material(kind, training, (), tuple(videos.values()))
        parts = own.parts(task)
        named = (tuple(videos[name] for name in names) for names in (parts.train, parts.watched, parts.test))
        return Material(kind, *named)

    def epochs(self, own: int) -> int:
        """How long a method trains whose recipe says `own` epochs."""
        return own if self.max_epochs is None else min(own, self.max_epochs)

    def tasks(self, benchmark: Benchmark, method: str) -> Iterator[Task]:
        """Every training of one method on one file; a closed-form method has no seeds to vary. Trainings on the same
        videos come one after another: stacked together, they pad least."""
        entry = self.entry(method)
        n_seeds = 0 if entry.missing else 1 if entry.fit else self.n_seeds
        for regime in self.regimes:
            for split in range(1 if regime == "transfer" else len(benchmark.splits.splits)):
                for seed in range(n_seeds):
                    yield Task(benchmark.name, method, regime, split, seed)

    def all_tasks(self) -> Iterator[Task]:
        for benchmark in self.benchmarks:
            for method in self.methods:
                yield from self.tasks(benchmark, method)

    @property
    def drawn(self) -> Protocol:
        """The protocol whose predictions are kept, to be drawn: where possible, one that chooses no epoch on test."""
        return "last" if "last" in self.protocols else self.protocols[0]

    def result(self, task: Task) -> Record | None:
        """What was written for a task; None where it is still to be done, or was trained on other files."""
        record = read(self.folder, task.data).get(task)
        if record is None or record.get("trained_on", {}) != self.trained_on(task):
            return None
        own = self.benchmark(task.data)
        return record if "failed" in record or is_finished(record, own.parts(task)) else None

    def is_done(self, task: Task) -> bool:
        result = self.result(task)
        return result is not None and "failed" not in result

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
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
            **({"config": self.config.to_dict()} if self.config else {}),
        }


def is_finished(record: Record, parts: Parts) -> bool:
    """A record is written before its metrics: one without them was cut short, unless it has nothing to test."""
    return bool(record["videos"]) or not parts.test


def _split(split: Split) -> dict[str, list[str]]:
    return {part: list(names) for part, names in asdict(split).items()}


def open_plan(plan: Plan, *, resume: bool, retrain: Collection[str] = ()) -> None:
    """Claim the folder. Methods, protocols and seeds may be added to a bench, and only seeds to one of a `config`; its
    data and epochs may not change. Trainings of the methods to `retrain` are forgotten."""
    if not set(retrain) <= set(plan.methods):
        raise ConfigError("--retrain", f"{', '.join(retrain)}: not all are among the methods", "name them in --methods")
    path = plan.folder / "bench.json"
    now = plan.to_dict()
    if path.exists() and resume:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier["format"] != FORMAT:
            problem = f"is a bench of format {earlier['format']}, this version of vastsum reads format {FORMAT}"
            raise ConfigError(plan.folder, problem, "choose another -o")
        shared = now["data"].keys() & earlier["data"].keys()
        kept = ("data", "max_epochs", "config", "protocols") if plan.config else ("max_epochs", "config")
        before, after = (
            {"data": {name: each["data"][name] for name in shared}} | {key: each.get(key) for key in kept}
            for each in (earlier, now)
        )
        for key in before:
            if before[key] != after[key]:
                raise ConfigError(
                    plan.folder, f"was started with another {key}", "resume with the same, or choose another -o"
                )
        now["data"] = earlier["data"] | now["data"]  # files that are left out today may be asked for again
    elif (plan.folder / OLD_RUN).exists():
        raise ConfigError(plan.folder, "is a run of an earlier version of vastsum", "train again into another -o")
    elif plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise OutputError(plan.folder, "exists already", "add --resume to go on with it, or choose another -o")
    write_json(path, now)
    if retrain:
        for benchmark in plan.benchmarks:
            forget(plan.folder, benchmark.name, retrain)
