"""Search for VASTSum's sizes, losses and recipe on validation videos; every trial is written down.

    python scripts/search.py tvsum.googlenet.h5 -o studies/tvsum.googlenet.jsonl --trials 40 --device cuda

A trial trains all five splits on their training parts (`tvt`) as one population and is worth the mean τ of its last
epochs on the validation parts: the best epoch would reward settings that jump about. Test parts are not touched.
A new search begins with the recipe as it stands; then Optuna's sampler (TPE) proposes. The log has a line a trial, as
they end, and is all that the search knows: run again, it goes on from there, and several runs (each with a
--sampler-seed) may share it.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from vastsum.data import Dataset, load_dataset
from vastsum.evaluation.metrics import judge
from vastsum.training import load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.population import Assignment, groups
from vastsum.training.protocols import Fold, validation_folds
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import FloatArray, Prediction

N_LATE = 5  # last epochs whose mean counts

Distribution = optuna.distributions.BaseDistribution
_Float, _Choice = optuna.distributions.FloatDistribution, optuna.distributions.CategoricalDistribution
SPACE: dict[str, Distribution] = {
    "network.width": _Choice([64, 128, 256]),
    "network.layers": _Choice([0, 1, 2, 3, 4]),
    "network.kernel_size": _Choice([5, 9, 15]),
    "network.dropout": _Float(0.1, 0.7),
    "network.input_dropout": _Float(0.3, 0.95),
    "network.linear_share": _Float(0.0, 1.0),
    "network.smoothing": _Choice([0.0, 1.0, 2.0, 3.0, 4.0]),
    "loss.rank_weight": _Float(0.1, 3.0, log=True),
    "loss.rank_margin": _Float(0.02, 0.5, log=True),
    "loss.stability_weight": _Choice([0.0, 0.01, 0.05]),
    "loss.kl_weight": _Float(1e-4, 1e-1, log=True),
    "training.epochs": _Choice([15, 30, 40]),
    "training.learning_rate": _Float(1e-4, 3e-3, log=True),
    "training.weight_decay": _Float(1e-4, 1e-1, log=True),
    "training.weight_average": _Choice([0.0, 0.98]),
}


def value_of(settings: dict[str, Any], dataset: Dataset, folds: list[Fold], device: str) -> float:
    method = VastsumMethod(load_config(kind=dataset.kind).with_settings(settings, "trial"))
    assignments = [Assignment(Member(fold.training, fold.seed), fold.watched) for fold in folds]
    late: list[float] = []
    for together in groups(method, assignments, len(assignments) if device != "cpu" else 1):
        chosen = [assignments[index] for index in together]
        trainer = Trainer(method, [assignment.member for assignment in chosen], device)
        for epoch in range(method.recipe.epochs):
            trainer.train_epoch(epoch)
            if epoch >= method.recipe.epochs - N_LATE:
                late += _taus(trainer.importance([each.watched for each in chosen]), chosen, dataset)
    return float(np.mean(late))


def _taus(scores: list[list[FloatArray]], assignments: list[Assignment], dataset: Dataset) -> list[float]:
    taus = []
    for own, each in zip(scores, assignments, strict=True):
        predicted = zip(map(Prediction.certain, own), each.watched, strict=True)
        taus.append(float(np.mean([judge(prediction, video, dataset.kind)[0] for prediction, video in predicted])))
    return taus


def proposed(earlier: list[dict[str, Any]], space: dict[str, Distribution], seed: int) -> dict[str, Any]:
    """What the sampler would try next, from what is known."""
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    for known in earlier:
        study.add_trial(optuna.trial.create_trial(params=known["settings"], distributions=space, value=known["tau"]))
    return study.ask(space).params


def trials_of(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def recipe_of(dataset: Dataset, space: dict[str, Distribution]) -> dict[str, Any]:
    sections = load_config(kind=dataset.kind).to_dict()
    return {name: sections[name.split(".")[0]][name.split(".")[1]] for name in space}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help="the log, a line of JSON a trial")
    parser.add_argument("--trials", type=int, default=20, help="in this run")
    parser.add_argument("--seeds", type=int, default=1, help="trainings of every split in a trial")
    parser.add_argument("--sampler-seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--set", action="append", default=[], help="section.key=value, held in every trial")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    folds = validation_folds(dataset, arguments.seeds)
    held = dict(_assignment(text) for text in arguments.set)
    space = {name: values for name, values in SPACE.items() if name not in held}
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    for number in range(arguments.trials):
        earlier = trials_of(arguments.output)
        is_first = not earlier and number == arguments.sampler_seed == 0
        seed = 1000 * arguments.sampler_seed + len(earlier)
        settings = recipe_of(dataset, space) if is_first else proposed(earlier, space, seed)
        started = time.perf_counter()
        tau = value_of({**settings, **held}, dataset, folds, arguments.device)
        row = {
            "tau": round(tau, 5),
            "seeds": arguments.seeds,
            "held": held,
            "settings": settings,
            "seconds": round(time.perf_counter() - started, 1),
        }
        with arguments.output.open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")
        known = [trial["tau"] for trial in trials_of(arguments.output)]
        print(f"{len(known)} trials: {tau:.4f}, best {max(known):.4f}", flush=True)


def _assignment(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    return name, json.loads(value)


if __name__ == "__main__":
    main()
