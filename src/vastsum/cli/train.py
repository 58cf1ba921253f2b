"""vastsum train"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from vastsum.cli.console import errors, results
from vastsum.cli.options import Data, KindOption, Scores, SplitsFile, kind_of
from vastsum.cli.trainings import progress_of, require_torch
from vastsum.errors import VastsumError

if TYPE_CHECKING:
    from vastsum.bench.protocols import Protocol


class ProtocolName(StrEnum):
    five_fold = "5fcv"
    tvt = "tvt"
    last = "last"
    transfer = "transfer"


def train(
    data: Data,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the run.")],
    protocol: Annotated[
        ProtocolName,
        typer.Option(
            help="5fcv: epoch chosen on test, as published; tvt: on validation; last: none chosen; "
            "transfer: train on all videos, to evaluate on another file."
        ),
    ] = ProtocolName.last,
    splits: SplitsFile = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds: trainings per split.")] = 1,
    config: Annotated[Path | None, typer.Option(help="TOML file with the tables network, loss and training.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="e.g. network.width=128")
    ] = None,
    ablation: Annotated[
        str | None,
        typer.Option(help="'paper' for the paper's model, or an ablation, e.g. no-smoothing."),
    ] = None,
    dataset: KindOption = None,
    scores: Scores = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run, or add seeds to it.")] = False,
    workers: Annotated[int, typer.Option(help="Trainings in parallel.", show_default="one per core")] = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Train VASTSum on a benchmark file: every split, every seed."""
    from vastsum.bench.data import all_videos, load_dataset, load_splits

    dataset_found = load_dataset(data, kind=kind_of(dataset), scores=scores)
    folds = all_videos(dataset_found) if protocol is ProtocolName.transfer else load_splits(dataset_found, splits)
    require_torch(device)
    from vastsum.bench.methods.recipes import load_config
    from vastsum.bench.plan import Benchmark, Plan, open_plan
    from vastsum.bench.runs import METHOD
    from vastsum.bench.work import work
    from vastsum.video.source import available_cores

    absent = (f"{name} is named by the {folds.source} splits but not there" for name in folds.absent)
    for note in (*dataset_found.notes, *absent):
        errors.print(f"note: {data}: {note}", soft_wrap=True)
    plan = Plan(
        folder=output,
        benchmarks=(Benchmark(dataset_found, folds),),
        methods=(METHOD,),
        protocols=(_protocol(protocol),),
        n_seeds=seeds,
        max_epochs=None,
        config=load_config(config, settings or (), ablation, kind=dataset_found.kind),
    )
    open_plan(plan, resume=resume)
    with progress_of(plan) as (report, _):
        # One at a time, a process each: the same numbers whatever else is trained beside it.
        together = 1 if device == "cpu" else None
        work(plan, report, workers=workers or available_cores(), device=device, together=together)
    trained = list(plan.all_tasks())
    failures = [result["failed"] for task in trained if (result := plan.result(task)) and "failed" in result]
    if failures:
        problem = f"{len(failures)} of {len(trained)} trainings failed ({failures[0]})"
        raise VastsumError(output, problem, "with --resume, only these are trained again")
    results.print(
        f"trained {len(trained)} networks ({len(folds.splits)} splits × {seeds} seeds) in {output}", soft_wrap=True
    )
    judged_on = "OTHER.h5" if protocol is ProtocolName.transfer else data
    results.print(f"next: vastsum evaluate {output} {judged_on}", soft_wrap=True)


def _protocol(asked: ProtocolName) -> Protocol:
    """What is trained on all videos has nothing to choose an epoch by, nor anything in this file to be judged on."""
    return "last" if asked is ProtocolName.transfer else cast("Protocol", asked.value)
