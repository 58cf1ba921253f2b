"""What share of the score should be a closed form's, how much should be smoothed, and what makes the intervals right?
Asked of validation videos.

    python scripts/search_beyond.py tvsum.googlenet.h5 -o studies/beyond.tvsum.googlenet.json

Trains VASTSum's network on the training part of every split (`tvt`), without looking at its validation or test part,
and scores the validation videos after the last epoch with every path, share and smoothing of the grid: they join only
when a video is scored, so one training answers for all. With the recipe's own, the settings of the kernel are changed
one at a time; so are those of the mean over like frames; and the scale of the standard deviation (of the probability,
where people gave summaries) is the one whose 90 % intervals hold nearest to 90 % of what people said. Every value tried
is written down.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from vastsum.data import BenchmarkVideo, load_dataset
from vastsum.evaluation.calibration import calibration
from vastsum.evaluation.metrics import judge
from vastsum.files import write_json
from vastsum.scorers.kernel_ridge import KernelRidge
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.scorers.vastsum.paths import KernelPath, NonLocalMean, Smoothing
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.protocols import Fold, validation_folds
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import Kind, Prediction

PATHS, SHARES = ("linear", "kernel"), (0.25, 0.5, 0.75, 1.0)
SMOOTHINGS = (0.0, 1.0, 2.0, 3.0, 4.0)
SCALES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 2.5)
SCALED: dict[Kind, str] = {"tvsum": "deviation_scale", "summe": "probability_scale"}
GRID = [("none", 0.0, smoothing) for smoothing in SMOOTHINGS] + list(itertools.product(PATHS, SHARES, SMOOTHINGS))
KERNELS: tuple[dict[str, Any], ...] = (
    {}, {"sharpness": 1.0}, {"sharpness": 4.0}, {"video_sharpness": 0.0}, {"video_sharpness": 2.0},
    {"video_sharpness": 18.0}, {"penalty": 3.0}, {"penalty": 30.0}, {"n_landmarks": 512}, {"n_landmarks": 2048},
)  # fmt: skip
MEANS = [(0.0, 0.0, 0.0), *itertools.product((2.0, 3.0, 4.0, 6.0), (60.0, 120.0, 240.0), (0.0, 1.0, 2.0))]


@dataclass
class Answers:
    """On each watched video: τ of each setting of the grid, of the kernel and of the mean over like frames, and the
    coverage at each scale."""

    grid: list[list[float]]
    kernels: list[list[float]]
    means: list[list[float]]
    coverages: list[list[float]]


def train_and_score(config: Config, fold: Fold) -> Answers:
    torch.set_num_threads(1)
    training, watched, kind = fold.training, fold.watched, fold.watched[0].kind
    # Any shares: the paths have to be there.
    both = config.with_settings({"network.linear_share": 0.5, "network.kernel_share": 0.5}, "search")
    method = VastsumMethod(both)
    trainer = Trainer(method, [Member(training, fold.seed)])
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    network = cast(VastsumNetwork, trainer.network())

    def predicted(linear: float, kernel: float, smoothing: float) -> list[Prediction]:
        shares = replace(network.config, linear_share=linear, kernel_share=kernel)
        network.config = replace(shares, deviation_scale=1.0, probability_scale=1.0)
        network.smooth = Smoothing(smoothing)
        scorer = method.scorer(network, kind)
        return [scorer.predict(video.features, video.segments) for video in watched]

    def taus(predictions: list[Prediction]) -> list[float]:
        return [judge(each, video, kind)[0] for each, video in zip(predictions, watched, strict=True)]

    ours = (config.network.linear_share, config.network.kernel_share, config.network.smoothing)
    grid = [
        taus(predicted(share * (path == "linear"), share * (path == "kernel"), smoothing))
        for path, share, smoothing in GRID
    ]
    recipe = predicted(*ours)
    coverages = [
        [_coverage(each, scale, video, kind) for each, video in zip(recipe, watched, strict=True)] for scale in SCALES
    ]
    means, own = [], network.nonlocal_mean
    for sharpness, reach, smoothing in MEANS:
        network.nonlocal_mean = NonLocalMean(sharpness, reach, smoothing) if sharpness else None
        means.append(taus(predicted(*ours)))
    network.nonlocal_mean = own
    kernels = []
    if config.network.kernel_share:
        wanted = [(video.features, method.wanted(video.annotations, kind)) for video in training]
        for changes in KERNELS:
            fitted = KernelRidge.fit(wanted, **{"n_landmarks": config.network.kernel_landmarks} | changes)
            network.kernel = KernelPath(
                training[0].features.shape[1], len(fitted.weights), config.network.kernel_smoothing
            )
            network.kernel.take(fitted)
            kernels.append(taus(predicted(*ours)))
    return Answers(grid, kernels, means, coverages)


def _coverage(prediction: Prediction, scale: float, video: BenchmarkVideo, kind: Kind) -> float:
    if kind == "tvsum":
        scaled = replace(prediction, std=scale * prediction.std)
    else:
        scaled = replace(prediction, mean=np.minimum(scale * prediction.mean, 1.0))
    return calibration(scaled, video, kind).coverage_90


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    config = load_config(None, arguments.set, kind=dataset.kind)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(train_and_score, config, fold) for fold in validation_folds(dataset, arguments.seeds)]
        results = [future.result() for future in futures]

    def means(name: str) -> list[float]:
        """Of each setting, over all videos of all trainings."""
        by_setting = zip(*(getattr(answers, name) for answers in results), strict=True)
        return [round(float(np.mean(np.concatenate(taus))), 4) for taus in by_setting]

    tried = [
        {"path": path, "share": share, "smoothing": smoothing, "tau": tau}
        for (path, share, smoothing), tau in zip(GRID, means("grid"), strict=True)
    ]
    best = max(tried, key=lambda trial: trial["tau"])
    covered = [
        {SCALED[dataset.kind]: scale, "coverage_90": coverage}
        for scale, coverage in zip(SCALES, means("coverages"), strict=True)
    ]
    nearest = min(covered, key=lambda trial: abs(trial["coverage_90"] - 0.9))
    write_json(
        arguments.output,
        {
            "command": f"python scripts/search_beyond.py {arguments.data.name} --seeds {arguments.seeds}",
            "objective": "mean τ on validation videos (tvt), last epoch; test videos untouched",
            "config": config.to_dict(),
            "best": best,
            "nearest": nearest,
            "tried": tried,
            "means": [
                {"sharpness": sharpness, "reach": reach, "smoothing": smoothing, "tau": tau}
                for (sharpness, reach, smoothing), tau in zip(MEANS, means("means"), strict=True)
            ],
            "kernels": [{**changes, "tau": tau} for changes, tau in zip(KERNELS, means("kernels"), strict=False)],
            "covered": covered,
        },
    )
    print(f"best of {len(tried)}: {best}; {nearest}")


if __name__ == "__main__":
    main()
