"""What does it buy to choose after every step, where 5fcv chooses after every epoch?

    python studies/every_step.py summe.googlenet.h5 --method summdiff -o studies/steps.summe.summdiff.json

Trains a method on the training part of every split and judges the test videos after every optimiser step. Reports τ of
the last step, the mean over all, and the best one, after an epoch and after any step; and what random scores reach by
either, new ones in place of every step. Run again, it goes on after the trainings that its file holds.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vastsum.bench.data import BenchmarkVideo, Dataset, load_dataset, load_splits
from vastsum.bench.measures import judge
from vastsum.bench.methods.registry import METHODS
from vastsum.bench.training import Member, Trainer
from vastsum.errors import ConfigError, VastsumError
from vastsum.files import write_text
from vastsum.types import FloatArray, Prediction


def watch(dataset: Dataset, split: int, name: str, seed: int, n_epochs: int | None) -> list[list[float]]:
    """τ on the test videos after every step of every epoch."""
    torch.set_num_threads(1)
    learn = METHODS[name].learn
    assert learn is not None
    method = learn(dataset.kind)
    method = method.with_recipe(epochs=n_epochs or method.recipe.epochs)
    parts = load_splits(dataset).splits[split]
    training, test = (tuple(dataset.videos[video] for video in names) for names in (parts.train, parts.test))
    after: list[list[float]] = []

    class Watched(Trainer):
        def _update_average(self) -> None:  # the end of a step
            super()._update_average()
            after[-1].append(mean_tau(self.importance([test])[0], test))

    trainer = Watched(method, [Member(training, seed)])
    for epoch in range(method.recipe.epochs):
        after.append([])
        trainer.train_epoch(epoch)
    return after


def mean_tau(scores: list[FloatArray], videos: tuple[BenchmarkVideo, ...]) -> float:
    predicted = zip(map(Prediction.certain, scores), videos, strict=True)
    return float(np.mean([judge(each, video, video.kind)[0] for each, video in predicted]))


def random_like(dataset: Dataset, split: int, seed: int, like: FloatArray) -> FloatArray:
    """τ of as many random scores."""
    rng = np.random.default_rng([seed, split])
    test = tuple(dataset.videos[video] for video in load_splits(dataset).splits[split].test)
    drawn = [mean_tau([rng.random(len(video.segments.picks)) for video in test], test) for _ in range(like.size)]
    return np.array(drawn).reshape(like.shape)


def summary(trainings: list[FloatArray]) -> dict[str, float]:
    """Means over trainings, of τ (epochs, steps) each."""
    found = {
        "last": [each[-1, -1] for each in trainings],
        "mean of all": [each.mean() for each in trainings],
        "best epoch": [each[:, -1].max() for each in trainings],
        "best step": [each.max() for each in trainings],
    }
    return {name: round(float(np.mean(values)), 4) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--method", required=True, choices=[name for name, entry in METHODS.items() if entry.learn])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--max-epochs", type=int)
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    settings = {"data": arguments.data.name, "method": arguments.method, "max_epochs": arguments.max_epochs}
    done = trained(arguments.output, settings)
    asked = [(split, seed) for seed in range(arguments.seeds) for split in range(len(load_splits(dataset).splits))]
    waiting = [each for each in asked if name_of(*each) not in done]
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {
            pool.submit(watch, dataset, split, arguments.method, seed, arguments.max_epochs): name_of(split, seed)
            for split, seed in waiting
        }
        for n, future in enumerate(as_completed(futures), start=1):
            done[futures[future]] = np.round(future.result(), 5).tolist()
            write_text(arguments.output, json.dumps(settings | {"trainings": done}))
            print(f"{n} of {len(waiting)} trained", flush=True)

    trainings = [np.array(done[name_of(*each)]) for each in asked]
    drawn = [random_like(dataset, *each, like) for each, like in zip(asked, trainings, strict=True)]
    found = {arguments.method: summary(trainings), "random": summary(drawn)}
    write_text(arguments.output, json.dumps(settings | {"found": found, "trainings": done}) + "\n")
    steps = sorted({each.shape for each in trainings})
    print(f"epochs and steps of each: {', '.join(f'{epochs} × {own}' for epochs, own in steps)}")
    for name, taus in found.items():
        print(name, taus)


def trained(path: Path, settings: dict[str, Any]) -> dict[str, list[list[float]]]:
    """The trainings that the file holds already."""
    if not path.exists():
        return {}
    content = json.loads(path.read_text())
    if {name: content.get(name) for name in settings} != settings:
        raise ConfigError(str(path), "holds another study", "give another --output")
    held: dict[str, list[list[float]]] = content["trainings"]
    return held


def name_of(split: int, seed: int) -> str:
    return f"split{split}.seed{seed}"


if __name__ == "__main__":
    try:
        main()
    except VastsumError as error:
        raise SystemExit(f"error: {error}") from None
