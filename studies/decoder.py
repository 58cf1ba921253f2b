"""What summaries catch of what people value, by decoder, length and kind of segment. A minute on a CPU.

    python studies/decoder.py tvsum.efficientnet_lite0.h5 summe.efficientnet_lite0.h5

Scores are those of VASTSum's linear path (linear_path.py) under `tvt` and `transfer`, and people's own ("perfect").
Segments are the published ones, or split as the program splits them: none longer than 4 s.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from chance import as_cut
from linear_path import fitted

from vastsum.bench.data import BenchmarkVideo, Dataset, load_dataset, load_splits
from vastsum.bench.measures import caught
from vastsum.bench.protocols import parts_of
from vastsum.selection import select, summary_mask
from vastsum.selection.decode import DECODERS
from vastsum.types import Decoder, FloatArray, Prediction

BUDGETS = (0.05, 0.15, 0.3)
Scores = dict[str, FloatArray]


@torch.no_grad()
def scores_of(network: torch.nn.Module, videos: list[BenchmarkVideo]) -> Scores:
    found = {}
    for video in videos:
        x = torch.as_tensor(video.features, dtype=torch.float32)[None]
        scores = network.scored(torch.zeros(x.shape[:2]), x, torch.ones(x.shape[:2], dtype=torch.bool))
        found[video.name] = scores[0].double().numpy()
    return found


def cross_validated(data: Dataset) -> Scores:
    splits, found = load_splits(data).splits, {}
    for n in range(len(splits)):
        parts = parts_of(splits, n, "tvt")
        found |= scores_of(fitted([data.videos[k] for k in parts.train]), [data.videos[k] for k in parts.test])
    return found


def row(title: str, data: Dataset, scores: Scores) -> str:
    cells = []
    for is_split in (False, True):
        for decoder in DECODERS.values():
            for budget in BUDGETS:
                values = [
                    _caught(video, scores[video.name], is_split, budget, decoder) for video in data.videos.values()
                ]
                cells.append(f"{np.mean(values):.3f}")
    return f"| {title} | " + " | ".join(cells) + " |"


def _caught(video: BenchmarkVideo, scores: FloatArray, is_split: bool, budget: float, decoder: Decoder) -> float:
    segments = as_cut(video) if is_split else video.segments
    chosen = select(Prediction.certain(scores), segments, budget, decoder).chosen
    return caught(summary_mask(chosen, segments), video.people_value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs=2, type=Path)
    datasets = [load_dataset(path).relative for path in parser.parse_args().data]
    titles = [f"{kind}, {name}, {b:.0%}" for kind in ("published", "4 s") for name in DECODERS for b in BUDGETS]
    print("| scores | " + " | ".join(titles) + " |\n| --- |" + " ---: |" * len(titles))
    for data, other in (datasets, datasets[::-1]):
        perfect = {video.name: video.annotations.mean(axis=0) for video in data.videos.values()}
        carried = scores_of(fitted(list(other.videos.values())), list(data.videos.values()))
        for title, scores in (("perfect", perfect), ("tvt", cross_validated(data)), ("transfer", carried)):
            print(row(f"{data.kind}: {title}", data, scores), flush=True)


if __name__ == "__main__":
    main()
