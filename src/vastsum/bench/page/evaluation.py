"""Benchmarks, seen: tables that sort, each video's prediction against each annotator, calibration and stability.

    write_page([Section.of(report, dataset)], Path("tvsum.html"), title="TVSum")

A section is one benchmark: any number of rows measured on the same videos, of whichever methods and protocols. Rows
whose results hold their predictions have curves and a calibration plot; all others have their numbers.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from vastsum import __version__
from vastsum.bench.columns import AGREEMENT, TRUST, Column
from vastsum.bench.data import BenchmarkVideo, Dataset, Kind
from vastsum.bench.measures import annotation_std
from vastsum.bench.report import EvaluationReport, Row, VideoResult
from vastsum.export.page import self_contained
from vastsum.files import write_text
from vastsum.selection import select
from vastsum.types import FloatArray, Prediction

HERE = Path(__file__).parent
MASSES = np.linspace(0.05, 0.95, 19)  # of the central intervals on the calibration plot
N_TENTHS = 10
# To be read beside results, not as results.
REFERENCES = frozenset({"Random", "Length only", "Uniform clips", "Human", "Mean annotator"})


@dataclass(frozen=True)
class Quoted:
    """What others have published for a method under a protocol, shown apart from what was measured here."""

    method: str
    protocol: str
    source: str
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Section:
    """One benchmark and the rows measured on it. Without `videos` there are no curves."""

    title: str
    kind: Kind
    rows: Sequence[Row]
    videos: Mapping[str, BenchmarkVideo] = field(default_factory=dict)
    facts: Sequence[str] = ()
    notes: Sequence[str] = ()
    quoted: Sequence[Quoted] = ()

    @classmethod
    def of(cls, report: EvaluationReport, dataset: Dataset) -> Section:
        facts = [f"{report.n_videos} videos", f"splits: {report.split_source}"]
        return cls(report.data_name, dataset.kind, report.rows, dataset.videos, facts, report.notes)


def write_page(sections: Sequence[Section], destination: Path, *, title: str) -> None:
    """Write one self-contained file that opens from disk."""
    page = self_contained(
        title=title,
        body=HERE / "evaluation.html",
        styles=["theme.css", HERE / "evaluation.css"],
        scripts=["theme.js", "common.js", HERE / "plots.js", HERE / "evaluation.js"],
        data={"title": title, "vastsum": __version__, "sections": [_section(section) for section in sections]},
    )
    write_text(destination, page)


def _section(section: Section) -> dict[str, Any]:
    predicted = [row for row in section.rows if _shown_results(row, section)]
    unsure = [row for row in predicted if _values(row, "nll")]  # who gives no uncertainty cannot be wrong about it
    return {
        "title": section.title,
        "kind": section.kind,
        "facts": list(section.facts),
        "notes": list(section.notes),
        "tables": [
            _table("Agreement with people", AGREEMENT, section),
            _table("Uncertainty and stability", TRUST, section),
        ],
        "predicted": [_named(row, section) for row in predicted],
        "calibration": _calibration(section, unsure),
        "stability": [
            {**_named(row, section), "values": values} for row in section.rows if (values := _values(row, "jaccard"))
        ],
        "videos": _videos(section, predicted),
    }


def _named(row: Row, section: Section) -> dict[str, Any]:
    """A row as plots name it; `series` is its colour in all of them."""
    measured = [id(other) for other in section.rows if other.method not in REFERENCES]
    series = measured.index(id(row)) if id(row) in measured else 0
    return {"label": _label(row), "protocol": _protocol(row), "series": series}


def _label(row: Row) -> str:
    return f"{row.method} · {_protocol(row)}" if _protocol(row) else row.method


def _protocol(row: Row) -> str:
    """References have none: they stand beside the results of every protocol."""
    return "" if row.protocol == "none" else row.protocol


# ---- tables ----


def _table(title: str, columns: Sequence[Column], section: Section) -> dict[str, Any]:
    measured = [(row, row.summary()) for row in section.rows]
    rows = [
        {
            "method": row.method,
            "protocol": _protocol(row),
            "meaning": summary["meaning"],
            "kind": "reference" if row.method in REFERENCES else "measured",
            "cells": [summary.get(column.metric) for column in columns],
        }
        for row, summary in measured
    ] + [
        {
            "method": quoted.method,
            "protocol": quoted.protocol,
            "meaning": quoted.source,
            "kind": "quoted",
            "cells": [_quoted_cell(quoted.metrics.get(column.metric)) for column in columns],
        }
        for quoted in section.quoted
    ]
    filled = [n for n in range(len(columns)) if any(row["cells"][n] is not None for row in rows)]
    return {
        "title": title,
        "columns": [asdict(columns[n]) for n in filled],
        "rows": [
            {**row, "cells": [row["cells"][n] for n in filled]}
            for row in rows
            if any(row["cells"][n] is not None for n in filled)
        ],
    }


def _quoted_cell(value: float | None) -> dict[str, float] | None:
    return None if value is None else {"mean": value, "std_over_seeds": 0.0, "std_over_splits": 0.0}


def _values(row: Row, metric: str) -> list[float]:
    """One a video: the mean over the trainings that were tested on it."""
    by_video: dict[str, list[float]] = {}
    for result in row.results:
        value = result.metrics.get(metric)
        if value is not None:
            by_video.setdefault(result.video, []).append(value)
    return [round(float(np.mean(values)), 4) for values in by_video.values()]


# ---- predictions ----


def _shown_results(row: Row, section: Section) -> dict[str, VideoResult]:
    """For each video the first prediction there is: of the first seed, in the first split that tests it."""
    shown: dict[str, VideoResult] = {}
    for result in sorted(row.results, key=lambda result: (result.seed, result.split)):
        if result.prediction is not None and result.video in section.videos:
            shown.setdefault(result.video, result)
    return shown


def _calibration(section: Section, rows: Sequence[Row]) -> dict[str, Any]:
    """Scores are checked by their intervals. Binary summaries are never inside one: there it is the probability."""
    texts, points = (_INTERVALS, _coverage_points) if section.kind == "tvsum" else (_PROBABILITIES, _probability_points)
    curves = [{**_named(row, section), "points": _rounded(points(list(_judged(row, section))))} for row in rows]
    return {**texts, "curves": curves}


_INTERVALS = {
    "meaning": "Share of annotations inside the central interval of each mass; above the diagonal it is too wide.",
    "across": "mass of the predicted interval",
    "up": "Share of annotations inside it",
}
_PROBABILITIES = {
    "meaning": "Share of people who took a frame into their summary, over the probability predicted for that.",
    "across": "predicted probability",
    "up": "Share of people who agree",
}


def _judged(row: Row, section: Section) -> Iterator[tuple[Prediction, FloatArray]]:
    """Predictions, and what people said of the same video."""
    for name, result in _shown_results(row, section).items():
        assert result.prediction is not None, "only results with a prediction are shown"
        yield result.prediction, section.videos[name].annotations.astype(np.float64)


def _coverage_points(judged: Sequence[tuple[Prediction, FloatArray]]) -> FloatArray:
    """For each mass, the share of annotations inside the interval, as the mean over videos."""
    reach = stats.norm.ppf(0.5 + MASSES / 2)[:, None, None]
    shares = [
        (np.abs(annotations - prediction.mean) <= reach * annotation_std(prediction, "tvsum")).mean(axis=(1, 2))
        for prediction, annotations in judged
    ]
    return np.column_stack([MASSES, np.mean(shares, axis=0)])


def _probability_points(judged: Sequence[tuple[Prediction, FloatArray]]) -> FloatArray:
    """Picks of all videos in tenths by their probability: the mean of that, and the share of people who took them."""
    probability = np.concatenate([np.clip(prediction.mean, 0.0, 1.0) for prediction, _ in judged])
    taken = np.concatenate([annotations.mean(axis=0) for _, annotations in judged])
    tenths = np.array_split(np.argsort(probability, kind="stable"), min(N_TENTHS, len(probability)))
    return np.array([(probability[picks].mean(), taken[picks].mean()) for picks in tenths])


def _videos(section: Section, rows: Sequence[Row]) -> list[dict[str, Any]]:
    shown = {_label(row): _shown_results(row, section) for row in rows}
    names = [name for name in section.videos if any(name in results for results in shown.values())]
    return [
        _video(section.videos[name], {label: results[name] for label, results in shown.items() if name in results})
        for name in names
    ]


def _video(video: BenchmarkVideo, results: Mapping[str, VideoResult]) -> dict[str, Any]:
    """Annotations as bytes from 0 to 255, one row a person; numbers to four digits: the page is to stay small."""
    annotations = np.clip(video.annotations, 0.0, 1.0)
    return {
        "name": video.name,
        "title": video.title or video.category,
        "picks": video.segments.picks.tolist(),
        "n_frames": video.segments.n_frames,
        "n_annotators": len(annotations),
        "annotations": b64encode(np.round(255 * annotations).astype(np.uint8).tobytes()).decode(),
        "predictions": {label: _prediction(result, video) for label, result in results.items()},
    }


def _prediction(result: VideoResult, video: BenchmarkVideo) -> dict[str, Any]:
    assert result.prediction is not None, "only results with a prediction are shown"
    chosen = select(result.prediction, video.segments).chosen
    return {
        "mean": _rounded(result.prediction.mean),
        "std": _rounded(result.prediction.std),
        "chosen": video.segments.bounds[chosen].tolist(),
        "metrics": {name: value for name, value in result.metrics.items() if value is not None},
        "origin": f"split {result.split}, seed {result.seed}",
    }


def _rounded(values: FloatArray) -> list[float]:
    return np.asarray(values, dtype=np.float64).round(4).tolist()
