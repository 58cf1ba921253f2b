"""vastsum prepare"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from vastsum.cli.console import errors, results
from vastsum.cli.progress import counting
from vastsum.errors import OutputError

if TYPE_CHECKING:
    from vastsum.bench.data.prepare import Prepared


def prepare(
    videos: Annotated[
        list[Path], typer.Argument(metavar="VIDEO|FOLDER…", help="Videos, or folders of videos.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Benchmark file to write (.h5).")],
    annotations: Annotated[
        Path | None, typer.Option(help="Annotations: kept ranges or scores, CSV or JSON (docs/annotations.md).")
    ] = None,
    fps: Annotated[float, typer.Option(help="Sampled frames per second.")] = 2.0,
    backbone: Annotated[
        str, typer.Option(help="Network that computes features ('vastsum models' lists them).")
    ] = "efficientnet_lite0",
    weights: Annotated[Path | None, typer.Option(help="Weights of the backbone, if they are not embedded.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Build a benchmark file from your own videos and annotations, for 'vastsum train'.

    Rerun the same command to resume an interrupted run.
    """
    if output.exists() and not overwrite:
        raise OutputError(output, "exists already", "add --overwrite or choose another -o")
    from vastsum.jobs.inputs import find_videos

    found = find_videos(videos)
    with counting(transient=True) as progress:
        all_videos = progress.add_task("videos", total=len(found))
        current = progress.add_task("loading models", total=None)
        from vastsum.bench.data import prepare as room

        position = {path: number for number, path in enumerate(found)}

        def report(video: Path, done_s: float, total_s: float | None) -> None:
            progress.update(all_videos, completed=position[video])
            total = None if total_s is None else round(total_s)
            progress.update(current, description=escape(video.name), completed=int(done_s), total=total)

        prepared = room.prepare(
            found, output, annotations=annotations, fps=fps, backbone=backbone, weights=weights, progress=report
        )
    _show(prepared)
    if prepared.failures:
        raise typer.Exit(1)


def _show(prepared: Prepared) -> None:
    table = Table("video", "picks", "frames", "segments", "people", "", box=None)
    for video in prepared.videos:
        numbers = (video.n_picks, video.n_frames, video.n_segments, video.n_annotators)
        table.add_row(video.name, *map(str, numbers), "watched before" if video.reused else "")
    results.print(table)
    for video in prepared.videos:
        for warning in video.warnings:
            errors.print(f"[yellow]note:[/] {escape(f'{video.path}: {warning}')}", soft_wrap=True)
    for _, error in prepared.failures:
        errors.print(f"[bold red]left out:[/] {escape(str(error))}", soft_wrap=True)
    n_failed = len(prepared.failures)
    left_out = f", {n_failed} left out" if n_failed else ""
    kind = f", annotated like {prepared.kind}" if prepared.kind else ""
    n_videos = "1 video" if len(prepared.videos) == 1 else f"{len(prepared.videos)} videos"
    results.print(f"wrote {escape(str(prepared.path))}: {n_videos}{kind}{left_out}", soft_wrap=True)
    if prepared.parts:
        names = ", ".join(path.name for path, _ in prepared.failures)
        errors.print(
            escape(
                f"left out: {names}; what was seen of the others is kept in {prepared.parts}, so that another run with "
                "--overwrite is quick; delete the folder if there will be none"
            ),
            soft_wrap=True,
        )
    if prepared.kind is None:
        results.print(
            "without --annotations the file holds features and segments only: 'vastsum train' needs annotations too",
            soft_wrap=True,
        )
    else:
        results.print(f"next: vastsum check {escape(str(prepared.path))}", soft_wrap=True)
