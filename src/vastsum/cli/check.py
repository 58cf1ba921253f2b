"""vastsum check"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer
from rich.table import Table

from vastsum.cli.console import results, shown
from vastsum.cli.options import Data, KindOption, Scores, SplitsFile, kind_of
from vastsum.errors import DataError

if TYPE_CHECKING:
    from vastsum.bench.data.benchmark import Inspection, Problem


def check(path: Data, dataset: KindOption = None, scores: Scores = None, splits: SplitsFile = None) -> None:
    """Show what a benchmark file contains and what is wrong with it. Exits with 1 if it has errors."""
    from vastsum.bench.data import inspect_file

    found = inspect_file(path, kind=kind_of(dataset), scores=scores)
    problems = [*found.problems, *_split_problems(found, splits)]
    results.print(_table(found, problems))
    results.print(f"keys: {shown(_keys(found))}", soft_wrap=True)
    for problem in problems:
        word = "note" if problem.is_note else "[bold red]error[/]"
        results.print(f"{word}: {path}: {shown(str(problem))}", soft_wrap=True)
    n_errors = sum(not problem.is_note for problem in problems)
    verdict = f"{n_errors} errors" if n_errors else "no errors"
    results.print(
        f"{path}: {found.kind}, {len(found.videos)} of {len(found.contents)} videos usable, {verdict}, "
        f"{len(problems) - n_errors} notes",
        soft_wrap=True,
    )
    if n_errors:
        raise typer.Exit(1)


def _split_problems(found: Inspection, splits: SplitsFile) -> list[Problem]:
    from vastsum.bench.data import Dataset, load_splits
    from vastsum.bench.data.benchmark import Problem

    if not found.videos:
        return []
    try:
        loaded = load_splits(Dataset(found.path, found.kind, found.videos), splits)
    except DataError as error:
        return [Problem("", "splits", f"{error.where}: {error.problem}", error.remedy)]
    return [
        Problem("", "splits", f"{loaded.source}: {name} is not in the file", is_note=True) for name in loaded.absent
    ]


def _table(found: Inspection, problems: list[Problem]) -> Table:
    table = Table("video", "title", "picks", "frames", "segments", "people", "width", box=None)
    broken = {problem.video for problem in problems if not problem.is_note}
    for name, contents in found.contents.items():
        video = found.videos.get(name)
        if video is None or name in broken:
            table.add_row(f"[red]{shown(name)}[/]", f"[red]{shown(contents)}[/]", "", "", "", "", "")
            continue
        n_people = len(video.annotations)
        numbers = (
            len(video.segments.picks),
            video.segments.n_frames,
            len(video.segments),
            n_people,
            video.features.shape[1],
        )
        table.add_row(shown(name), shown(video.title), *map(str, numbers))
    return table


def _keys(found: Inspection) -> str:
    """Which keys the videos have; once for all where they are alike."""
    keys = {", ".join(item.partition(" ")[0] for item in contents.split(", ")) for contents in found.contents.values()}
    return keys.pop() if len(keys) == 1 else "not the same in all videos"
