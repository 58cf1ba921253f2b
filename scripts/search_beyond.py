"""What share of the score should be the linear path's, how much should it be smoothed, and how wide should the
intervals be? Asked of validation videos.

    python scripts/search_beyond.py tvsum.googlenet.h5 -o studies/beyond.tvsum.googlenet.json

Trains VASTSum's network on the training part of every split (`tvt`), without looking at its validation or test part,
and scores the validation videos after the last epoch with every share and smoothing of the grid: they join only when a
video is scored, so one training answers for all. With the best of them, the scale of the standard deviation is the one
whose 90 % intervals hold nearest to 90 % of what people said. Every value tried is written down.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import torch

from vastsum.data import BenchmarkVideo, load_dataset, load_splits
from vastsum.evaluation.calibration import calibration
from vastsum.evaluation.metrics import judge
from vastsum.files import write_json
from vastsum.scorers.vastsum.linear import Smoothing
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.protocols import parts_of
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import Kind, Prediction

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
SMOOTHINGS = (0.0, 1.0, 2.0, 3.0, 4.0)
SCALES = tuple(round(0.8 + 0.05 * n, 2) for n in range(13))


def train_and_score(
    config: Config, training: list[BenchmarkVideo], watched: list[BenchmarkVideo], kind: Kind, seed: int
) -> tuple[list[list[float]], list[list[list[float]]]]:
    """τ of each setting of the grid on each watched video, and its 90 % coverage at each scale."""
    torch.set_num_threads(1)
    method = VastsumMethod(config)
    trainer = Trainer(method, [Member(tuple(training), seed)])
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    network = cast(VastsumNetwork, trainer.network())
    taus, coverages = [], []
    for share, smoothing in itertools.product(SHARES, SMOOTHINGS):
        network.config = replace(network.config, linear_share=share, deviation_scale=1.0)
        network.smooth = Smoothing(smoothing)
        scorer = method.scorer(network, kind)
        predicted = [(scorer.predict(video.features, video.segments), video) for video in watched]
        taus.append([judge(prediction.mean, video, kind)[0] for prediction, video in predicted])
        coverages.append([[_coverage(each, scale, video, kind) for scale in SCALES] for each, video in predicted])
    return taus, coverages


def _coverage(prediction: Prediction, scale: float, video: BenchmarkVideo, kind: Kind) -> float:
    return calibration(replace(prediction, std=scale * prediction.std), video, kind).coverage_90


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    # Any share: the path has to be there.
    config = load_config(None, ["network.linear_share=0.5", *arguments.set], kind=dataset.kind)
    folds = load_splits(dataset).splits
    jobs = []
    for seed, split in itertools.product(range(arguments.seeds), range(len(folds))):
        parts = parts_of(folds, split, "tvt")
        jobs.append(([dataset.videos[n] for n in parts.train], [dataset.videos[n] for n in parts.watched], seed))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [
            pool.submit(train_and_score, config, training, watched, dataset.kind, seed)
            for training, watched, seed in jobs
        ]
        results = [future.result() for future in futures]
    taus = np.concatenate([tau for tau, _ in results], axis=1).mean(axis=1)  # (settings,)
    coverages = np.concatenate([coverage for _, coverage in results], axis=1).mean(axis=1)  # (settings, scales)
    grid = list(itertools.product(SHARES, SMOOTHINGS))
    tried = [
        {"linear_share": share, "smoothing": smoothing, "tau": round(float(tau), 4)}
        for (share, smoothing), tau in zip(grid, taus, strict=True)
    ]
    best = int(np.argmax(taus))
    nearest = SCALES[int(np.abs(coverages[best] - 0.9).argmin())]
    write_json(
        arguments.output,
        {
            "command": f"python scripts/search_beyond.py {arguments.data.name} --seeds {arguments.seeds}",
            "objective": "mean τ on validation videos (tvt), last epoch; test videos untouched",
            "config": config.to_dict(),
            "best": {**tried[best], "deviation_scale": nearest},
            "tried": tried,
            "coverage of the best by deviation_scale": dict(
                zip(map(str, SCALES), coverages[best].round(4).tolist(), strict=True)
            ),
        },
    )
    print(f"best of {len(tried)}: {tried[best]}, deviation_scale {nearest}")


if __name__ == "__main__":
    main()
