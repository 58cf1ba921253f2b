"""What finished trainings leave: two files a benchmark, which grow by a few lines a training.

DIR/tvsum.googlenet.csv.gz     every metric: a line a method, protocol, split, seed and test video
DIR/tvsum.googlenet.jsonl.gz   a line a training: its settings, τ after every epoch, curves; or why it failed
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from math import floor, log10
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vastsum.bench.columns import AGREEMENT, TRUST
from vastsum.bench.protocols import Protocol
from vastsum.errors import DataError
from vastsum.files import atomic_path
from vastsum.types import Decoder, FloatArray, Prediction

Regime = Literal["whole", "tvt", "transfer"]
"""What is trained on: the whole training part of a split (5fcv and last are read off it), that less a validation part,
or the other files."""

REGIMES: Mapping[str, Regime] = {"5fcv": "whole", "last": "whole", "tvt": "tvt", "transfer": "transfer"}

Record = dict[str, Any]
"""A training in terms of JSON. "videos" are the metrics, {protocol: {video: {metric: value}}}; "curves" are packed
predictions, {protocol: {video: packed}}; where it failed, "failed" says why."""

BOOKMARKS = "bookmarks"
METRICS = (*(column.metric for column in (*AGREEMENT, *TRUST)), "range")
TINY = 1e-300


@dataclass(frozen=True)
class Task:
    """One training of one method on one file."""

    data: str
    method: str
    regime: Regime
    split: int
    seed: int

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Task:
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    @property
    def what(self) -> str:
        """Which method on which file, as progress reports show it."""
        return f"{self.method} on {self.data}"

    @property
    def chosen_by(self) -> Protocol:
        """The protocol that chooses its epoch; `last` needs none."""
        return "5fcv" if self.regime == "whole" else self.regime

    def bookmark(self, folder: Path) -> Path:
        """Of the group that this is the first of."""
        name = f"{self.regime}.split{self.split}.seed{self.seed}.safetensors"
        return folder / BOOKMARKS / self.data / self.method / name


@lru_cache
def read(folder: Path, data: str) -> Mapping[Task, Record]:
    """The latest record of each training, as of the last time that this process wrote."""
    table, trainings = _files(folder, data)
    records: dict[Task, Record] = {}
    try:
        for line in _lines(trainings):
            record = json.loads(line)
            records[Task.of(record)] = record | {"videos": {}}
        for row in csv.DictReader(_lines(table)):
            task = Task(data, row["method"], REGIMES[row["protocol"]], int(row["split"]), int(row["seed"]))
            if record := records.get(task):
                metrics = {name: float(row[name]) for name in METRICS if row[name]}
                record["videos"].setdefault(row["protocol"], {})[row["video"]] = metrics
    except (OSError, ValueError, KeyError, TypeError, EOFError, csv.Error, zlib.error) as error:
        remedy = "restore both from a copy, or remove both to train anew"
        raise DataError(trainings, f"or {table.name} beside it cannot be read ({error})", remedy) from error
    return records


def add(folder: Path, record: Record) -> None:
    """The metrics come last: a training without them is still to be done."""
    table, trainings = _files(folder, record["data"])
    rows = [
        [record["method"], protocol, record["split"], record["seed"], video, *map(metrics.get, METRICS)]
        for protocol, videos in record.get("videos", {}).items()
        for video, metrics in videos.items()
    ]
    facts = {name: value for name, value in record.items() if name != "videos"}
    _append(trainings, [json.dumps(facts, ensure_ascii=False, allow_nan=False)])
    header = [] if table.exists() else [["method", "protocol", "split", "seed", "video", *METRICS]]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(header + rows)
    _append(table, text.getvalue().splitlines())
    read.cache_clear()


def forget(folder: Path, data: str, methods: Collection[str]) -> None:
    """Their trainings are to be done anew."""
    table, trainings = _files(folder, data)
    if read(folder, data):
        _write(trainings, [line for line in _lines(trainings) if json.loads(line)["method"] not in methods])
        _write(table, [line for line in _lines(table) if line.partition(",")[0] not in methods])
    read.cache_clear()


def _files(folder: Path, data: str) -> tuple[Path, Path]:
    return folder / f"{data}.csv.gz", folder / f"{data}.jsonl.gz"


def _lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []


def _append(path: Path, lines: Sequence[str]) -> None:
    _write(path, lines, path.read_bytes() if path.exists() else b"")


def _write(path: Path, lines: Sequence[str], before: bytes = b"") -> None:
    """gzip reads parts one after another as one file."""
    with atomic_path(path) as temporary:
        temporary.write_bytes(before + gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))


def packed(prediction: Prediction) -> dict[str, Any]:
    return {
        "mean": _packed(prediction.mean),
        "std": _packed(prediction.std),
        "decoder": asdict(prediction.decoder),
    }


def unpacked(content: Mapping[str, Any]) -> Prediction:
    return Prediction(_unpacked(*content["mean"]), _unpacked(*content["std"]), Decoder(**content["decoder"]))


def _packed(curve: FloatArray) -> tuple[float, float, list[int]]:
    """Its lowest value, a step that cuts its range into 100 000 or more, and the way from pick to pick in steps: of a
    collapsed network, too, it can be told which pick is above which."""
    low, spread = float(curve.min()), float(np.ptp(curve))
    step = 10.0 ** (floor(log10(spread)) - 5) if spread > TINY else 1.0
    return low, step, np.diff(np.round((curve - low) / step).astype(int), prepend=0).tolist()


def _unpacked(low: float, step: float, way: list[int]) -> FloatArray:
    return low + step * np.cumsum(way)
