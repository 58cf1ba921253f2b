"""How long one prediction takes: methods side by side on the same video of ten minutes, in one run.

    python benchmarks/inference.py [vastsum summdiff …]

Random features of GoogLeNet's width and fresh weights: what is measured does not depend on either. One CPU thread.
Parameters and multiply-adds stand beside the time, in millions and in billions.
Then what ships: its scorer beside its backbone, which has to look at every pick of the video first.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch

from vastsum import Summarizer
from vastsum.bench.cost import milliseconds, multiply_adds, ten_minutes
from vastsum.bench.methods.registry import entry_of

ROUNDS = 5
N_FRAMES = 64  # the backbone's time is counted up from these
WIDTH = 1024


def main(names: list[str]) -> None:
    features, segments = ten_minutes(WIDTH)
    scorers, sizes = {}, {}
    for name in names:
        learn = entry_of(name).learn
        assert learn is not None, f"{name} has no network"
        method = learn("tvsum")
        torch.manual_seed(0)
        network = method.build(WIDTH).eval().requires_grad_(False)
        scorers[name] = method.scorer(network, "tvsum")
        sizes[name] = sum(weight.numel() for weight in network.parameters())
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name, scorer in scorers.items():
            taken[name].append(milliseconds(scorer, features, segments))
    first = np.median(taken[names[0]])
    for name in names:
        median = np.median(taken[name])
        work = multiply_adds(scorers[name], features, segments)
        size = f"{sizes[name] / 1e6:6.2f} M   {work / 1e9:6.2f} G"
        print(f"{name:14s} {size} {median:8.1f} ms   {median / first:6.2f} × {names[0]}")
    what_ships()


def what_ships() -> None:
    summarizer = Summarizer(threads=1)
    features, segments = ten_minutes(summarizer.backbone.width)
    frames = np.random.default_rng(0).integers(0, 256, (N_FRAMES, 224, 224, 3), dtype=np.uint8)
    scorer_ms, backbone_ms = [], []
    for _ in range(ROUNDS):
        scorer_ms.append(milliseconds(summarizer.scorer, features, segments))
        started = time.perf_counter()
        summarizer.backbone.extract(frames)
        backbone_ms.append(1e3 * (time.perf_counter() - started) * len(features) / N_FRAMES)
    scorer, backbone = np.median(scorer_ms), np.median(backbone_ms)
    print(f"what ships: scorer {scorer:.1f} ms, backbone {backbone:.0f} ms, {backbone / scorer:.0f} × the scorer")


if __name__ == "__main__":
    main(sys.argv[1:] or ["vastsum", "summdiff"])
