"""Benchmark files."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from vastsum.bench.data import load_dataset, load_splits, make_synthetic


def seeds(folder: Path) -> list[bytes]:
    made = []
    for kind in ("tvsum", "summe"):
        path = folder / f"{kind}.h5"
        make_synthetic(path, kind=kind, n_videos=3, n_annotators=2, feature_width=2, mean_duration_s=8)
        made.append(path.read_bytes())
    return made


def use(path: Path) -> None:
    dataset = load_dataset(path)
    _ = dataset.fingerprint
    load_splits(dataset)


TARGET = Target("tvsum.h5", seeds, use, mutate_bytes, native=True)
