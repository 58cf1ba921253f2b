"""Time and memory of kernel temporal segmentation, and its distance from the plain dynamic program.

    python benchmarks/kts.py            # growth from 3 600 to 72 000 picks, and side by side at 1 200
    python benchmarks/kts.py --quick    # the same up to 14 400 picks

Vectors are synthetic (1280-D, length one, 2 picks a second): `lively` has a scene every 6 s on average that drifts, and
`still` is one shot with camera noise throughout, the worst case, because no start of a segment can ever be ruled out.
Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

from vastsum.segmentation import DEFAULT_STRENGTH, KernelSegmenter, kernel_cuts
from vastsum.segmentation.penalised import solve_with_ruptures
from vastsum.segmentation.scatter import centred, scatter

WIDTH = 1280
PICKS_A_SECOND = 2
SIZES = (3_600, 7_200, 14_400, 28_800, 72_000)
SIDE_BY_SIDE = 1_200

Vectors = NDArray[np.float32]


def normalised(vectors: Vectors) -> Vectors:
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def lively(n: int, rng: np.random.Generator) -> Vectors:
    vectors = np.empty((n, WIDTH), dtype=np.float32)
    start = 0
    while start < n:
        end = min(start + 1 + int(rng.exponential(12)), n)
        drift = 0.05 * np.cumsum(rng.standard_normal((end - start, WIDTH), dtype=np.float32), axis=0)
        noise = 0.25 * rng.standard_normal((end - start, WIDTH), dtype=np.float32)
        vectors[start:end] = 1 + rng.standard_normal(WIDTH, dtype=np.float32) + drift + noise
        start = end
    return normalised(vectors)


def still(n: int, rng: np.random.Generator) -> Vectors:
    vectors = 0.1 * rng.standard_normal((n, WIDTH), dtype=np.float32)
    return normalised(vectors + rng.standard_normal(WIDTH, dtype=np.float32))


KINDS = {"lively": lively, "still": still}


def measure(kind: str, n: int) -> str:
    vectors = KINDS[kind](n, np.random.default_rng(0))
    began = time.perf_counter()
    cuts = KernelSegmenter().cuts(vectors, n / PICKS_A_SECOND)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f"| {kind} | {n:,} | {n / PICKS_A_SECOND / 3600:.1f} | {len(cuts):,} | {seconds:.2f} | {peak / 1e9:.2f} |"


def plain_dynamic_program(vectors: Vectors, strength: float) -> NDArray[np.int64]:
    """As usually run: the T×T kernel, the scatter of every segment, then the best m cuts for every m up to n − 1."""
    n = len(vectors)
    kernel = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    diagonal = np.concatenate([[0.0], np.cumsum(np.diag(kernel))])
    squares = np.zeros((n + 1, n + 1))
    squares[1:, 1:] = kernel.cumsum(axis=0).cumsum(axis=1)
    starts, ends = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    inner = squares[ends, ends] + squares[starts, starts] - squares[starts, ends] - squares[ends, starts]
    costs = np.where(
        ends > starts, diagonal[ends] - diagonal[starts] - inner / np.maximum(ends - starts, 1), np.inf
    )  # (s, t)
    best = np.full((n, n + 1), np.inf)
    from_ = np.zeros((n, n + 1), dtype=np.int64)
    best[0] = costs[0]
    for m in range(1, n):
        for t in range(m + 1, n + 1):
            totals = best[m - 1, m:t] + costs[m:t, t]
            from_[m, t] = m + np.argmin(totals)
            best[m, t] = totals[from_[m, t] - m]
    m = np.arange(n)
    chosen = int(np.argmin(best[:, n] / n + strength * m / (2 * n) * (np.log(n / np.maximum(m, 1)) + 1)))
    cuts, t = [], n
    for m_left in range(chosen, 0, -1):
        t = int(from_[m_left, t])
        cuts.append(t)
    return np.array(cuts[::-1], dtype=np.int64)


def timed(name: str, vectors: Vectors, cuts_of: object, repeats: int) -> tuple[str, float, NDArray[np.int64], float]:
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        cuts = cuts_of(vectors)  # type: ignore[operator]
        seconds.append(time.perf_counter() - began)
    return name, float(np.median(seconds)), cuts, scatter(centred(vectors), cuts)


def side_by_side() -> None:
    vectors = lively(SIDE_BY_SIDE, np.random.default_rng(0))
    strength = 1.0  # no limit on the number of cuts, so that all minimise the same criterion
    beta = strength / 2 * np.log(SIDE_BY_SIDE / len(kernel_cuts(vectors, strength)))
    rows = [
        timed("vastsum", vectors, lambda x: kernel_cuts(x, strength), 5),
        timed("plain NumPy, all m", vectors, lambda x: plain_dynamic_program(x, strength), 1),
        timed(
            "ruptures, the one β that vastsum found",
            vectors,
            lambda x: solve_with_ruptures(centred(x), [beta])[0].cuts,
            5,
        ),
    ]
    print(f"\nn = {SIDE_BY_SIDE:,}, v = {strength:g}, one criterion:\n")
    print("| method | s | times vastsum's | cuts | scatter |\n| --- | ---: | ---: | ---: | ---: |")
    for name, seconds, cuts, cost in rows:
        print(f"| {name} | {seconds:.3f} | {seconds / rows[0][1]:.1f} | {len(cuts)} | {cost:.9f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the sizes that take minutes")
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(measure(arguments.one[0], int(arguments.one[1])))
        return
    print(f"{platform.machine()}, {os.cpu_count()} cores, strength {DEFAULT_STRENGTH:g}, {WIDTH}-D\n")
    print("| video | picks | hours | cuts | s | peak GB |\n| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for kind in KINDS:
        for n in SIZES[:3] if arguments.quick else SIZES:
            subprocess.run([sys.executable, __file__, "--one", kind, str(n)], check=True)
    side_by_side()


if __name__ == "__main__":
    main()
