"""vastsum evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vastsum.cli.console import errors, results
from vastsum.cli.options import Data, KindOption, Scores, kind_of
from vastsum.files import write_json


def evaluate(
    trained: Annotated[
        Path,
        typer.Argument(metavar="RUN|CHECKPOINT", help="Folder written by 'vastsum train', or one .safetensors file."),
    ],
    data: Data,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all per-video numbers to this file.")] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a page with tables, curves and plots to this file.")
    ] = None,
    dataset: KindOption = None,
    scores: Scores = None,
) -> None:
    """Evaluate a run or checkpoint: agreement with annotators, calibration, stability, and baselines."""
    from vastsum.bench.data import load_dataset

    benchmark = load_dataset(data, kind=kind_of(dataset), scores=scores)  # before torch is loaded, which takes seconds
    from vastsum.bench.page.evaluation import Section, write_page
    from vastsum.bench.report import evaluate_checkpoint, evaluate_run
    from vastsum.bench.runs import load_run
    from vastsum.cli.tables import evaluation_table

    if trained.is_dir():
        with errors.status("evaluating") as status:
            report = evaluate_run(load_run(trained), benchmark, lambda step: status.update(f"evaluating {step}"))
    else:
        report = evaluate_checkpoint(trained, benchmark)
    if json_file is not None:
        write_json(json_file, report.to_dict())
    if html_file is not None:
        write_page([Section.of(report, benchmark)], html_file, title=f"{trained.name} on {report.data_name}")
    results.print(*evaluation_table(report), sep="\n", soft_wrap=True)
