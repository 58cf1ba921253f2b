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
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import torch

import vastsum.assets
from vastsum.data import BenchmarkVideo, Dataset, load_dataset, load_splits
from vastsum.evaluation.calibration import calibration
from vastsum.evaluation.metrics import agreement
from vastsum.evaluation.robustness import robustness
from vastsum.files import write_json
from vastsum.scorers.ridge import RidgeScorer
from vastsum.scorers.vastsum.scorer import VastsumScorer
from vastsum.training import Config, load_config
from vastsum.training.export import export_onnx
from vastsum.training.loop import Member, Trainer
from vastsum.training.vastsum import VastsumMethod

SETTINGS = [
    "network.feature_width=1280", "network.offset=0.5", "network.temperature=0.15",
    "network.input_dropout=0.9",
]  # fmt: skip
N_FOLDS = 5
METRICS = ("tau", "rho", "f1", "coverage_90", "std_correlation", "jaccard")


def train(config: Config, videos: list[BenchmarkVideo], seed: int = 0) -> VastsumScorer:
    torch.set_num_threads(1)
    method = VastsumMethod(config)
    trainer = Trainer(method, [Member(tuple(videos), seed)])
    for epoch in range(config.training.epochs):
        trainer.train_epoch(epoch)
    return VastsumScorer(trainer.network(), "gaussian")


def fold(arguments: tuple[Config, list[Path], int]) -> list[dict[str, object]]:
    """Train without one fold of both datasets; every metric of the videos left out."""
    config, paths, index = arguments
    datasets = [load_dataset(path) for path in paths]
    parts = [(dataset, load_splits(dataset).splits[index]) for dataset in datasets]
    ours = train(config, [dataset.videos[name] for dataset, split in parts for name in split.train])
    rows: list[dict[str, object]] = []
    for dataset, split in parts:
        training = [dataset.videos[name] for name in split.train]
        ridge = RidgeScorer.fit((video.features, video.annotations) for video in training)
        for name in split.test:
            for method, scorer in (("vastsum", ours), ("ridge, one dataset", ridge)):
                rows.append({"method": method, "fold": index, **measure(scorer, dataset, name)})
    return rows


def measure(scorer: VastsumScorer | RidgeScorer, dataset: Dataset, name: str) -> dict[str, object]:
    video = dataset.videos[name]
    prediction = scorer.predict(video.features, video.segments)
    agreed = agreement(prediction, video, dataset.kind)
    # The deployed model says what a person would score, so its intervals can be held against TVSum's people only.
    checked = vars(calibration(prediction, video, "tvsum")) if dataset.kind == "tvsum" else {}
    numbers = vars(agreed) | checked | vars(robustness(prediction, video.segments))
    return {"dataset": dataset.kind, "video": name, **{metric: numbers.get(metric) for metric in METRICS}}


def cross_validate(config: Config, paths: list[Path]) -> dict[str, dict[str, dict[str, float]]]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = [row for found in pool.map(fold, [(config, paths, index) for index in range(N_FOLDS)]) for row in found]
    table: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        table.setdefault(str(row["dataset"]), {}).setdefault(str(row["method"]), {})
    for dataset, methods in table.items():
        for method in methods:
            for metric in METRICS:
                own = [
                    row
                    for row in rows
                    if (row["dataset"], row["method"]) == (dataset, method) and row[metric] is not None
                ]
                folds = (
                    [np.mean([row[metric] for row in own if row["fold"] == k]) for k in range(N_FOLDS)] if own else []
                )
                if folds:
                    methods[method][metric] = round(float(np.mean(folds)), 4)
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path, help="benchmark files with features of the default backbone")
    parser.add_argument("-o", "--output", type=Path, default=Path(str(vastsum.assets.FOLDER)))
    parser.add_argument(
        "--set", action="append", default=[], help="section.key=value, on top of this script's settings"
    )
    parser.add_argument("--only-validate", action="store_true", help="print the cross-validated numbers and stop")
    arguments = parser.parse_args()

    config = load_config(None, [*SETTINGS, *arguments.set])
    table = cross_validate(config, arguments.data)
    print(json.dumps(table, indent=1))
    if arguments.only_validate:
        return
    videos = [video for path in arguments.data for video in load_dataset(path).videos.values()]
    scorer = train(config, videos)
    names = [path.name for path in arguments.data]
    card = {
        "name": "vastsum",
        "licence": "MIT",
        "backbone": "efficientnet_lite0",
        "trained_on": names,
        "n_videos": len(videos),
        "command": f"python scripts/train_default.py {' '.join(names)}",
        "config": config.to_dict(),
        "cross_validation": {"protocol": "last: five standard splits of both files, nothing chosen", "table": table},
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
