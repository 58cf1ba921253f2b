"""How likely people would include a segment: fit the constants of selection/chance.py, and check them.

    python studies/chance.py tvsum.efficientnet_lite0.h5 summe.efficientnet_lite0.h5 -o docs/images/chance.png

The shipped scorer's recipe is trained without one fold of both files, five times, and on each file alone. Its scores of
the videos left out say how segments (none longer than 4 s, as the program cuts them) stand in their videos. A segment
counts as included if the mean of people, decoded to the same length, chooses it. A logistic regression on standing,
length and budget is fitted on four folds and judged on the fifth; what ships is fitted on all. Twenty minutes on a CPU.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from vastsum.bench.data import BenchmarkVideo, Dataset, load_dataset, load_splits
from vastsum.export.drawing import CURVE, FAINT, INK, QUIET, Canvas
from vastsum.scoring.base import Scorer
from vastsum.segmentation import LONGEST_S
from vastsum.segmentation.timeline import split_long
from vastsum.selection import knapsack, segment_values
from vastsum.selection.chance import BASE, OF_BUDGET, OF_LENGTH, OF_STANDING, chances
from vastsum.selection.decode import DEFAULT_DECODER, standing
from vastsum.types import FloatArray, Segments

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from train_default import SETTINGS, train_all

from vastsum.bench.methods.recipes import load_config

BUDGETS = (0.05, 0.1, 0.15, 0.3)
N_BINS, RIDGE, STEPS = 10, 1e-3, 30
ONE_UNIT = (0.5, 0.15)  # offset and temperature that bring SumMe's shares and TVSum's scores to one unit


def as_cut(video: BenchmarkVideo) -> Segments:
    segments = video.segments
    starts = split_long(segments.bounds[:, 0], segments.n_frames, int(LONGEST_S * segments.fps))
    ends = np.append(starts[1:], segments.n_frames) - 1
    return replace(segments, bounds=np.stack([starts, ends], axis=1))


def examples(scorer: Scorer, video: BenchmarkVideo) -> FloatArray:
    """A row (included, standing, length over the mean, budget) for each segment and budget."""
    segments = as_cut(video)
    scores = scorer.predict(video.features, segments).mean
    stands = standing(segment_values(scores, segments), scores)
    values = segment_values(video.annotations.mean(axis=0), segments, DEFAULT_DECODER)
    lengths = segments.lengths / segments.lengths.mean()
    rows = [
        np.column_stack(
            [
                knapsack(values, segments.lengths, int(budget * segments.n_frames)),
                stands,
                lengths,
                np.full(len(segments), budget),
            ]
        )
        for budget in BUDGETS
    ]
    return np.concatenate(rows)


def off_by(scorer: Scorer, video: BenchmarkVideo, kind: str) -> tuple[float, float]:
    """Mean squares: of what the mean of people differs by from the scores, and of one person's deviation."""
    prediction = scorer.predict(video.features, video.segments)
    people = video.annotations.mean(axis=0)
    if kind == "summe":
        share = np.clip(people, 0.05, 0.95)
        people = ONE_UNIT[0] + ONE_UNIT[1] * np.log(share / (1 - share))
    difference = (people - people.mean()) - (prediction.mean - prediction.mean.mean())
    return float(np.mean(difference**2)), float(np.mean(prediction.std**2))


def inputs(rows: FloatArray) -> FloatArray:
    _, stands, lengths, budget = rows.T
    return np.column_stack([np.ones(len(rows)), stands, np.log(lengths), np.log(budget / (1 - budget))])


def fit(parts: list[FloatArray]) -> FloatArray:
    """Logistic regression by Newton's method; every part (a dataset) has the same weight."""
    rows = np.concatenate(parts)
    weight = np.concatenate([np.full(len(part), len(rows) / len(parts) / len(part)) for part in parts])
    x, y, beta = inputs(rows), rows[:, 0], np.zeros(4)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ beta))
        gradient = x.T @ (weight * (p - y)) + RIDGE * beta
        hessian = (x * (weight * p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(4)
        beta -= np.linalg.solve(hessian, gradient)
    return beta


def show(title: str, p: FloatArray, rows: FloatArray) -> None:
    for budget in BUDGETS:
        here = rows[:, 3] == budget
        y, bins = rows[here, 0], np.minimum((p[here] * N_BINS).astype(int), N_BINS - 1)
        error = sum(abs((p[here] - y)[bins == n].sum()) for n in range(N_BINS)) / len(y)
        brier, base = np.mean((p[here] - y) ** 2), y.mean() * (1 - y.mean())
        print(f"| {title} | {budget:.0%} | {error:.3f} | {brier:.4f} | {base:.4f} |", flush=True)


def draw(curves: dict[str, tuple[FloatArray, FloatArray]], destination: Path) -> None:
    """Reliability: how often people include what is said to have such a chance."""
    side, margin = 420, 70
    canvas = Canvas(len(curves) * (side + margin) + margin, side + 2 * margin)
    for place, (title, (p, y)) in enumerate(curves.items()):
        left, bottom = margin + place * (side + margin), margin + side
        for share in (0, 0.25, 0.5, 0.75, 1):
            canvas.line([(left + share * side, bottom), (left + share * side, margin)], FAINT)
            canvas.line([(left, bottom - share * side), (left + side, bottom - share * side)], FAINT)
            canvas.text((left + share * side, bottom + 8), f"{share:.0%}", 14, QUIET, anchor="ma")
            canvas.text((left - 8, bottom - share * side), f"{share:.0%}", 14, QUIET, anchor="rm")
        canvas.line([(left, bottom), (left + side, margin)], QUIET)
        bins = np.minimum((p * N_BINS).astype(int), N_BINS - 1)
        points = [(p[bins == n].mean(), y[bins == n].mean()) for n in range(N_BINS) if (bins == n).sum() >= 20]
        canvas.line([(left + a * side, bottom - b * side) for a, b in points], CURVE, 3)
        canvas.text((left, margin - 34), title, 18, INK)
    canvas.text((margin, side + margin + 40), "across: the chance we give; up: how often people include it", 15, QUIET)
    canvas.save(destination)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs=2, type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    datasets = [load_dataset(path).relative for path in arguments.data]
    folds = [load_splits(data).splits for data in datasets]
    config = load_config(None, SETTINGS)

    def videos(data: Dataset, names: list[str]) -> list[BenchmarkVideo]:
        return [data.videos[name] for name in names]

    n_folds = range(len(folds[0]))
    trainings = [
        [v for data, own in zip(datasets, folds, strict=True) for v in videos(data, own[n].train)] for n in n_folds
    ]
    scorers = train_all(config, trainings, [0] * len(trainings), "cpu")
    tested = [[videos(data, own[n].test) for n in n_folds] for data, own in zip(datasets, folds, strict=True)]
    rows = [[np.concatenate([examples(scorers[n], video) for video in parts[n]]) for n in n_folds] for parts in tested]
    print("| judged on | budget | calibration error | Brier score | of the base rate |")
    print("| --- | ---: | ---: | ---: | ---: |")
    curves = {}
    for data, own in zip(datasets, rows, strict=True):
        p = [
            1 / (1 + np.exp(-inputs(own[n]) @ fit([np.concatenate(part[:n] + part[n + 1 :]) for part in rows])))
            for n in n_folds
        ]
        show(f"{data.kind}, videos left out", np.concatenate(p), np.concatenate(own))
        curves[f"{data.kind}: videos left out"] = np.concatenate(p), np.concatenate(own)[:, 0]
    for judged, other in (datasets, datasets[::-1]):
        (scorer,) = train_all(config, [list(other.videos.values())], [0], "cpu")
        there = np.concatenate([examples(scorer, video) for video in judged.videos.values()])
        p = np.concatenate([chances(there[there[:, 3] == b, 1], there[there[:, 3] == b, 2], b) for b in BUDGETS])
        there = np.concatenate([there[there[:, 3] == b] for b in BUDGETS])
        show(f"{judged.kind}, trained on the other", p, there)
    draw(curves, arguments.output)
    print("fitted on all:", fit([np.concatenate(part) for part in rows]).round(2))
    print("in the program:", (BASE, OF_STANDING, OF_LENGTH, OF_BUDGET))
    for data, parts in zip(datasets, tested, strict=True):
        squares = np.mean([off_by(scorers[n], v, data.kind) for n in n_folds for v in parts[n]], axis=0)
        share = np.sqrt(squares[0] / squares[1])
        print(f"{data.kind}: the mean of people is off by {share:.2f} of one person's deviation")


if __name__ == "__main__":
    main()
