"""Many videos of one command: shared out among workers, with a line for each and a table in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from rich.table import Column, Table

from vastsum.cli.console import errors, results, shown
from vastsum.cli.engines import Engine, cluster, processes, refuse_cluster_options
from vastsum.cli.progress import counting
from vastsum.errors import install_extra

if TYPE_CHECKING:
    from vastsum.jobs.ledger import Outcome
    from vastsum.jobs.one import Settings


def summarize_many(
    videos: Sequence[str],
    output: str,
    settings: Settings,
    *,
    engine: Engine,
    address: str | None,
    workers: int | None,
    gpus_per_worker: float | None,
    overwrite: bool,
    retry_failed: bool,
) -> None:
    """All videos into one place. Ends with exit code 1 where some have no summary."""
    from vastsum.jobs.inputs import find_items
    from vastsum.jobs.ledger import TABLE, can_make_tables
    from vastsum.jobs.many import summarize_all
    from vastsum.jobs.places import open_place

    items, place = find_items(videos), open_place(output)
    if engine is Engine.ray:
        pool_of, threads = cluster(settings.device, address, workers, gpus_per_worker), 1
    else:
        refuse_cluster_options(address, gpus_per_worker)
        pool_of, threads = processes(settings.device, workers, len(items))
    with counting(transient=True) as progress:
        bar = progress.add_task("summarising", total=len(items))
        reported: list[Outcome] = []

        def report(outcome: Outcome) -> None:
            reported.append(outcome)
            progress.update(bar, advance=1)
            _show(outcome, [place.shown(file) for file in outcome.files])

        outcomes = summarize_all(
            items,
            settings,
            place,
            pool_of,
            report=report,
            overwrite=overwrite,
            retry_failed=retry_failed,
            threads=threads,
        )
    failures = [(outcome.source, _why(outcome)) for outcome in outcomes if outcome.status == "failed"]
    show_count(len(outcomes), failures, n_before=len(outcomes) - len(reported))
    if can_make_tables():
        results.print(f"wrote {shown(place.shown(TABLE))}", soft_wrap=True)
    else:
        errors.print(f"[yellow]note:[/] no {TABLE} without pyarrow; {shown(install_extra('scale'))}", soft_wrap=True)
    if failures:
        raise typer.Exit(1)


def _show(outcome: Outcome, written: Sequence[str]) -> None:
    source = shown(outcome.source)
    if outcome.status == "failed":
        errors.print(f"[bold red]failed:[/] {source}: {shown(_why(outcome))}", soft_wrap=True)
        return
    share = outcome.summary_s / outcome.video_s if outcome.video_s else 0.0
    results.print(
        f"[bold]{source}[/] {outcome.summary_s:.1f} s of {outcome.video_s:.1f} s ({share:.1%}), "
        f"{outcome.n_selected} of {outcome.n_segments} segments",
        soft_wrap=True,
    )
    for note in outcome.notes:
        errors.print(f"[yellow]note:[/] {source}: {shown(note)}", soft_wrap=True)
    for path in written:
        results.print(f"wrote {shown(path)}", soft_wrap=True)


def show_count(n_videos: int, failures: Sequence[tuple[str, str]], n_before: int = 0) -> None:
    """How many have a summary; of the others, which and why."""
    before = f", {n_before} of them before" if n_before else ""
    results.print(f"{n_videos - len(failures)} of {n_videos} videos summarised{before}")
    if failures:
        table = Table(Column("failed", overflow="fold"), Column("why", overflow="fold"), box=None)
        for source, why in failures:
            table.add_row(shown(source), shown(why))
        results.print(table)


def _why(outcome: Outcome) -> str:
    """Beside the name of the video, which most errors give themselves."""
    return outcome.error.removeprefix(f"{outcome.source}: ")
