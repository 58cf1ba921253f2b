"""vastsum summarize"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from vastsum.cli.console import errors, results, shown
from vastsum.cli.ending import tidy_when_ended
from vastsum.cli.engines import Address, Engine, GpusPerWorker
from vastsum.cli.many import show_count, summarize_many
from vastsum.cli.progress import measuring
from vastsum.errors import REPORT_IT, ConfigError, OutputError, described

if TYPE_CHECKING:
    from vastsum.jobs.one import Made, Settings

DEFAULT_FORMATS = "mp4,json,png"


class DecoderName(StrEnum):
    default = "default"
    paper = "paper"


def summarize(
    videos: Annotated[
        list[str],
        typer.Argument(
            metavar="VIDEO|FOLDER|MANIFEST…",
            help="Videos, folders, or manifests (.csv, .jsonl, .parquet); with -o also URLs.",
            show_default=False,
        ),
    ],
    output: Annotated[
        str | None, typer.Option("-o", "--output", help="Folder or URL for the results. Default: next to each video.")
    ] = None,
    budget: Annotated[str, typer.Option(help="Length of the summary: 15%, 90s or 1:30.")] = "15%",
    formats: Annotated[
        str,
        typer.Option(
            help="Any of mp4,json,png,storyboard,html,edl,otio,fcpxml,premiere,kdenlive,mlt,vtt,webp,gif,cover."
        ),
    ] = DEFAULT_FORMATS,
    fps: Annotated[float, typer.Option(help="Sampled frames per second.")] = 2.0,
    backbone: Annotated[
        str, typer.Option(help="Network that computes features ('vastsum models' lists them).")
    ] = "efficientnet_lite0",
    model: Annotated[str, typer.Option(help="Scorer: a name or an .onnx file.")] = "vastsum",
    weights: Annotated[Path | None, typer.Option(help="Weights of the backbone, if they are not embedded.")] = None,
    decoder: Annotated[
        DecoderName, typer.Option(help="How segments are valued; 'paper' uses their mean score.")
    ] = DecoderName.default,
    speech: Annotated[bool, typer.Option("--speech/--no-speech", help="Detect speech and cut between words.")] = True,
    copy: Annotated[
        bool, typer.Option("--copy", help="Cut at key frames without re-encoding: faster, less exact.")
    ] = False,
    fast: Annotated[
        bool, typer.Option("--fast", help="Decode key frames only, and copy like --copy where that is exact.")
    ] = False,
    relative_media: Annotated[
        bool, typer.Option("--relative-media", help="In timeline files, use a relative path to the video.")
    ] = False,
    device: Annotated[
        str, typer.Option(help="cpu, cuda, auto (cuda with cpu as fallback), or another ONNX Runtime provider.")
    ] = "cpu",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace results of an earlier run.")] = False,
    engine: Annotated[
        Engine, typer.Option(help="Where to process several videos: local processes or a Ray cluster.")
    ] = Engine.local,
    workers: Annotated[
        int | None, typer.Option(help="Videos processed in parallel.", show_default="one per core", min=1)
    ] = None,
    address: Address = None,
    gpus_per_worker: GpusPerWorker = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Retry videos that failed in an earlier run with the same -o.")
    ] = False,
) -> None:
    """Make a short video from a long one, with sound, and report how sure each choice is.

    With several videos and -o, progress is saved: rerun the same command to resume.
    """
    with tidy_when_ended() as heed:
        from vastsum.export import read_budget
        from vastsum.jobs.inputs import find_videos
        from vastsum.jobs.one import Settings
        from vastsum.jobs.places import is_url

        wanted = _formats(formats)
        read_budget(budget)  # refuse nonsense before any work
        checkpoint = str(weights) if weights else None
        settings = Settings(
            budget, wanted, fps, backbone, model, checkpoint, copy, fast, device, decoder, speech, relative_media
        )
        if relative_media and output and is_url(output):
            raise ConfigError("--relative-media", f"no file can be relative to {output}", "leave it out")
        if _are_many(videos, output, engine):
            summarize_many(
                videos,
                str(output),
                settings,
                engine=engine,
                address=address,
                workers=workers,
                gpus_per_worker=gpus_per_worker,
                overwrite=overwrite,
                retry_failed=retry_failed,
            )
        else:
            _summarize_here(find_videos([Path(video) for video in videos]), output, settings, overwrite, heed)


def _formats(text: str) -> tuple[str, ...]:
    from vastsum.export import FORMATS

    wanted = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in wanted:
        if name not in FORMATS:
            raise ConfigError("--formats", f"'{name}' is not known", f"choose from {', '.join(FORMATS)}")
    if not wanted:
        raise ConfigError("--formats", "names no format", f"choose from {', '.join(FORMATS)}")
    return wanted


def _are_many(videos: Sequence[str], output: str | None, engine: Engine) -> bool:
    """Whether to share out the work: there is a place for all results, and more than one file of this machine."""
    from vastsum.jobs.inputs import is_folder, is_manifest
    from vastsum.jobs.places import is_url

    elsewhere = next((video for video in videos if is_url(video) or is_manifest(video)), None)
    if output is not None:
        alone = len(videos) == 1 and not elsewhere and not is_folder(Path(videos[0]))
        return not alone or is_url(output) or engine is Engine.ray
    if elsewhere:
        raise ConfigError(elsewhere, "results cannot be put beside it", "say where with -o")
    if engine is Engine.ray:
        raise ConfigError("--engine", "a Ray cluster works into one folder", "say which with -o")
    return False


def _summarize_here(
    videos: Sequence[Path], output: str | None, settings: Settings, overwrite: bool, heed: Callable[[], None]
) -> None:
    """One after another in this process, each beside its video if not in `output`."""
    from vastsum.jobs.one import load_models

    failures: list[tuple[Path, Exception]] = []
    claimed: dict[Path, Path] = {}
    with measuring() as progress:
        loading = progress.add_task("loading models", total=None)
        load_models(settings)
        progress.remove_task(loading)
        for video in videos:
            try:
                folder = Path(output) if output else video.parent
                targets = _targets(video, folder, settings, overwrite=overwrite, claimed=claimed)
                made = _one(video, targets, settings, progress, heed)
            except Exception as error:  # whatever it is, the other videos are not to suffer
                failures.append((video, error))
                if len(videos) > 1:
                    errors.print(f"[bold red]failed:[/] {shown(video)}: {shown(_why(video, error))}", soft_wrap=True)
            else:
                claimed |= dict.fromkeys(targets.values(), video)
                _show(video, made, targets.values())
    if failures and len(videos) == 1:
        raise failures[0][1]
    if len(videos) > 1:
        show_count(len(videos), [(str(video), _why(video, error)) for video, error in failures])
    if failures:
        raise typer.Exit(1)


def _one(
    video: Path, targets: dict[str, Path], settings: Settings, progress: Progress, heed: Callable[[], None]
) -> Made:
    """A bar follows the stage that is under way."""
    from vastsum.jobs.one import summarize_one

    bar = progress.add_task(f"{shown(video.name)}: opening", total=None)

    def report(stage: str, done: float, total: float | None) -> None:
        heed()
        progress.update(bar, description=f"{shown(video.name)}: {stage}", completed=done, total=total)

    try:
        return summarize_one(video, targets, settings, progress=report)
    finally:
        progress.remove_task(bar)


def _targets(
    video: Path, folder: Path, settings: Settings, *, overwrite: bool, claimed: dict[Path, Path]
) -> dict[str, Path]:
    """Where each format goes. What is there already, or was written for another video of this run, is not replaced."""
    from vastsum.export.writing import targets_of
    from vastsum.jobs.places import check_path

    targets = targets_of(video, folder, settings.formats, copy=settings.copy)
    for path in targets.values():
        if path in claimed:
            raise OutputError(
                path, f"is the summary of {claimed[path]} too", f"rename {video}, or use another -o for it"
            )
        check_path(path, path, replace=overwrite)
    return targets


def _show(video: Path, made: Made, written: Iterable[Path]) -> None:
    from vastsum.export import format_time
    from vastsum.selection.chance import in_words

    summary = made.summary
    table = Table("start", "end", "length", "importance", "people would include it", box=None)
    for piece in summary.pieces:
        table.add_row(
            format_time(piece.start_s),
            format_time(piece.end_s),
            f"{piece.duration_s:.1f} s",
            f"{piece.importance:.2f}",
            f"{in_words(piece.chance)} ({piece.chance:.0%})",
        )
    name = shown(video)
    results.print(f"[bold]{name}[/]", soft_wrap=True)
    results.print(table)
    results.print(
        f"{summary.duration_s:.1f} s of {summary.video.duration_s:.1f} s ({summary.fraction:.1%}), "
        f"{len(summary.pieces)} piece{'s' * (len(summary.pieces) != 1)}"
    )
    for note in made.notes:
        errors.print(f"[yellow]note:[/] {name}: {shown(note)}", soft_wrap=True)
    for path in written:
        results.print(f"wrote {shown(path)}", soft_wrap=True)


def _why(video: Path, error: Exception) -> str:
    """Beside the name of the video, which most errors give themselves."""
    return str(described(error, video, REPORT_IT)).removeprefix(f"{video}: ")
