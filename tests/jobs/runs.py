"""Summarising many videos into a folder, and looking at what is there then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vastsum.jobs.inputs import find_items
from vastsum.jobs.ledger import Outcome
from vastsum.jobs.many import PoolOf, summarize_all
from vastsum.jobs.one import Settings
from vastsum.jobs.places import open_place

SETTINGS = Settings("15%", ("json", "mp4"), 2.0, "efficientnet_lite0", "vastsum")


def summarize_into(
    folder: Path, out: Path, pool_of: PoolOf, settings: Settings = SETTINGS, **options: Any
) -> list[Outcome]:
    place = open_place(str(out))
    return summarize_all(find_items([str(folder)]), settings, place, pool_of, report=lambda _: None, **options)


def results_in(out: Path) -> dict[str, int]:
    """When each result was written."""
    files = [path for path in out.rglob("*.summary.*") if ".vastsum" not in path.parts]
    return {path.relative_to(out).as_posix(): path.stat().st_mtime_ns for path in files}


def records_in(out: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in out.joinpath(".vastsum/videos").glob("*.json")]


def table_in(out: Path) -> list[dict[str, Any]]:
    parquet = pytest.importorskip("pyarrow.parquet")
    return parquet.read_table(out / "results.parquet").to_pylist()
