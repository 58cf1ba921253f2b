"""vastsum export"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vastsum.cli.console import results
from vastsum.errors import MissingExtraError, OutputError


def export(
    checkpoint: Annotated[
        Path, typer.Argument(help="A .safetensors file written by 'vastsum train'.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="ONNX file to write (.onnx).")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Export a checkpoint to ONNX, for 'vastsum summarize --model'. Using the model needs no torch."""
    if output.suffix != ".onnx":
        raise OutputError(output, "does not end in .onnx", "name it so, or 'vastsum summarize' will not know it")
    if output.exists() and not overwrite:
        raise OutputError(output, "exists already", "add --overwrite or choose another -o")
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
        import torch  # noqa: F401  (takes seconds: what is wrong with the arguments is said before)
    except ImportError as error:
        raise MissingExtraError(error.name or "onnx", "train") from error
    from vastsum.bench.checkpoints import load_checkpoint
    from vastsum.bench.export import export_onnx

    scorer, meta = load_checkpoint(checkpoint)
    card = {key: meta[key] for key in ("kind", "data", "protocol", "split", "seed", "epoch")}
    export_onnx(scorer.network, scorer.likelihood, output, card)
    results.print(f"wrote {output}; use it with: vastsum summarize VIDEO --model {output}", soft_wrap=True)
