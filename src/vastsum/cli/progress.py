"""The bar that long work shows."""

from __future__ import annotations

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from vastsum.cli.console import errors


def counting(*, transient: bool = False) -> Progress:
    """What is being done, how much of how much, since when, and how long it will take."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=errors, transient=transient)
