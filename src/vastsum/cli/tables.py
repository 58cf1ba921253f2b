"""Tables for eyes."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from vastsum.evaluation.report import EvaluationReport

AGREEMENT = {"tau": "τ", "rho": "ρ", "f1": "F1"}
TRUST = {
    "nll": "NLL", "coverage_50": "in 50 %", "coverage_90": "in 90 %",
    "std_correlation": "σ~people", "jaccard": "Jaccard", "unstable": "unstable",
}  # fmt: skip


def evaluation_table(report: EvaluationReport) -> list[RenderableType]:
    """Two tables that fit a terminal, and the lines that say how to read them."""
    rows = [row.summary() for row in report.rows]
    n_seeds = rows[0]["n_seeds"]
    title = (
        f"{report.data_name} ({report.kind}, {report.n_videos} videos, splits: {report.split_source}, {n_seeds} seeds)"
    )
    measured = [row for row in rows if any(metric in row for metric in TRUST)]
    lines = [f"{row['method']} · {row['protocol']}: {row['meaning']}{_undefined(row)}" for row in rows]
    legend = [
        "± is the standard deviation over seeds",
        "σ~people: rank correlation of predicted with annotator deviation; Jaccard, unstable: under score noise",
    ]
    return [title, _table(rows, AGREEMENT), "", _table(measured, TRUST), "", *lines, *legend, *report.notes]


def _table(rows: list[dict[str, Any]], columns: dict[str, str]) -> Table:
    table = Table("method", "protocol", *columns.values(), box=None)
    for row in rows:
        table.add_row(row["method"], row["protocol"], *(_cell(row.get(metric), metric) for metric in columns))
    return table


def _cell(cell: dict[str, float] | None, metric: str) -> str:
    if cell is None:
        return "—"
    spread = f" ±{cell['std_over_seeds']:.3f}" if metric in ("tau", "rho") and cell["std_over_seeds"] else ""
    return f"{cell['mean']:.3f}{spread}"


def _undefined(row: dict[str, Any]) -> str:
    return f" ({row['undefined']} correlations undefined, counted as 0)" if row["undefined"] else ""
