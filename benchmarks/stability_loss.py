"""What the stability loss costs: training epochs with and without it, taken in turn in one run.

    python benchmarks/stability_loss.py tvsum.googlenet.h5

The first 40 videos of the file, R = 8 perturbed knapsacks a video and step, one thread.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import torch

from vastsum.bench.data import load_dataset
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import VastsumMethod
from vastsum.bench.training import Member, Trainer

ROUNDS = 5
PAST_WARM_UP = 20


def main(path: Path) -> None:
    torch.set_num_threads(1)
    dataset = load_dataset(path)
    videos = list(dataset.videos.values())[:40]
    seconds: dict[str, list[float]] = {"with": [], "without": []}
    trainers = {}
    for name, weight in (("with", 0.1), ("without", 0.0)):
        config = load_config(None, [f"loss.stability_weight={weight}", "loss.stability_draws=8"])
        trainers[name] = Trainer(VastsumMethod(config), [Member(tuple(videos), seed=0)])
        trainers[name].train_epoch(PAST_WARM_UP)  # allocations and caches
    for turn in range(ROUNDS):
        for name, trainer in trainers.items():
            started = time.perf_counter()
            trainer.train_epoch(PAST_WARM_UP + 1 + turn)
            seconds[name].append(time.perf_counter() - started)
    ratios = np.array(seconds["with"]) / np.array(seconds["without"])
    print(f"{path.name}, {len(videos)} videos, R = 8, {ROUNDS} epochs each, in turn")
    print(f"with {np.median(seconds['with']):.2f} s, without {np.median(seconds['without']):.2f} s an epoch")
    print(f"ratio {np.median(ratios):.2f} (from {ratios.min():.2f} to {ratios.max():.2f})")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
