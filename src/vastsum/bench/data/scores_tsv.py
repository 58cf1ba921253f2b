"""TVSum's annotations as published: `ydata-tvsum50-anno.tsv`, one row a person and video."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vastsum.errors import DataError
from vastsum.types import FloatArray

_REMEDY = "a row is: video id, category, comma-separated scores (separated by tabs)"


def read_scores_tsv(path: Path, titles: Mapping[str, str]) -> dict[str, FloatArray]:
    """Scores (U, N) of each video of a benchmark file, keyed as in that file.

    `titles` maps the file's keys to their video ids. Where the file states ids, they decide; where it does not, the
    n-th video of the table is `video_n`, the order in which every published file numbers them.
    """
    rows = _rows_by_id(path)
    ids = list(rows)
    by_title = {title: key for key, title in titles.items() if title}
    keys = by_title or {video_id: f"video_{n}" for n, video_id in enumerate(ids, start=1)}
    named = [video_id for video_id in ids if keys.get(video_id) in titles]
    if not named:
        raise DataError(path, "names none of the videos of the benchmark file", "check that both are of one dataset")
    return {keys[video_id]: _stack(path, video_id, rows[video_id]) for video_id in named}


def _rows_by_id(path: Path) -> dict[str, list[FloatArray]]:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(path, f"cannot be read as text ({error})", _REMEDY) from error
    rows: dict[str, list[FloatArray]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        columns = line.split("\t")
        if len(columns) < 3:
            raise DataError(path, f"line {number} has {len(columns)} of 3 columns", _REMEDY)
        try:
            scores = np.array([float(score) for score in columns[2].split(",")])
        except ValueError as error:
            raise DataError(path, f"line {number} holds something that is not a score ({error})", _REMEDY) from error
        rows.setdefault(columns[0], []).append(scores)
    if not rows:
        raise DataError(path, "is empty", _REMEDY)
    return rows


def _stack(path: Path, video_id: str, rows: list[FloatArray]) -> FloatArray:
    if len({len(row) for row in rows}) > 1:
        raise DataError(path, f"{video_id} has rows of different lengths", "every person scores every frame")
    return np.stack(rows)
