"""The batched knapsack against a plain Python dynamic program, side by side on the same inputs.

    python benchmarks/knapsack.py

64 problems of a ten-minute video: 18 000 frames, 150 segments, a budget of 15 %.
"""

from __future__ import annotations

import time

import numpy as np

from vastsum.selection import knapsack

N_PROBLEMS, N_FRAMES, N_SEGMENTS = 64, 18_000, 150


def plain(values: list[float], weights: list[int], capacity: int) -> float:
    """The textbook table, one cell at a time, as this field's projects run it."""
    table = [[0.0] * (capacity + 1) for _ in range(len(values) + 1)]
    for k, (value, weight) in enumerate(zip(values, weights, strict=True)):
        above, row = table[k], table[k + 1]
        for c in range(capacity + 1):
            taken = above[c - weight] + value if weight <= c else -1.0
            row[c] = taken if taken > above[c] else above[c]
    return table[-1][capacity]


def main() -> None:
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.choice(np.arange(1, N_FRAMES), N_SEGMENTS - 1, replace=False))
    weights = np.diff([0, *cuts, N_FRAMES])
    independent = rng.random((N_PROBLEMS, N_SEGMENTS))
    perturbed = rng.random(N_SEGMENTS) + 0.02 * rng.standard_normal((N_PROBLEMS, N_SEGMENTS))
    capacity = int(0.15 * N_FRAMES)
    print("| 64 problems | plain Python | batched | ratio | largest difference in value |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, values in (("independent scores", independent), ("one video, perturbed scores", perturbed)):
        started = time.perf_counter()
        expected = [plain(row.tolist(), weights.tolist(), capacity) for row in values]
        slow = time.perf_counter() - started
        fast = []
        for _ in range(5):
            started = time.perf_counter()
            taken = knapsack(values, weights, capacity)
            fast.append(time.perf_counter() - started)
        error = np.abs((taken * values).sum(axis=1) - expected).max()
        median = float(np.median(fast))
        print(f"| {name} | {slow:.2f} s | {1000 * median:.1f} ms | {slow / median:.0f}× | {error:.0e} |")


if __name__ == "__main__":
    main()
