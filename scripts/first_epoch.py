"""From which epoch on may one be chosen? Asked of validation videos.

    python scripts/first_epoch.py tvsum.googlenet.h5 -o studies/epochs.tvsum.googlenet.json

Trains VASTSum on the training part of every split (`tvt`) and judges its validation part after every epoch: τ, how much
of what people said the 90 % intervals hold, and how far the predicted deviation follows theirs. An epoch chosen on
videos looks better there than it is. So one half of the validation videos chooses, among the epochs from the first one
that may be, and the other half says what came of it: mean over many halvings and all trainings. Test parts are not
touched.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

from vastsum.data import load_dataset
from vastsum.evaluation.calibration import calibration
from vastsum.evaluation.metrics import judge
from vastsum.files import write_json
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.protocols import Fold, validation_folds
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import FloatArray

MEASURES = ("tau", "coverage_90", "std_correlation")
EVERY = 5  # epochs
N_HALVINGS = 200


def watch(config: Config, fold: Fold) -> FloatArray:
    """(epochs, videos, measures), after every epoch on every watched video."""
    torch.set_num_threads(1)
    method, watched, kind = VastsumMethod(config), fold.watched, fold.watched[0].kind
    trainer = Trainer(method, [Member(fold.training, fold.seed)])
    after = []
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
        scorer = method.scorer(trainer.network(), kind)
        predictions = [scorer.predict(video.features, video.segments) for video in watched]
        checks = [calibration(each, video, kind) for each, video in zip(predictions, watched, strict=True)]
        taus = [judge(each, video, kind)[0] for each, video in zip(predictions, watched, strict=True)]
        after.append([(tau, c.coverage_90, c.std_correlation) for tau, c in zip(taus, checks, strict=True)])
    return np.array(after)


def chosen_from(first: int, watched: FloatArray, rng: np.random.Generator) -> tuple[float, FloatArray]:
    """Of one training: the mean epoch that halves of the videos choose, and the measures on the others."""
    n_videos = watched.shape[1]
    epochs, measured = [], []
    for _ in range(N_HALVINGS):
        order = rng.permutation(n_videos)
        choosing, telling = order[: n_videos // 2], order[n_videos // 2 :]
        best = first - 1 + int(watched[first - 1 :, choosing, 0].mean(axis=1).argmax())
        epochs.append(best + 1)
        measured.append(watched[best, telling].mean(axis=0))
    return float(np.mean(epochs)), np.mean(measured, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    config = load_config(None, arguments.set, kind=dataset.kind)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(watch, config, fold) for fold in validation_folds(dataset, arguments.seeds)]
        trainings = []
        for n, future in enumerate(futures, start=1):
            trainings.append(future.result())
            print(f"{n} of {len(futures)} trained", flush=True)

    tried = []
    for first in (*range(1, config.training.epochs, EVERY), config.training.epochs):  # from the last, nothing is chosen
        rng = np.random.default_rng(0)  # the same halves for each
        epochs, measured = zip(*(chosen_from(first, each, rng) for each in trainings), strict=True)
        by_seed = np.array([each[0] for each in measured]).reshape(arguments.seeds, -1).mean(axis=1)
        means = dict(zip(MEASURES, np.mean(measured, axis=0).round(4).tolist(), strict=True))
        spread = round(float(by_seed.std(ddof=1)), 4) if arguments.seeds > 1 else None
        tried.append({"first": first, "epoch": round(float(np.mean(epochs)), 1), **means, "tau_std_over_seeds": spread})
        print(tried[-1])
    settings = {"data": arguments.data.name, "seeds": arguments.seeds, "set": arguments.set, "halvings": N_HALVINGS}
    every = np.mean([each.mean(axis=1) for each in trainings], axis=0).round(4).tolist()  # (epochs, measures)
    write_json(arguments.output, settings | {"tried": tried, "after_every_epoch": every})


if __name__ == "__main__":
    main()
