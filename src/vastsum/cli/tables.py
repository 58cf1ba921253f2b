"""Tables for eyes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from vastsum.bench.columns import AGREEMENT, OURS, TRUST, Column
from vastsum.bench.report import EvaluationReport


def evaluation_table(report: EvaluationReport) -> list[RenderableType]:
    """Two tables that fit a terminal, and the lines that say how to read them."""
    rows = [row.summary() for row in report.rows]
    n_seeds = rows[0]["n_seeds"]
    title = (
        f"{report.data_name} ({report.kind}, {report.n_videos} videos, splits: {report.split_source}, {n_seeds} seeds)"
    )
    measured = [row for row in rows if any(column.metric in row for column in TRUST)]
    lines = [f"{row['method']} · {row['protocol']}: {row['meaning']}{_undefined(row)}" for row in rows]
    legend = [
        "± is the standard deviation over seeds",
        *map(str, OURS),
        "σ ~ people: rank correlation of predicted with annotator deviation; Jaccard, unstable: under score noise",
    ]
    return [title, _table(rows, AGREEMENT), "", _table(measured, TRUST), "", *lines, *legend, *report.notes]


def _table(rows: list[dict[str, Any]], columns: Sequence[Column]) -> Table:
    table = Table("method", "protocol", *(column.name for column in columns), box=None)
    for row in rows:
        cells = (_cell(row.get(column.metric), column.metric) for column in columns)
        table.add_row(row["method"], row["protocol"], *cells)
    return table


def _cell(cell: dict[str, float] | None, metric: str) -> str:
    if cell is None:
        return "—"
    spread = f" ±{cell['std_over_seeds']:.3f}" if metric in ("tau", "rho") and cell["std_over_seeds"] else ""
    return f"{cell['mean']:.3f}{spread}"


def _undefined(row: dict[str, Any]) -> str:
    return f" ({row['undefined']} correlations undefined, counted as 0)" if row["undefined"] else ""
