"""Study the linear path of VASTSum alone, with the mean over like frames. No network is trained: minutes on a CPU.

    python studies/linear_path.py choose tvsum.efficientnet_lite0.h5 summe.efficientnet_lite0.h5
    python studies/linear_path.py leave-one-out tvsum.googlenet.h5 summe.googlenet.h5

`choose` finds the weight of the channels and the penalty by nested folds. For each of the five splits, every setting is
tried on inner folds of the training videos (the test parts of the other four splits, each left out once), the one with
the highest mean `score_tau` is taken, and what it scores on the split's test videos is the result. Several files are
learned from together, and each counts the same.

`leave-one-out` takes one part away at a time, under `tvt` and under `transfer` between the two files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from vastsum.bench.data import BenchmarkVideo, Dataset, load_dataset, load_splits
from vastsum.bench.measures import agreement
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import VastsumMethod, VastsumNetwork
from vastsum.bench.protocols import parts_of
from vastsum.features.relative import N_CHANNELS, NAMES
from vastsum.selection.decode import DEFAULT_DECODER
from vastsum.types import PAPER_DECODER, Decoder, FloatArray, Prediction

CHANNEL_WEIGHTS = (0.2, 0.33, 0.6)
PENALTIES = (0.003, 0.01, 0.03)
# One unit for scores and summaries, and all directions, as in train_default.py.
JOINT = ("network.offset=0.5", "network.temperature=0.15", "network.linear_directions=0")

Setting = tuple[float, float]
Video = BenchmarkVideo
Change = Callable[[FloatArray], FloatArray]


def fitted(videos: Sequence[Video], *settings: str) -> VastsumNetwork:
    method = VastsumMethod(load_config(None, ["network.linear_share=1", *settings], kind=videos[0].kind))
    network = method.build(videos[0].features.shape[1])
    method.start(network, [(video.features, video.annotations, video.kind) for video in videos])
    return network.eval()


@torch.no_grad()
def judged(network: VastsumNetwork, videos: Sequence[Video], decoder: Decoder = DEFAULT_DECODER) -> np.ndarray:
    """Mean `score_tau` and `caught`."""
    rows = []
    for video in videos:
        x = torch.as_tensor(video.features, dtype=torch.float32)[None]
        scores = network.scored(torch.zeros(x.shape[:2]), x, torch.ones(x.shape[:2], dtype=torch.bool))
        found = agreement(Prediction.certain(scores[0].double().numpy(), decoder), video, video.kind)
        rows.append((found.score_tau, found.caught))
    return np.mean(rows, axis=0)


def choose(datasets: list[Dataset]) -> None:
    folds = [[[data.videos[name] for name in split.test] for split in load_splits(data).splits] for data in datasets]
    joint = JOINT if len(datasets) > 1 else ()

    def tried(setting: Setting, left_out: set[int], test: int) -> np.ndarray:
        training = [v for file in folds for n, part in enumerate(file) if n not in left_out for v in part]
        weight, penalty = setting
        network = fitted(training, *joint, f"network.channel_weight={weight}", f"network.linear_penalty={penalty}")
        return np.array([judged(network, file[test])[0] for file in folds])

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


def without(columns: Sequence[int], features: FloatArray) -> FloatArray:
    changed = features.copy()
    changed[:, columns] = 0
    return changed


def leave_one_out(datasets: list[Dataset]) -> None:
    channels = list(range(-N_CHANNELS, 0))
    pictures = list(range(datasets[0].feature_width - N_CHANNELS))
    print("| left out | " + " | ".join(f"{d.kind} tvt | caught | {d.kind} transfer | caught" for d in datasets) + " |")
    print("| --- |" + " ---: |" * 4 * len(datasets))
    show = partial(_row, datasets)
    show("nothing")
    for name, channel in zip(NAMES, channels, strict=True):
        show(f"`{name}`", partial(without, [channel]))
    show("all channels", partial(without, channels))
    show("what is seen: channels alone", partial(without, pictures))
    show("down-weighting: channels as strong as features", settings=("network.channel_weight=1",))
    with patch("vastsum.bench.methods.vastsum.steps", torch.zeros_like):
        show("dependence of the weights on variety")
    show("principal directions: all features", settings=("network.linear_directions=0", "network.linear_penalty=0.01"))
    show("the mean over like frames", settings=("network.nonlocal_sharpness=0",))
    show("temperature: mean × root of length", decoder=replace(DEFAULT_DECODER, sharpness=0.0))
    show("length in the value: mean of exp(z)", decoder=replace(DEFAULT_DECODER, length_power=0.0))
    show("both: the paper's decoder", decoder=PAPER_DECODER)


def _row(
    datasets: list[Dataset],
    title: str,
    change: Change = lambda features: features,
    settings: tuple[str, ...] = (),
    decoder: Decoder = DEFAULT_DECODER,
) -> None:
    cells = []
    changed = [
        {name: replace(video, features=change(video.features)) for name, video in data.videos.items()}
        for data in datasets
    ]
    for data, own, other in zip(datasets, changed, reversed(changed), strict=True):
        splits = load_splits(data).splits
        rows = []
        for split in range(len(splits)):
            parts = parts_of(splits, split, "tvt")
            network = fitted([own[name] for name in parts.train], *settings)
            rows.append(judged(network, [own[name] for name in parts.test], decoder))
        transferred = judged(fitted(list(other.values()), *settings), list(own.values()), decoder)
        cells += [*np.mean(rows, axis=0), *transferred]
    print(f"| {title} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", choices=["choose", "leave-one-out"])
    parser.add_argument("data", nargs="+", type=Path)
    arguments = parser.parse_args()
    datasets = [load_dataset(path).relative for path in arguments.data]
    {"choose": choose, "leave-one-out": leave_one_out}[arguments.study](datasets)


if __name__ == "__main__":
    main()
