"""Time and memory of the relative channels.

    python benchmarks/relative.py            # half an hour, two hours and ten hours at two picks a second
    python benchmarks/relative.py --profile  # what each channel takes of two hours

Vectors are synthetic (1280-D): scenes of 6 s on average, with noise. Two threads. Each size runs in a process of its
own, so that its peak memory is its own; what the input takes is not counted.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "2")

import numpy as np

from vastsum.features.relative import CHANNELS, NAMES, _Video, relative_channels, unit_length
from vastsum.types import FloatArray

WIDTH = 1280
PICKS_A_SECOND = 2
SIZES = (3_600, 14_400, 72_000)


def film(n_picks: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_picks, WIDTH), dtype=np.float32)
    start = 0
    while start < n_picks:
        end = start + 1 + int(rng.exponential(12))
        features[start:end] += 2 * rng.standard_normal(WIDTH, dtype=np.float32)
        start = end
    return features, np.arange(n_picks) / PICKS_A_SECOND


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(n_picks: int) -> str:
    features, times_s = film(n_picks)
    before = peak_bytes()  # the program and the input
    began = time.perf_counter()
    relative_channels(features, times_s)
    seconds = time.perf_counter() - began
    hours = n_picks / PICKS_A_SECOND / 3600
    return f"| {n_picks:,} | {hours:.1f} | {seconds:.2f} | {(peak_bytes() - before) / 1e9:.2f} |"


def profile(n_picks: int) -> None:
    features, times_s = film(n_picks)
    video = _Video(unit_length(features), times_s)
    for name, channel in zip(NAMES, CHANNELS, strict=True):
        began = time.perf_counter()
        channel(video)
        print(f"{name:20} {time.perf_counter() - began:6.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--profile", action="store_true", help="time each channel")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(measure(arguments.one))
        return
    if arguments.profile:
        profile(SIZES[1])
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, 2 threads, {WIDTH}-D, {len(NAMES)} channels\n")
    print("| picks | hours | s | peak GB beside the input |\n| ---: | ---: | ---: | ---: |", flush=True)
    for n_picks in SIZES:
        subprocess.run([sys.executable, __file__, "--one", str(n_picks)], check=True)


if __name__ == "__main__":
    main()
