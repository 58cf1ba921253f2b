"""How well our change points agree with the benchmark's published ones, beside uniform cuts of the same count.

    python benchmarks/change_points.py [--data ../shared/data] [--strength V]

A change point agrees if a published one lies within a second of it; each is matched once. The published ones were found
on all frames, ours on two picks a second, so half a second is lost to sampling alone. Means are over videos.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from vastsum.segmentation import DEFAULT_STRENGTH, segment

TOLERANCE_S = 1.0
DATASETS = {"summe": "SumMe", "tvsum": "TVSum"}
BACKBONES = ("googlenet", "efficientnet_lite0")

Times = NDArray[np.float64]


@dataclass(frozen=True)
class Agreement:
    f1: float
    uniform_f1: float
    n_ours: int
    n_published: int
    duration_s: float


def n_matches(ours: Times, published: Times, tolerance: float) -> int:
    """The most pairs no further apart than `tolerance`; of increasing lists, the first that fits is best."""
    matches = i = j = 0
    while i < len(ours) and j < len(published):
        if abs(ours[i] - published[j]) <= tolerance:
            matches, i, j = matches + 1, i + 1, j + 1
        elif ours[i] < published[j]:
            i += 1
        else:
            j += 1
    return matches


def f1(ours: Times, published: Times) -> float:
    if not len(ours) + len(published):
        return 1.0
    return 2 * n_matches(ours, published, TOLERANCE_S) / (len(ours) + len(published))


def agreements(path: Path, strength: float) -> Iterator[Agreement]:
    with h5py.File(path) as file:
        for video in file.values():
            n_frames, fps = int(video["n_frames"][()]), float(video["fps"][()])
            segments = segment(video["features"][()], video["picks"][()], n_frames, fps, strength=strength)
            ours = segments.bounds[1:, 0] / fps
            published = video["change_points"][1:, 0] / fps
            uniform = np.linspace(0, n_frames / fps, len(segments) + 1)[1:-1]
            yield Agreement(
                f1(ours, published), f1(uniform, published), len(segments), len(published) + 1, n_frames / fps
            )


def row(path: Path, dataset: str, backbone: str, strength: float) -> str:
    videos = list(agreements(path, strength))
    length = np.mean([video.duration_s / video.n_ours for video in videos])
    published_length = np.mean([video.duration_s / video.n_published for video in videos])
    return (
        f"| {DATASETS[dataset]} | {backbone} | {len(videos)} "
        f"| {np.mean([video.f1 for video in videos]):.3f} | {np.mean([video.uniform_f1 for video in videos]):.3f} "
        f"| {np.mean([video.n_ours for video in videos]):.1f} | {np.mean([video.n_published for video in videos]):.1f} "
        f"| {length:.2f} | {published_length:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--strength", type=float, default=DEFAULT_STRENGTH)
    arguments = parser.parse_args()
    print("| dataset | features | videos | F1 ± 1 s | uniform | segments | published | mean length s | published |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for dataset in DATASETS:
        for backbone in BACKBONES:
            print(row(arguments.data / f"{dataset}.{backbone}.h5", dataset, backbone, arguments.strength), flush=True)


if __name__ == "__main__":
    main()
