"""vastsum benchmark"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from vastsum.cli.console import results
from vastsum.cli.engines import Address, Engine, GpusPerWorker, cluster, refuse_cluster_options
from vastsum.cli.options import SplitsFile
from vastsum.cli.trainings import progress_of, require_torch
from vastsum.errors import ConfigError

N_SHOWN = 7  # columns

if TYPE_CHECKING:
    from vastsum.bench.protocols import Protocol
    from vastsum.bench.table import Table as BenchTable


def benchmark(
    data: Annotated[list[Path], typer.Argument(help="Benchmark files (HDF5).", show_default=False)],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the results.")],
    methods: Annotated[str, typer.Option(help="all, or a comma-separated list.")] = "all",
    protocol: Annotated[str, typer.Option(help="Comma-separated list of 5fcv, tvt, last, transfer.")] = "5fcv,tvt,last",
    imagenet: Annotated[
        Path | None,
        typer.Option(help="torchvision's GoogLeNet (.safetensors): adds csta:imagenet, CSTA initialised with it."),
    ] = None,
    splits: SplitsFile = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds: trainings per split.")] = 5,
    ablations: Annotated[bool, typer.Option("--ablations", help="Also train the ablations of VASTSum.")] = False,
    max_epochs: Annotated[int | None, typer.Option(help="Maximum number of epochs for every method.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.", show_default="one per core", min=1)] = None,
    engine: Annotated[Engine, typer.Option(help="Where to train: local processes or a Ray cluster.")] = Engine.local,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    resume: Annotated[bool, typer.Option("--resume", help="Resume a bench; methods and seeds may be added.")] = False,
    retrain: Annotated[
        str, typer.Option(help="With --resume: methods to train again (comma-separated).", show_default=False)
    ] = "",
) -> None:
    """Train and compare all methods under the same splits, features and budget; write tables and pictures."""
    from vastsum.bench.data import load_dataset, load_splits

    datasets = [load_dataset(path) for path in data]
    asked = _protocols(protocol)
    require_torch(device if engine is Engine.local else None)
    from vastsum.bench.methods.registry import ABLATED, METHODS, from_imagenet
    from vastsum.bench.plan import Benchmark, Plan, open_plan
    from vastsum.bench.tables import COST_NOTE, write_tables
    from vastsum.bench.work import work
    from vastsum.video.source import available_cores

    given = from_imagenet(imagenet) if imagenet else {}
    names = list(METHODS) if methods == "all" else _listed(methods)
    plan = Plan(
        folder=output,
        benchmarks=tuple(Benchmark(dataset, load_splits(dataset, splits)) for dataset in datasets),
        methods=tuple(dict.fromkeys([*names, *given, *(ABLATED if ablations else ())])),
        protocols=asked,
        n_seeds=seeds,
        max_epochs=max_epochs,
        given=given,
    )
    open_plan(plan, resume=resume, retrain=_listed(retrain))
    elsewhere = None
    if engine is Engine.ray:
        elsewhere = cluster(device, address, workers, gpus_per_worker)
    else:
        refuse_cluster_options(address, gpus_per_worker)
    with progress_of(plan) as (report, describe):
        n_workers = workers or available_cores()
        work(plan, report, workers=n_workers, device=device, cluster=elsewhere)
        made = write_tables(plan, describe)
    shown = [table for table in made if table.name.rsplit(".", 1)[-1] in plan.protocols]
    for table in shown:
        _show(table)
    for note in dict.fromkeys(note for table in shown for note in table.notes if note != COST_NOTE):
        results.print(f"· {note}", style="dim", markup=False)
    results.print(f"tables, pictures and every number: {output}")


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _protocols(text: str) -> tuple[Protocol, ...]:
    from vastsum.bench.protocols import MEANING

    asked = _listed(text)
    if not asked or not set(asked) <= set(MEANING):
        raise ConfigError("--protocol", f"'{text}' is not known", f"name some of {', '.join(MEANING)}")
    return tuple(protocol for protocol in MEANING if protocol in asked)


def _show(table: BenchTable) -> None:
    """Agreement, as much as fits a terminal and has something to tell; costs are in the files."""
    said = [place for place in range(N_SHOWN) if not table.is_empty(place)]
    shown = Table(*(table.columns[place] for place in said), box=None, title=table.title, title_justify="left")
    for row in table.rows:
        shown.add_row(*(row[place] for place in said))
    results.print(shown)
