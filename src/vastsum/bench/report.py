"""From checkpoints to numbers: every metric of every test video, and the table made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vastsum import __version__
from vastsum.bench.checkpoints import load_checkpoint
from vastsum.bench.columns import AGREEMENT, TRUST
from vastsum.bench.data import BenchmarkVideo, Dataset
from vastsum.bench.measures import Agreement, measure, numbers
from vastsum.bench.methods.ridge import RidgeScorer
from vastsum.bench.protocols import MEANING
from vastsum.bench.references import (
    human_agreement,
    length_agreement,
    mean_annotator_agreement,
    random_agreement,
    uniform_agreement,
)
from vastsum.bench.runs import Run
from vastsum.errors import CheckpointError
from vastsum.scoring.base import Scorer
from vastsum.types import Prediction

N_RANDOM_SEEDS = 20


@dataclass(frozen=True)
class VideoResult:
    """One prediction for one test video, and how it was judged. `split` and `seed` say which training it comes from.
    Reference rows and results that were read back have no prediction."""

    video: str
    split: int
    seed: int
    metrics: dict[str, float | None]
    undefined: int = 0
    prediction: Prediction | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("video", "split", "seed", "metrics", "undefined")}


@dataclass
class Row:
    """One line of the table. The mean is over the videos of each split, then splits, then seeds; the spreads beside it
    are the standard deviations over seeds and over splits."""

    method: str
    protocol: str
    meaning: str
    results: list[VideoResult] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        cells = {column.metric: self._cell(column.metric) for column in (*AGREEMENT, *TRUST)}
        return {
            "method": self.method,
            "protocol": self.protocol,
            "meaning": self.meaning,
            "n_splits": len({result.split for result in self.results}),
            "n_seeds": len({result.seed for result in self.results}),
            "undefined": sum(result.undefined for result in self.results),
            **{metric: cell for metric, cell in cells.items() if cell is not None},
        }

    def _cell(self, metric: str) -> dict[str, float] | None:
        grid: dict[int, dict[int, list[float]]] = {}
        for result in self.results:
            value = result.metrics.get(metric)
            if value is not None:
                grid.setdefault(result.seed, {}).setdefault(result.split, []).append(value)
        if not grid:
            return None
        by_seed = [float(np.mean([np.mean(values) for values in splits.values()])) for splits in grid.values()]
        split_ids = sorted({split for splits in grid.values() for split in splits})
        by_split = [
            float(np.mean([np.mean(splits[split]) for splits in grid.values() if split in splits]))
            for split in split_ids
        ]
        return {
            "mean": float(np.mean(by_seed)),
            "std_over_seeds": float(np.std(by_seed, ddof=1)) if len(by_seed) > 1 else 0.0,
            "std_over_splits": float(np.std(by_split, ddof=1)) if len(by_split) > 1 else 0.0,
        }


@dataclass
class EvaluationReport:
    data_name: str
    kind: str
    fingerprint: str
    n_videos: int
    split_source: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": 1,
            "vastsum": __version__,
            "data": {
                "name": self.data_name, "kind": self.kind, "fingerprint": self.fingerprint, "n_videos": self.n_videos,
            },
            "splits": self.split_source,
            "notes": self.notes,
            "table": [row.summary() for row in self.rows],
            "videos": [
                {"method": row.method, "protocol": row.protocol, **result.to_dict()}
                for row in self.rows
                for result in row.results
            ],
        }  # fmt: skip


def evaluate_run(run: Run, dataset: Dataset, progress: Callable[[str], None] = lambda _: None) -> EvaluationReport:
    """The run's own protocol, the final epoch beside it, and the reference rows on the same splits. One that was
    trained on all videos of a file is judged on another one, on all its videos."""
    transfer = not any(split.test for split in run.splits)
    _require_other_data(run, dataset) if transfer else _require_same_data(run, dataset)
    seen = dataset.seen(relative=run.network.relative)
    tasks = list(run.tasks)
    missing = [task for task in tasks if not run.is_done(task)]
    if missing:
        problem = f"is not finished ({len(missing)} of {len(tasks)} trainings missing)"
        raise CheckpointError(run.folder, problem, "run 'vastsum train … --resume'")
    last_name = "last" if run.protocol != "tvt" else "last (tvt training part)"
    rows = {"last": Row("VASTSum", last_name, MEANING["last"])}
    if transfer:
        rows = {"last": Row("VASTSum", "transfer", MEANING["transfer"])}
    elif run.protocol != "last":
        rows = {"best": Row("VASTSum", run.protocol, MEANING[run.protocol])} | rows
    for task in tasks:
        progress(f"split {task.split}, seed {task.seed}")
        names = dataset.videos if transfer else run.parts(task).test
        for weights, row in rows.items():
            path = run.checkpoint(task, weights)
            scorer, _ = load_checkpoint(path)
            _require_width(path, scorer.network.config.feature_width, seen)
            row.results += _score(scorer, [seen.videos[name] for name in names], dataset, task.split, task.seed)
    progress("reference rows")
    if transfer:
        references = reference_rows(dataset, [list(dataset.videos)], [])
        notes = [f"trained on all videos of {run.data}: scored on all {len(dataset.videos)} videos of this file"]
        return _report(dataset, "none", [*rows.values(), *references], notes)
    trainings = [run.parts(task) for task in tasks if task.seed == 0]
    references = reference_rows(dataset, [parts.test for parts in trainings], [parts.train for parts in trainings])
    return _report(dataset, run.split_source, [*rows.values(), *references])


def evaluate_checkpoint(path: Path, dataset: Dataset) -> EvaluationReport:
    """One checkpoint on videos it has not seen: its own test videos, or all of a file it was not trained on."""
    scorer, meta = load_checkpoint(path)
    seen = dataset.seen(relative=scorer.network.config.relative)
    _require_width(path, scorer.network.config.feature_width, seen)
    same_file = meta["data"]["fingerprint"] == dataset.fingerprint
    names: Sequence[str] = meta["parts"]["test"] if same_file else list(dataset.videos)
    meaning = f"epoch {meta['epoch']} of split {meta['split']}, seed {meta['seed']}"
    row = Row("VASTSum", "checkpoint", meaning)
    row.results += _score(scorer, [seen.videos[name] for name in names], dataset, 0, meta["seed"])
    rows = [row, *reference_rows(dataset, [names], [meta["parts"]["train"]] if same_file else [])]
    note = (
        f"scored on the {len(names)} test videos of its split"
        if same_file
        else f"trained on another file ({meta['data']['name']}): scored on all {len(names)} videos of this one"
    )
    return _report(dataset, "the checkpoint's split" if same_file else "none", rows, [note])


def reference_rows(dataset: Dataset, tests: Sequence[Sequence[str]], trainings: Sequence[Sequence[str]]) -> list[Row]:
    """Chance, lengths, uniform clips, people and, where training videos are known, a ridge, on the same test videos."""
    kind, rng = dataset.kind, np.random.default_rng(0)
    ridge = Row("Ridge, λ fixed", "last", "closed-form linear model on single frames, smoothed")
    references: list[tuple[Row, int, Callable[[BenchmarkVideo], Agreement | None]]] = [
        (Row("Random", "none", "uniform random scores"), N_RANDOM_SEEDS, lambda v: random_agreement(v, kind, rng)),
        (Row("Length only", "none", "constant scores: the lengths of the segments decide"), 1,
         lambda v: length_agreement(v, kind)),
        (Row("Uniform clips", "none", "clips of 90 frames (about 3 s), evenly spread; no scores"), 1,
         lambda v: uniform_agreement(v, kind)),
        (Row("Human", "none", "one person, judged by all the others"), 1, lambda v: human_agreement(v, kind)),
        (Row("Mean annotator", "none", "has seen the answers: a ceiling"), 1,
         lambda v: mean_annotator_agreement(v, kind)),
    ]  # fmt: skip
    for split, names in enumerate(tests):
        videos = [dataset.videos[name] for name in names]
        for row, n_seeds, judge in references:
            for seed in range(n_seeds):
                row.results += _references(videos, split, seed, judge)
    for split, names in enumerate(trainings):
        train = (dataset.videos[name] for name in names)
        scorer = RidgeScorer.fit((video.features, video.annotations) for video in train)
        ridge.results += _score(scorer, [dataset.videos[name] for name in tests[split]], dataset, split, 0)
    return [row for row in (ridge, *(row for row, _, _ in references)) if row.results]


def _score(
    scorer: Scorer, videos: Sequence[BenchmarkVideo], dataset: Dataset, split: int, seed: int
) -> Iterator[VideoResult]:
    for video in videos:
        prediction = scorer.predict(video.features, video.segments)
        metrics, undefined = measure(prediction, video, dataset.kind)
        yield VideoResult(video.name, split, seed, metrics, undefined, prediction)


def _references(
    videos: Sequence[BenchmarkVideo], split: int, seed: int, judge: Callable[[BenchmarkVideo], Agreement | None]
) -> Iterator[VideoResult]:
    for video in videos:
        agreed = judge(video)
        if agreed is not None:
            yield VideoResult(video.name, split, seed, numbers(agreed), agreed.undefined)


def _report(dataset: Dataset, source: str, rows: list[Row], notes: Sequence[str] = ()) -> EvaluationReport:
    return EvaluationReport(
        dataset.path.name, dataset.kind, dataset.fingerprint, len(dataset.videos), source, rows, list(notes)
    )


def _require_same_data(run: Run, dataset: Dataset) -> None:
    if run.fingerprint != dataset.fingerprint:
        raise CheckpointError(
            run.folder,
            f"was trained on {run.data}, which is not the content of {dataset.path}",
            "evaluate it on the file it was trained on, or evaluate one of its checkpoints",
        )


def _require_other_data(run: Run, dataset: Dataset) -> None:
    if run.fingerprint == dataset.fingerprint:
        raise CheckpointError(
            run.folder,
            f"was trained on all videos of {dataset.path} (protocol transfer)",
            "evaluate it on a file with other videos",
        )


def _require_width(path: Path, width: int, dataset: Dataset) -> None:
    if width != dataset.feature_width:
        raise CheckpointError(
            path,
            f"takes features of width {width}, {dataset.path} has {dataset.feature_width}",
            "use features of the same backbone",
        )
