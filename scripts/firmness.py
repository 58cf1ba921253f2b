"""Does the stability loss make choices firmer, and what does that cost? Asked of validation videos.

    python scripts/firmness.py tvsum.googlenet.h5 -o studies/firmness.tvsum.googlenet.json

Trains VASTSum's recipe on the training part of every split (`tvt`): without the stability loss, and with it at several
scales of its noise σ (its margin is always 2.5 σ) and strengths (its weight times σ, by which it moves scores). The
last epoch is judged on the validation part: τ, how much of a summary stays under noise (Jaccard; noise is relative to
the spread of a video's segment scores there, so that nothing is won by a larger scale), and that spread. Differences
are to the recipe without the loss, paired over videos. Test parts are not touched.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vastsum.data import load_dataset
from vastsum.evaluation.bench.rows import by_video, difference
from vastsum.evaluation.metrics import judge
from vastsum.evaluation.report import Row, VideoResult
from vastsum.evaluation.robustness import robustness
from vastsum.files import write_json
from vastsum.selection import select
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.protocols import Fold, validation_folds
from vastsum.training.vastsum import VastsumMethod

OFF: dict[str, float] = {"loss.stability_weight": 0.0}
NOISES = [0.02, 0.005, 0.002, 0.0005]
STRENGTHS = [0.0005, 0.002]


def settings_tried(noises: list[float], strengths: list[float]) -> list[dict[str, float]]:
    """Without the loss first."""
    return [OFF] + [
        {"loss.stability_noise": noise, "loss.stability_margin": 2.5 * noise, "loss.stability_weight": strength / noise}
        for noise, strength in itertools.product(noises, strengths)
    ]


def trained(config: Config, fold: Fold) -> list[VideoResult]:
    """The watched videos, judged after the last epoch."""
    torch.set_num_threads(1)
    method = VastsumMethod(config)
    trainer = Trainer(method, [Member(fold.training, fold.seed)])
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    scorer = method.scorer(trainer.network(), fold.watched[0].kind)
    results = []
    for video in fold.watched:
        prediction = scorer.predict(video.features, video.segments)
        metrics: dict[str, float | None] = {
            "tau": judge(prediction, video, video.kind)[0],
            "jaccard": robustness(prediction, video.segments).jaccard,
            "spread": float(select(prediction, video.segments).values.std()),
        }
        results.append(VideoResult(video.name, fold.split, fold.seed, metrics))
    return results


def written(settings: dict[str, float], row: Row, without: Row) -> dict[str, Any]:
    told: dict[str, Any] = {"settings": settings}
    for metric in ("tau", "jaccard", "spread"):
        told[metric] = round(float(np.mean(list(by_video(row, metric).values()))), 6)
    for metric in ("tau", "jaccard"):
        compared = difference(row, without, metric)
        assert compared is not None, "both saw the same videos"
        told[f"{metric}_over_none"] = {name: round(value, 4) for name, value in asdict(compared).items()}
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--noise", nargs="+", type=float, default=NOISES)
    parser.add_argument("--strength", nargs="+", type=float, default=STRENGTHS)
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    folds = validation_folds(dataset, arguments.seeds)
    recipe = load_config(None, arguments.set, kind=dataset.kind)
    tried: list[dict[str, Any]] = []
    without: Row | None = None
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        for settings in settings_tried(arguments.noise, arguments.strength):
            config = recipe.with_settings(settings, "firmness")
            row = Row(str(settings), "tvt", "last epoch, on validation videos")
            for future in [pool.submit(trained, config, fold) for fold in folds]:
                row.results += future.result()
            without = without or row
            tried.append(written(settings, row, without))
            print(tried[-1], flush=True)
            study = {"data": arguments.data.name, "seeds": arguments.seeds, "set": arguments.set, "tried": tried}
            write_json(arguments.output, study)


if __name__ == "__main__":
    main()
