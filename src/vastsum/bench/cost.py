"""What a method costs to run: parameters, multiply-adds and time for a video of ten minutes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.methods.registry import Entry
from vastsum.bench.plan import Benchmark, Plan
from vastsum.features.relative import with_channels
from vastsum.files import write_json
from vastsum.types import Segments

MINUTES, PICKS_A_SECOND, SEGMENT_S, FPS = 10, 2, 5, 30
ROUNDS = 3


@dataclass(frozen=True)
class Cost:
    """Multiply-adds and milliseconds of one prediction, on one CPU thread; parameters where there are any to count."""

    n_parameters: int | None
    multiply_adds: int
    milliseconds: float


def costs(plan: Plan, benchmark: Benchmark) -> dict[str, Cost]:
    """Measured once for each method and width of features, and kept in the bench's folder; none for a method that
    failed, which may well fail here too."""
    path = plan.folder / "costs.json"
    known: dict[str, dict[str, float]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    found = {}
    for method in plan.methods:
        width = benchmark.dataset.seen(relative=plan.entry(method).relative).feature_width
        key = f"{method} {benchmark.dataset.kind} {width}"
        if key not in known and _has_numbers(plan, benchmark, method):
            known[key] = asdict(measure_cost(plan.entry(method), benchmark))
            write_json(path, known)
        if key in known:
            found[method] = Cost(**known[key])  # type: ignore[arg-type]
    return found


def _has_numbers(plan: Plan, benchmark: Benchmark, method: str) -> bool:
    results = (plan.result(task) for task in plan.tasks(benchmark, method))
    return any(result is not None and "failed" not in result for result in results)


def measure_cost(entry: Entry, benchmark: Benchmark) -> Cost:
    """Of a method that is given relative channels, they are part of its time."""
    dataset = benchmark.dataset.seen(relative=entry.relative)
    n_parameters = None
    if entry.learn is not None:
        learned = entry.learn(dataset.kind)
        network = learned.build(dataset.feature_width).eval().requires_grad_(False)  # counted without its gradients
        n_parameters = sum(weight.numel() for weight in network.parameters())
        scorer = learned.scorer(network, dataset.kind)
    else:
        assert entry.fit is not None
        scorer = entry.fit(_few(list(dataset.videos.values())))
    features, segments = ten_minutes(benchmark.dataset.feature_width)

    def predict() -> None:
        seen = with_channels(features, segments.times_s) if entry.relative else features
        scorer.predict(seen, segments)

    return Cost(n_parameters, multiply_adds(predict), milliseconds(predict))


def multiply_adds(predict: Callable[[], None]) -> int:
    counter = FlopCounterMode(display=False)
    with counter:
        predict()
    return counter.get_total_flops() // 2


def milliseconds(predict: Callable[[], None]) -> float:
    """Median of a few predictions on one thread."""
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    taken = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        predict()
        taken.append(1e3 * (time.perf_counter() - started))
    torch.set_num_threads(n_threads)
    return float(np.median(taken))


def ten_minutes(feature_width: int) -> tuple[np.ndarray, Segments]:
    """Random features of a video of ten minutes at two picks a second, in segments of five seconds."""
    n_frames = MINUTES * 60 * FPS
    starts = np.arange(0, n_frames, SEGMENT_S * FPS)
    bounds = np.stack([starts, starts + SEGMENT_S * FPS - 1], axis=1)
    picks = np.arange(0, n_frames, FPS // PICKS_A_SECOND)
    features = np.random.default_rng(0).standard_normal((len(picks), feature_width)).astype(np.float32)
    return features / np.linalg.norm(features, axis=1, keepdims=True), Segments(bounds, picks, n_frames)


def _few(videos: Sequence[BenchmarkVideo]) -> Sequence[BenchmarkVideo]:
    return videos[:3]
