"""How long one prediction takes: methods side by side on the same video of ten minutes, in one run.

    python benchmarks/inference.py [vastsum summdiff …]

Random features of GoogLeNet's width and fresh weights: what is measured does not depend on either. One CPU thread.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from vastsum.evaluation.bench.cost import milliseconds, ten_minutes
from vastsum.training.methods import entry_of

ROUNDS = 5
WIDTH = 1024


def main(names: list[str]) -> None:
    features, segments = ten_minutes(WIDTH)
    scorers = {}
    for name in names:
        learn = entry_of(name).learn
        assert learn is not None, f"{name} has no network"
        method = learn("tvsum")
        torch.manual_seed(0)
        scorers[name] = method.scorer(method.build(WIDTH).eval(), "tvsum")
    taken: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name, scorer in scorers.items():
            taken[name].append(milliseconds(scorer, features, segments))
    first = np.median(taken[names[0]])
    for name in names:
        median = np.median(taken[name])
        print(f"{name:12s} {median:8.1f} ms   {median / first:6.2f} × {names[0]}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["vastsum", "summdiff"])
