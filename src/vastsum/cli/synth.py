"""vastsum synth"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vastsum.cli.console import results
from vastsum.cli.options import DatasetKind
from vastsum.errors import OutputError


def synth(
    output: Annotated[Path, typer.Option("-o", "--output", help="Benchmark file to write (.h5).")],
    kind: Annotated[
        DatasetKind, typer.Option("--dataset", help="Annotated like SumMe or like TVSum.")
    ] = DatasetKind.tvsum,
    videos: Annotated[int, typer.Option(help="Number of videos.")] = 25,
    annotators: Annotated[int, typer.Option(help="Annotators per video.")] = 12,
    width: Annotated[int, typer.Option(help="Width of a feature vector.")] = 64,
    seconds: Annotated[float, typer.Option(help="Mean duration of a video.")] = 60.0,
    disagreement: Annotated[float, typer.Option(help="How much annotators differ; 0: not at all.")] = 0.6,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Make a synthetic benchmark with known latent importance and annotators who disagree."""
    if output.exists() and not overwrite:
        raise OutputError(output, "exists already", "add --overwrite or choose another -o")
    from vastsum.bench.data import make_synthetic

    make_synthetic(
        output,
        kind=kind.value,
        n_videos=videos,
        n_annotators=annotators,
        feature_width=width,
        mean_duration_s=seconds,
        disagreement=disagreement,
        seed=seed,
    )
    results.print(f"wrote {output}: {videos} videos, {annotators} annotators each, annotated like {kind.value}")
