"""vastsum train"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vastsum.cli.console import errors, results
from vastsum.cli.options import Data, KindOption, Scores, SplitsFile, kind_of
from vastsum.cli.progress import counting
from vastsum.errors import ConfigError, MissingExtraError


class ProtocolName(StrEnum):
    five_fold = "5fcv"
    tvt = "tvt"
    last = "last"
    transfer = "transfer"


def train(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder of the run.")],
    protocol: Annotated[
        ProtocolName,
        typer.Option(
            help="5fcv: epoch chosen on test, as published; tvt: on validation; last: none chosen; "
            "transfer: train on all videos, to evaluate on another file."
        ),
    ] = ProtocolName.last,
    splits: SplitsFile = None,
    seeds: Annotated[int, typer.Option(help="Trainings of each split.")] = 1,
    config: Annotated[Path | None, typer.Option(help="TOML file with tables network, loss and training.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="e.g. network.width=128")
    ] = None,
    ablation: Annotated[
        str | None,
        typer.Option(help="'paper' for its model alone; or without a part, or with one it tried, e.g. no-smoothing."),
    ] = None,
    dataset: KindOption = None,
    scores: Scores = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False,
    workers: Annotated[int, typer.Option(help="Trainings at a time.", show_default="one a core")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Train VASTSum on a benchmark file: every split, every seed."""
    from vastsum.bench.data import all_videos, load_dataset, load_splits
    from vastsum.bench.methods.recipes import load_config

    benchmark = load_dataset(data, kind=kind_of(dataset), scores=scores)
    chosen = load_config(config, settings or (), ablation, kind=benchmark.kind)
    folds = all_videos(benchmark) if protocol is ProtocolName.transfer else load_splits(benchmark, splits)
    try:
        import torch  # takes seconds: what is wrong with the input is said before
    except ImportError as error:
        raise MissingExtraError("torch", "train") from error
    from vastsum.bench.measures.metrics import judge
    from vastsum.bench.training.runs import Job, open_run, train_run

    if device not in ("cpu", "cuda") or (device == "cuda" and not torch.cuda.is_available()):
        raise ConfigError("--device", f"'{device}' is not available here", "use cpu")
    for note in (
        *benchmark.notes,
        *(f"{name} is named by the {folds.source} splits but not there" for name in folds.absent),
    ):
        errors.print(f"note: {data}: {note}", soft_wrap=True)
    run = open_run(output, benchmark, folds, protocol.value, seeds, chosen, resume=resume)

    n_epochs = chosen.training.epochs
    with counting() as progress:
        done = {job: n_epochs if run.is_finished(job) else 0 for job in run.jobs}
        bar = progress.add_task("training", total=n_epochs * len(done), completed=sum(done.values()))

        def report(job: Job, epoch: int, row: dict[str, float]) -> None:
            done[job] = epoch
            tau = f" τ {row['tau']:.3f}" if "tau" in row else ""
            progress.update(bar, completed=sum(done.values()), description=f"{job.name} loss {row['total']:.3f}{tau}")

        train_run(run, benchmark, judge, report, workers=workers or os.cpu_count() or 1, device=device)
    results.print(
        f"trained {len(run.jobs)} networks ({len(run.splits)} splits × {seeds} seeds) in {output}", soft_wrap=True
    )
    judged_on = "OTHER.h5" if protocol is ProtocolName.transfer else data
    results.print(f"next: vastsum evaluate {output} {judged_on}", soft_wrap=True)
