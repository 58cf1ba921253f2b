"""Choose the settings of VASTSum's linear path by nested folds: test videos of a fold are in none of its choices.

    python scripts/choose_linear.py tvsum.efficientnet_lite0.h5 summe.efficientnet_lite0.h5
    python scripts/choose_linear.py summe.googlenet.h5

For each of the five splits, every setting is tried on inner folds of the training videos (the test parts of the other
four splits, each left out once), the one with the highest mean `score_tau` is taken, and what it scores on the split's
test videos is the result. Several files are learned from together, and each counts the same. The path stands alone,
with the mean over like frames, so no network is trained: minutes on two cores.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import torch

from vastsum.data import BenchmarkVideo, load_dataset, load_splits
from vastsum.evaluation.metrics import rank_correlations
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.training import load_config
from vastsum.training.vastsum import VastsumMethod

CHANNEL_WEIGHTS = (0.2, 0.33, 0.6)
PENALTIES = (0.003, 0.01, 0.03)
JOINT = ("network.offset=0.5", "network.temperature=0.15")  # one unit for scores and summaries, as in train_default.py

Setting = tuple[float, float]
Folds = list[list[BenchmarkVideo]]


def fitted(setting: Setting, videos: list[BenchmarkVideo], n_files: int) -> VastsumNetwork:
    channel_weight, penalty = setting
    settings = (
        "network.linear_share=1",
        f"network.channel_weight={channel_weight}",
        f"network.linear_penalty={penalty}",
    )
    joint = JOINT if n_files > 1 else ()
    method = VastsumMethod(load_config(None, [*settings, *joint], kind=videos[0].kind))
    network = method.build(videos[0].features.shape[1])
    method.start(network, [(video.features, video.annotations, video.kind) for video in videos])
    return network.eval()


@torch.no_grad()
def score_tau(network: VastsumNetwork, video: BenchmarkVideo) -> float:
    x = torch.as_tensor(video.features, dtype=torch.float32)[None]
    mask = torch.ones(x.shape[:2], dtype=torch.bool)
    scores = network.scored(torch.zeros(x.shape[:2]), x, mask)[0].double().numpy()
    people = video.annotations if video.kind == "tvsum" else video.annotations.mean(axis=0, keepdims=True)
    return rank_correlations(scores, people)[0]


def by_file(network: VastsumNetwork, held_out: list[list[BenchmarkVideo]]) -> np.ndarray:
    return np.array([np.mean([score_tau(network, video) for video in videos]) for videos in held_out])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    arguments = parser.parse_args()
    datasets = [load_dataset(path).relative for path in arguments.data]
    folds: list[Folds] = [
        [[dataset.videos[name] for name in split.test] for split in load_splits(dataset).splits] for dataset in datasets
    ]  # file, split, video

    def tried(setting: Setting, left_out: set[int], judged: int) -> np.ndarray:
        training = [v for file in folds for n, part in enumerate(file) if n not in left_out for v in part]
        return by_file(fitted(setting, training, len(folds)), [file[judged] for file in folds])

    n_splits, settings = len(folds[0]), list(product(CHANNEL_WEIGHTS, PENALTIES))
    print("split, chosen (channel weight, penalty), inner score_tau, then score_tau of the test videos of each file")
    rows = []
    for split in range(n_splits):
        others = [n for n in range(n_splits) if n != split]
        inner = {s: float(np.mean([tried(s, {split, n}, n).mean() for n in others])) for s in settings}
        best = max(inner, key=lambda setting: inner[setting])
        rows.append(tried(best, {split}, split))
        print(split, best, f"{inner[best]:.3f}", *(f"{value:.3f}" for value in rows[-1]), flush=True)
    print("nested", *(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
