"""vastsum models"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from vastsum.cli.console import results
from vastsum.errors import CheckpointError

BY_PATH = "no: use --weights FILE"


@dataclass(frozen=True)
class Model:
    """A line of the table. `n_bytes` is the size on disk, None where nothing is there."""

    kind: str
    name: str
    is_default: bool
    width: int | None
    n_bytes: int | None
    licence: str
    trained_on: str
    present: bool
    where: str


def models(as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False) -> None:
    """List backbones (frames to features) and scorers (features to importance), and whether they are installed."""
    found = [*_backbones(), *_scorers()]
    if as_json:
        typer.echo(json.dumps([asdict(model) for model in found], indent=1, ensure_ascii=False))
        return
    table = Table(box=None)
    for heading in ("kind", "name", "size", "licence", "trained on", "present"):
        table.add_column(heading, no_wrap=heading in ("kind", "name", "size"), min_width=len(heading))
    for model in found:
        size = "—" if model.n_bytes is None else f"{model.n_bytes / 1e6:.1f} MB"
        name = f"{model.name} *" if model.is_default else model.name
        table.add_row(model.kind, *map(escape, (name, size, model.licence, model.trained_on, model.where)))
    results.print(table)
    results.print("* is used unless another is asked for")


def _backbones() -> list[Model]:
    from vastsum.features import BACKBONES, DEFAULT_BACKBONE

    found = []
    for spec in BACKBONES.values():
        n_bytes, where = (None, BY_PATH) if spec.asset is None else _embedded(spec.asset)
        found.append(
            Model(
                kind="backbone",
                name=spec.name,
                is_default=spec.name == DEFAULT_BACKBONE,
                width=spec.width,
                n_bytes=n_bytes,
                licence=spec.licence,
                trained_on=spec.trained_on,
                present=n_bytes is not None,
                where=where,
            )
        )
    return found


def _scorers() -> list[Model]:
    from vastsum.scoring.onnx_scorer import DEFAULT_SCORER, EMBEDDED, load_scorer

    found = []
    for name, asset in EMBEDDED.items():
        n_bytes, where = _embedded(asset)
        scorer = None if n_bytes is None else load_scorer(name)
        card = _card(name) or (scorer.card if scorer else {})
        found.append(
            Model(
                kind="scorer",
                name=name,
                is_default=name == DEFAULT_SCORER,
                width=scorer.feature_width if scorer else None,
                n_bytes=n_bytes,
                licence=_words(card.get("licence")),
                trained_on=_words(card.get("trained_on")),
                present=n_bytes is not None,
                where=where,
            )
        )
    return found


def _embedded(asset: str) -> tuple[int | None, str]:
    """The size of an embedded file that is intact, and what to say of it."""
    from vastsum.assets import read_asset

    try:
        return len(read_asset(asset)), "yes, embedded"
    except CheckpointError as error:
        return None, f"no: {error.problem}; {error.remedy}"


def _card(name: str) -> dict[str, Any]:
    """The model card beside the weights; the weights carry a copy, for where it is not there."""
    from vastsum.assets import FOLDER

    try:
        card = json.loads(FOLDER.joinpath(f"{name}.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return card if isinstance(card, dict) else {}


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value) if value else "not stated"
