"""A table of a bench: Markdown for people, CSV for programs, LaTeX for papers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

NOTHING = "—"


@dataclass(frozen=True)
class Table:
    """Plain text cells; `name` becomes part of file names."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def is_empty(self, column: int) -> bool:
        return all(row[column] == NOTHING for row in self.rows)

    def markdown(self) -> str:
        aligned = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [f"## {self.title}", "", *(_line(cells) for cells in (self.columns, aligned, *self.rows))]
        return "\n".join([*lines, "", *(f"- {note}" for note in self.notes)]).rstrip() + "\n"

    def csv(self) -> str:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def latex(self) -> str:
        body = [" & ".join(map(_latex, cells)) + r" \\" for cells in (self.columns, *self.rows)]
        return "\n".join(
            [
                f"% {self.title}",
                rf"\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}",
                r"\toprule",
                body[0],
                r"\midrule",
                *body[1:],
                r"\bottomrule",
                r"\end{tabular}",
                *(f"% {note}" for note in self.notes),
                "",
            ]
        )


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def _latex(text: str) -> str:
    signs = {"τ": r"$\tau$", "ρ": r"$\rho$", "±": r"$\pm$", "—": "---", "−": "$-$", "Δ": r"$\Delta$", "σ": r"$\sigma$",
             "λ": r"$\lambda$", "≥": r"$\geq$", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#"}  # fmt: skip
    return "".join(signs.get(sign, sign) for sign in text)


def decimals(value: float, digits: int = 3) -> str:
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # no minus before zero
