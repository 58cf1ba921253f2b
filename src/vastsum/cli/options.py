"""Arguments that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from vastsum.types import Kind


class DatasetKind(StrEnum):
    summe = "summe"
    tvsum = "tvsum"


Data = Annotated[Path, typer.Argument(help="Benchmark file (.h5), one group per video.", show_default=False)]
Scores = Annotated[
    Path | None, typer.Option("--scores", help="TVSum's ydata-tvsum50-anno.tsv, if the file has no user_scores.")
]
KindOption = Annotated[
    DatasetKind | None,
    typer.Option(
        "--dataset",
        help="Kind of annotation: summe (binary summaries) or tvsum (scores). Default: read from the file.",
    ),
]
SplitsFile = Annotated[
    Path | None, typer.Option("--splits", help="JSON list of {train, test} names. Default: the five standard splits.")
]


def kind_of(option: DatasetKind | None) -> Kind | None:
    return None if option is None else option.value
