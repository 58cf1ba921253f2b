"""What do people and methods prefer? How importance goes with what is plain to see in a video's features.

    python studies/preferences.py studies/bench tvsum.googlenet.h5 --methods sum-gan dmasum

Reads the curves that methods of a bench (`vastsum benchmark … -o bench`) predicted for their test videos, and prints
Kendall's τ of each with three things that need no learning, beside τ of what people say: the mean over videos, and the
central 95 % of a bootstrap over videos. Curves are those of the first seed, at the last epoch unless told otherwise.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from vastsum.bench.data import BenchmarkVideo, load_dataset, load_splits
from vastsum.bench.measures import kendall_tau_b
from vastsum.bench.plan import Benchmark, Plan
from vastsum.bench.protocols import Protocol
from vastsum.bench.rows import interval, method_rows
from vastsum.bench.tables import Table
from vastsum.errors import ConfigError
from vastsum.types import FloatArray

Curves = dict[str, FloatArray]
"""Of each video, by its name."""


def change(features: FloatArray) -> FloatArray:
    """How far each pick is from the one before; the first, from the one after."""
    steps = np.linalg.norm(np.diff(features, axis=0), axis=1)
    return np.concatenate([steps[:1], steps])


def oddness(features: FloatArray) -> FloatArray:
    """How far each pick is from the mean of the video."""
    return np.linalg.norm(features - features.mean(axis=0), axis=1)


def time(features: FloatArray) -> FloatArray:
    return np.arange(len(features), dtype=float)


PLAIN: dict[str, Callable[[FloatArray], FloatArray]] = {"change": change, "oddness": oddness, "time": time}


def curves_of(folder: Path, benchmark: Benchmark, method: str, protocol: Protocol) -> tuple[str, Curves]:
    """A method's title, and what its first seed predicted for test videos."""
    plan = Plan(folder, (benchmark,), (method,), (protocol,), 1, None)
    (row,) = [row for row in method_rows(plan, benchmark) if row.name == method]
    if row.missing:
        raise ConfigError(folder, f"{method} on {benchmark.name}: {row.missing}", "finish the bench first")
    results = row.rows[protocol].results
    kept = {result.video: result.prediction.mean for result in results if result.prediction is not None}
    if len(kept) < len(results):
        raise ConfigError(folder, f"{method}: its curves were not kept", "train it anew, in a folder of its own")
    return row.title, kept


def preferred(curves: Curves, videos: Sequence[BenchmarkVideo]) -> list[str]:
    """τ of the curves with what people say, and with each thing that is plain; 0 where one side is constant."""
    taus = np.nan_to_num([kendall_tau_b(curves[video.name], references(video)) for video in videos])
    return [str(interval(column)) for column in taus.T]


def references(video: BenchmarkVideo) -> FloatArray:
    """(1 + plain things, picks)"""
    features = video.features.astype(float)
    return np.stack([video.annotations.mean(axis=0), *(see(features) for see in PLAIN.values())])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--protocol", choices=["5fcv", "tvt", "last"], default="last")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    benchmark = Benchmark(dataset, load_splits(dataset))
    found = [curves_of(arguments.bench, benchmark, method, arguments.protocol) for method in arguments.methods]
    videos = [dataset.videos[name] for name in sorted(found[0][1])]
    people = {video.name: video.annotations.mean(axis=0) for video in videos}
    rows = [(title, *preferred(curves, videos)) for title, curves in found]
    rows.append(("People", "", *preferred(people, videos)[1:]))
    title = f"{benchmark.name}, {arguments.protocol}: what goes with importance"
    print(Table("preferences", title, ("τ with", "people", *PLAIN), tuple(rows), ()).markdown())


if __name__ == "__main__":
    main()
