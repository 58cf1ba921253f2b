"""Train the scorer that ships with vastsum, measure it by cross-validation, and export it.

    python scripts/train_default.py tvsum.efficientnet_lite0.h5 summe.efficientnet_lite0.h5

One network learns from both kinds of annotation. Its output μ is importance on a scale of 0 to 1. TVSum's scores are
Gaussian around μ. SumMe's binary summaries are Bernoulli with p = σ((μ − offset) / T_s): whoever puts a frame into a
summary finds it more important than a threshold. So both say something of one quantity, in one unit, and its variance
is trained by TVSum's disagreement; with a head for each dataset there would be two scales and no way to choose
between them for a video that is neither. Every video counts once, whichever file it comes from.

Writes the model, its card (.json) and its checksum into the assets folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import cast

import numpy as np
import torch

import vastsum.assets
from vastsum.bench.data import BenchmarkVideo, Dataset, Split, load_dataset, load_splits
from vastsum.bench.export import export_onnx
from vastsum.bench.measures import agreement, calibration, robustness
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.ridge import RidgeScorer
from vastsum.bench.methods.vastsum import Config, VastsumMethod, VastsumNetwork, VastsumScorer
from vastsum.bench.training import Member, Trainer, groups
from vastsum.files import write_json
from vastsum.scoring.base import Scorer

SETTINGS = [
    "network.offset=0.5", "network.temperature=0.15", "network.width=128",
    # Of two kinds of footage together, the linear path ranks both better than the network does: it is most of the score
    # here, and studies/linear_path.py chose its settings. The network gives the deviations.
    "network.linear_share=0.9", "network.channel_weight=0.6", "network.linear_penalty=0.003",
    "network.linear_directions=0",
    "network.linear_smoothing=1.5",  # in picks; scores are as good (cross-validated), curves are sharper
    "network.deviation_scale=1",
]  # fmt: skip
N_FOLDS, N_SEEDS = 5, 3
METRICS = ("score_tau", "caught", "tau", "rho", "f1", "coverage_90", "std_correlation", "jaccard")
Table = dict[str, dict[str, dict[str, float]]]
"""{what is judged: {method: {metric: mean over folds and seeds}}}"""


def train_all(
    config: Config, trainings: list[list[BenchmarkVideo]], seeds: list[int], device: str
) -> list[VastsumScorer]:
    """One scorer for each list of videos and its seed: stacks of trainings, on CPU two stacks at a time."""
    members = [Member(tuple(videos), seed) for videos, seed in zip(trainings, seeds, strict=True)]
    method = VastsumMethod(config)
    at_once = method.stack if device == "cpu" else len(members)
    stacks = list(groups(method, members, at_once))
    with ProcessPoolExecutor(2 if device == "cpu" else 1, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [(stack, pool.submit(train, config, [members[n] for n in stack], device)) for stack in stacks]
        scorers = {n: scorer for stack, future in waiting for n, scorer in zip(stack, future.result(), strict=True)}
    return [scorers[n] for n in range(len(members))]


def train(config: Config, members: list[Member], device: str) -> list[VastsumScorer]:
    torch.set_num_threads(1)
    trainer = Trainer(VastsumMethod(config), members, device)
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    print(f"trained {len(members)} on {len(members[0].videos)} videos each", flush=True)
    networks = [cast(VastsumNetwork, trainer.network(n)).cpu() for n in range(len(members))]
    return [VastsumScorer(network, "gaussian") for network in networks]


def cross_validate(config: Config, datasets: list[Dataset], device: str) -> Table:
    """Train without one fold of both datasets, for every fold and seed; the means over the videos left out."""
    splits = [load_splits(dataset).splits for dataset in datasets]
    jobs = [(fold, seed) for seed in range(N_SEEDS) for fold in range(N_FOLDS)]
    trainings = [
        [dataset.videos[name] for dataset, own in zip(datasets, splits, strict=True) for name in own[fold].train]
        for fold, _ in jobs
    ]
    scorers = train_all(config, trainings, [seed for _, seed in jobs], device)
    table: Table = {}
    for dataset, own in zip(datasets, splits, strict=True):
        ours = [fold_means(scorer, dataset, own[fold].test) for scorer, (fold, _) in zip(scorers, jobs, strict=True)]
        ridges = [ridge(dataset, split) for split in own]
        theirs = [fold_means(scorer, dataset, split.test) for scorer, split in zip(ridges, own, strict=True)]
        table[dataset.kind] = {"vastsum": means(ours), "ridge with channels, one dataset": means(theirs)}
        by_seed = [
            np.mean([row["score_tau"] for row in ours[first : first + N_FOLDS]])
            for first in range(0, len(ours), N_FOLDS)
        ]
        table[dataset.kind]["vastsum"]["score_tau_std_over_seeds"] = round(float(np.std(by_seed, ddof=1)), 4)
    return table


def transfer(config: Config, datasets: list[Dataset], device: str) -> Table:
    """Train on all videos of one file, judge on all of the other."""
    table: Table = {}
    for judged in datasets:
        others = [video for dataset in datasets if dataset is not judged for video in dataset.videos.values()]
        scorers = train_all(config, [others] * N_SEEDS, list(range(N_SEEDS)), device)
        rows = [fold_means(scorer, judged, list(judged.videos)) for scorer in scorers]
        table[f"{judged.kind}, trained on the other"] = {"vastsum": means(rows)}
    return table


def ridge(dataset: Dataset, split: Split) -> RidgeScorer:
    videos = [dataset.videos[name] for name in split.train]
    return RidgeScorer.fit((video.features, video.annotations) for video in videos)


def fold_means(scorer: Scorer, dataset: Dataset, names: Sequence[str]) -> dict[str, float]:
    rows = [measure(scorer, dataset, name) for name in names]
    return {metric: float(np.mean([row[metric] for row in rows])) for metric in METRICS if metric in rows[0]}


def means(folds: list[dict[str, float]]) -> dict[str, float]:
    return {metric: round(float(np.mean([fold[metric] for fold in folds])), 4) for metric in folds[0]}


def measure(scorer: Scorer, dataset: Dataset, name: str) -> dict[str, float]:
    video = dataset.videos[name]
    prediction = scorer.predict(video.features, video.segments)
    agreed = agreement(prediction, video, dataset.kind)
    # The deployed model says what a person would score, so its intervals can be held against TVSum's people only.
    checked = vars(calibration(prediction, video, "tvsum")) if dataset.kind == "tvsum" else {}
    numbers = vars(agreed) | checked | vars(robustness(prediction, video.segments))
    return {metric: numbers[metric] for metric in METRICS if numbers.get(metric) is not None}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path, help="benchmark files with features of the default backbone")
    parser.add_argument("-o", "--output", type=Path, default=Path(str(vastsum.assets.FOLDER)))
    parser.add_argument(
        "--set", action="append", default=[], help="section.key=value, on top of this script's settings"
    )
    parser.add_argument("--only-validate", action="store_true", help="print the cross-validated numbers and stop")
    parser.add_argument(
        "--without", action="append", default=[], help="leave out a video, such as summe/video_12, and do not validate"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    arguments = parser.parse_args()

    config = load_config(None, [*SETTINGS, *arguments.set])
    datasets = [load_dataset(path).relative for path in arguments.data]
    table: Table = {}
    if not arguments.without:
        table = cross_validate(config, datasets, arguments.device) | transfer(config, datasets, arguments.device)
        print(json.dumps(table, indent=1))
    if arguments.only_validate:
        return
    named = {f"{dataset.kind}/{name}": video for dataset in datasets for name, video in dataset.videos.items()}
    videos = [video for name, video in named.items() if name not in arguments.without]
    (scorer,) = train_all(config, [videos], [0], arguments.device)
    names = [path.name for path in arguments.data]
    card = {
        "name": "vastsum",
        "licence": "MIT",
        "backbone": "efficientnet_lite0",
        "trained_on": names,
        "n_videos": len(videos),
        "command": f"python scripts/train_default.py {' '.join(names)} --device {arguments.device}",
        "config": config.to_dict(),
        "cross_validation": {
            "protocol": f"last epoch; five standard splits of both files, and transfer between them; {N_SEEDS} seeds",
            "table": table,
        },
    }
    target = arguments.output / "vastsum.onnx"
    export_onnx(scorer.network, "gaussian", target, card)
    write_json(arguments.output / "vastsum.json", card)
    checksums = arguments.output / vastsum.assets.CHECKSUMS
    known = json.loads(checksums.read_text()) if checksums.exists() else {}
    write_json(checksums, known | {target.name: hashlib.sha256(target.read_bytes()).hexdigest()})
    print(f"wrote {target} ({target.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
