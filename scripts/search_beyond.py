"""How much should scores be smoothed, over which frames averaged, and what makes the intervals right? Would a closed
form beside the network help? Asked of validation videos.

    python scripts/search_beyond.py tvsum.googlenet.h5 -o studies/beyond.tvsum.googlenet.json

Trains VASTSum's network on the training part of every split (`tvt`), without looking at its validation or test part,
and scores the validation videos after the last epoch: with every smoothing, with every mean over like frames, and
averaged with shares of a ridge and of a kernel ridge. All that joins only when a video is scored, so one training
answers for all. The scale of the standard deviation (of the probability, where people gave summaries) is the one whose
90 % intervals hold nearest to 90 % of what people said. The settings of the kernel ridge, which is a row of the bench,
are changed one at a time. Every value tried is written down.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from vastsum.data import BenchmarkVideo, load_dataset, load_splits
from vastsum.evaluation.bench.rows import difference
from vastsum.evaluation.calibration import calibration
from vastsum.evaluation.metrics import judge
from vastsum.evaluation.report import Row, VideoResult
from vastsum.files import write_json
from vastsum.scorers.kernel_ridge import KernelRidge, KernelRidgeScorer
from vastsum.scorers.vastsum.means import Means
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.methods import entry_of
from vastsum.training.protocols import parts_of
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import FloatArray, Kind, Prediction

SMOOTHINGS = (0.0, 1.0, 2.0, 3.0, 4.0)
MEANS = [(0.0, 0.0, 0.0), *itertools.product((2.0, 3.0, 4.0, 6.0), (60.0, 120.0, 240.0), (0.0, 1.0, 2.0))]
MIXES = list(itertools.product((False, True), ("ridge", "kernel-ridge"), (0.0, 0.25, 0.5, 0.75, 1.0)))
SCALES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 2.0, 2.5)
SCALED: dict[Kind, str] = {"tvsum": "deviation_scale", "summe": "probability_scale"}
KERNELS: tuple[dict[str, Any], ...] = (
    {}, {"sharpness": 1.0}, {"sharpness": 4.0}, {"video_sharpness": 0.0}, {"video_sharpness": 2.0},
    {"video_sharpness": 18.0}, {"penalty": 3.0}, {"penalty": 30.0}, {"n_landmarks": 512}, {"n_landmarks": 2048},
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    split: int
    seed: int
    training: list[BenchmarkVideo]
    watched: list[BenchmarkVideo]


@dataclass(frozen=True)
class Answers:
    """For each setting, of each watched video: τ, or the coverage at a scale."""

    smoothings: list[list[float]]
    means: list[list[float]]
    mixes: list[list[float]]
    kernels: list[list[float]]
    coverages: list[list[float]]


def train_and_score(config: Config, job: Job, kind: Kind) -> Answers:
    torch.set_num_threads(1)
    plain = config.with_settings({"network.deviation_scale": 1.0, "network.probability_scale": 1.0}, "search")
    method = VastsumMethod(plain)
    trainer = Trainer(method, [Member(tuple(job.training), job.seed)])
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    network = cast(VastsumNetwork, trainer.network())
    watched = job.watched

    def predicted(**changes: float) -> list[Prediction]:
        network.means = Means(replace(config.network, **changes))
        scorer = method.scorer(network, kind)
        return [scorer.predict(video.features, video.segments) for video in watched]

    def taus(curves: Iterable[FloatArray]) -> list[float]:
        return [judge(curve, video, kind)[0] for curve, video in zip(curves, watched, strict=True)]

    def mixed(averaged: bool, name: str, share: float) -> list[FloatArray]:
        """Curves of the network and of a closed form; both are averaged over like frames, or neither is."""
        pairs = zip(networks[averaged], closed[averaged][name], strict=True)
        return [(1 - share) * ours.mean + share * theirs for ours, theirs in pairs]

    recipe = predicted()
    networks = {True: recipe, False: predicted(nonlocal_sharpness=0.0)}
    alone = {name: _closed_form(name, job) for name in ("ridge", "kernel-ridge")}
    means = Means(replace(config.network, smoothing=0.0)).double()
    closed = {False: alone, True: {name: _averaged(curves, watched, means) for name, curves in alone.items()}}
    wanted = [(video.features, video.annotations.mean(axis=0)) for video in job.training]
    kernels = [KernelRidgeScorer(KernelRidge.fit(wanted, **changes), noise=1.0) for changes in KERNELS]
    return Answers(
        smoothings=[taus(each.mean for each in predicted(smoothing=smoothing)) for smoothing in SMOOTHINGS],
        means=[
            taus(
                each.mean
                for each in predicted(
                    nonlocal_sharpness=sharpness, nonlocal_reach=reach or 1.0, nonlocal_smoothing=smoothing
                )
            )
            for sharpness, reach, smoothing in MEANS
        ],
        mixes=[taus(mixed(*mix)) for mix in MIXES],
        kernels=[taus(kernel.predict(video.features, video.segments).mean for video in watched) for kernel in kernels],
        coverages=[
            [_coverage(each, scale, video, kind) for each, video in zip(recipe, watched, strict=True)]
            for scale in SCALES
        ],
    )


def _closed_form(name: str, job: Job) -> list[FloatArray]:
    fit = entry_of(name).fit
    assert fit is not None
    scorer = fit(job.training)
    return [scorer.predict(video.features, video.segments).mean for video in job.watched]


def _averaged(curves: list[FloatArray], videos: list[BenchmarkVideo], means: Means) -> list[FloatArray]:
    found = []
    for curve, video in zip(curves, videos, strict=True):
        scores, features = torch.from_numpy(curve)[None], torch.from_numpy(video.features).double()[None]
        found.append(means(scores, features, torch.ones(1, len(curve), dtype=torch.bool))[0].numpy())
    return found


def _coverage(prediction: Prediction, scale: float, video: BenchmarkVideo, kind: Kind) -> float:
    if kind == "tvsum":
        scaled = replace(prediction, std=scale * prediction.std)
    else:
        scaled = replace(prediction, mean=np.minimum(scale * prediction.mean, 1.0))
    return calibration(scaled, video, kind).coverage_90


def over_the_network(mix: int, jobs: list[Job], results: list[Answers]) -> dict[str, float]:
    """What a mix adds to the network alone, over videos, with its interval."""
    averaged, name, _ = MIXES[mix]
    compared = difference(*(_row(each, jobs, results) for each in (mix, MIXES.index((averaged, name, 0.0)))))
    return {name: round(value, 4) for name, value in asdict(compared).items()}


def _row(mix: int, jobs: list[Job], results: list[Answers]) -> Row:
    row = Row(str(MIXES[mix]), "tvt", "last epoch, on validation videos")
    for job, answers in zip(jobs, results, strict=True):
        pairs = zip(job.watched, answers.mixes[mix], strict=True)
        row.results += [VideoResult(video.name, job.split, job.seed, {"tau": tau}) for video, tau in pairs]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    config = load_config(None, arguments.set, kind=dataset.kind)
    folds = load_splits(dataset).splits
    jobs = []
    for seed, split in itertools.product(range(arguments.seeds), range(len(folds))):
        parts = parts_of(folds, split, "tvt")
        training, watched = ([dataset.videos[n] for n in names] for names in (parts.train, parts.watched))
        jobs.append(Job(split, seed, training, watched))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(train_and_score, config, job, dataset.kind) for job in jobs]
        results = [future.result() for future in futures]

    def mean_of(name: str) -> list[float]:
        """Of each setting, over all videos of all trainings."""
        by_setting = zip(*(getattr(answers, name) for answers in results), strict=True)
        return [round(float(np.mean(np.concatenate(values))), 4) for values in by_setting]

    covered = [
        {SCALED[dataset.kind]: scale, "coverage_90": coverage}
        for scale, coverage in zip(SCALES, mean_of("coverages"), strict=True)
    ]
    nearest = min(covered, key=lambda trial: abs(trial["coverage_90"] - 0.9))
    smoothings = [
        {"smoothing": smoothing, "tau": tau} for smoothing, tau in zip(SMOOTHINGS, mean_of("smoothings"), strict=True)
    ]
    means = [
        {"sharpness": sharpness, "reach": reach, "smoothing": smoothing, "tau": tau}
        for (sharpness, reach, smoothing), tau in zip(MEANS, mean_of("means"), strict=True)
    ]
    mixes = [
        {"averaged": averaged, "with": name, "share": share, "tau": tau}
        | ({"over_the_network": over_the_network(mix, jobs, results)} if share else {})
        for mix, ((averaged, name, share), tau) in enumerate(zip(MIXES, mean_of("mixes"), strict=True))
    ]
    write_json(
        arguments.output,
        {
            "command": f"python scripts/search_beyond.py {arguments.data.name} --seeds {arguments.seeds}",
            "objective": "mean τ on validation videos (tvt), last epoch; test videos untouched",
            "config": config.to_dict(),
            "nearest": nearest,
            "smoothings": smoothings,
            "means": means,
            "mixes": mixes,
            "kernels": [{**changes, "tau": tau} for changes, tau in zip(KERNELS, mean_of("kernels"), strict=True)],
            "covered": covered,
        },
    )
    best = [max(trials, key=lambda trial: cast(float, trial["tau"])) for trials in (smoothings, means)]
    print(f"best smoothing: {best[0]}; best mean: {best[1]}; {nearest}")


if __name__ == "__main__":
    main()
