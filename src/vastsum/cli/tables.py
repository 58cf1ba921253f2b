"""Tables for eyes."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from vastsum.evaluation.report import EvaluationReport

COLUMNS = {
    "tau": "τ", "rho": "ρ", "f1": "F1", "nll": "NLL", "coverage_50": "in 50 %", "coverage_90": "in 90 %",
    "std_correlation": "σ~people", "jaccard": "Jaccard", "unstable": "unstable",
}  # fmt: skip


def evaluation_table(report: EvaluationReport) -> list[RenderableType]:
    """The table, and the lines that say how to read it."""
    rows = [row.summary() for row in report.rows]
    n_seeds = rows[0]["n_seeds"]
    title = (
        f"{report.data_name} ({report.kind}, {report.n_videos} videos, splits: {report.split_source}, {n_seeds} seeds)"
    )
    table = Table("method", "protocol", *COLUMNS.values(), title=title, title_justify="left", box=None)
    for row in rows:
        table.add_row(row["method"], row["protocol"], *(_cell(row.get(metric), metric) for metric in COLUMNS))
    lines = [f"{row['method']} · {row['protocol']}: {row['meaning']}{_undefined(row)}" for row in rows]
    legend = "± is the standard deviation over seeds; σ~people: rank correlation of predicted with annotator deviation"
    return [table, "", *lines, legend, *report.notes]


def _cell(cell: dict[str, float] | None, metric: str) -> str:
    if cell is None:
        return "—"
    spread = f" ±{cell['std_over_seeds']:.3f}" if metric in ("tau", "rho") and cell["std_over_seeds"] else ""
    return f"{cell['mean']:.3f}{spread}"


def _undefined(row: dict[str, Any]) -> str:
    return f" ({row['undefined']} correlations undefined, counted as 0)" if row["undefined"] else ""
