"""Is the GPU's summary the CPU's, and how much sooner does it come? Prints JSON.

    python benchmarks/gpu.py FOLDER [--device cuda] [--minutes 10]

FOLDER holds videos. Each is summarised by ONNX Runtime on the CPU and by torch on the device, and compared: importance,
uncertainty, and what is selected at three budgets. `scene-12s.mp4` in it, 12 s of 720p, is repeated to --minutes and
summarised by the command itself, once on each. Then the backbone alone is measured, by batch size. Rates are of frames
handed over in memory and vectors got back.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from video_material import repeat

from vastsum import Summarizer, Summary
from vastsum.features import Backbone, load_backbone, registry
from vastsum.features.onnx_model import available_cores
from vastsum.features.watching import watch
from vastsum.onnx_runtime import ort
from vastsum.video import sample

SCENE, SCENE_S = "scene-12s.mp4", 12
BUDGETS = (0.05, 0.15, 0.5)
BATCHES = (1, 8, 16, 32, 64, 128, 256)
SUFFIXES = {".mp4", ".webm", ".mkv", ".avi", ".mov", ".gif", ".ts", ".mpg"}


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - start, 3)


def largest(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max())


def difference(expected: Summary, ours: Summary) -> dict[str, Any]:
    return {
        "picks": len(expected.picks),
        "segments": len(expected.segments),
        "same_picks": bool(np.array_equal(expected.picks, ours.picks)),
        "same_segments": [s.start_frame for s in expected.segments] == [s.start_frame for s in ours.segments],
        "importance": largest(expected.importance, ours.importance),
        "uncertainty": largest(expected.uncertainty, ours.uncertainty),
        "same_selection": {b: expected.with_budget(b).ranges == ours.with_budget(b).ranges for b in BUDGETS},
    }


def compared(films: list[Path], expected: Summarizer, ours: Summarizer) -> dict[str, Any]:
    found = {}
    for film in films:
        wanted, given = expected.summarize(film), ours.summarize(film)
        a, b = (watch(film, summarizer.backbone, summarizer.fps).features for summarizer in (expected, ours))
        found[film.name] = difference(wanted, given) | {"features": largest(a.astype(float), b.astype(float))}
    return found


def watching(film: Path, backbones: dict[str, Backbone]) -> dict[str, float]:
    """Seconds from file to features, models loaded; and those of decoding alone."""
    seconds: dict[str, float] = {}
    with timed(seconds, "decoding alone"), sample(film, 2.0) as samples:
        for _ in samples:
            pass
    for name, backbone in backbones.items():
        with timed(seconds, name):
            watch(film, backbone, 2.0)
    return seconds


def commands(film: Path, device: str) -> dict[str, Any]:
    """The whole command, start and writing included, on the CPU and on the device."""
    seconds: dict[str, float] = {}
    summaries = {}
    options = ["--formats", "json", "--overwrite"]
    with tempfile.TemporaryDirectory() as folder:
        for place in ("cpu", device):
            command = [sys.executable, "-m", "vastsum", "summarize", str(film), *options, "--device", place]
            with timed(seconds, f"--device {place}"):
                subprocess.run([*command, "-o", f"{folder}/{place}"], check=True, stdout=subprocess.DEVNULL)
            summaries[place] = Summary.load(next(Path(folder, place).glob("*.json")))
    return {"seconds": seconds} | difference(summaries["cpu"], summaries[device])


def frames_per_s(backbone: Backbone, batch: int, least_s: float) -> float:
    """With one batch under way while the next is handed over, as in use."""
    frames = np.random.default_rng(0).integers(0, 256, (batch, 224, 224, 3), dtype=np.uint8)
    for _ in range(3):
        backbone.extract(frames)
    n, start, under_way = 0, time.perf_counter(), backbone.start(frames)
    while time.perf_counter() - start < least_s:
        coming = backbone.start(frames)
        under_way()
        under_way, n = coming, n + batch
    under_way()
    return round((n + batch) / (time.perf_counter() - start), 1)


def rates(device: str, least_s: float) -> dict[str, Any]:
    cores = sorted({1, 2, available_cores()})
    on_cpu = {n: frames_per_s(load_backbone(threads=n), max(32, 4 * n), least_s) for n in cores}
    on_device: dict[int, float] = {}
    first_s: dict[str, float] = {}
    for batch in BATCHES:
        registry.GPU_CHUNK = batch
        backbone = load_backbone(device=device, runtime="torch")
        with timed(first_s, str(batch)):  # kernels are chosen for each size
            backbone.extract(np.zeros((batch, 224, 224, 3), np.uint8))
        on_device[batch] = frames_per_s(backbone, batch, least_s)
    return {
        "onnxruntime on cpu, by threads": on_cpu,
        f"torch on {device}, by batch": on_device,
        "first batch of a size, s": first_s,
    }


def machine(device: str) -> dict[str, Any]:
    found = {"python": platform.python_version(), "torch": torch.__version__, "onnxruntime": ort.__version__}
    if device == "cuda":
        found |= {"gpu": torch.cuda.get_device_name(), "peak_MiB": torch.cuda.max_memory_allocated() >> 20}
    return found | {"cores": available_cores()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the videos are")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda", help="cpu tries the script without a GPU")
    parser.add_argument("--minutes", type=int, default=10, help="how long the repeated video is to be")
    parser.add_argument("--least-s", type=float, default=1.0, help="how long each rate is measured")
    parser.add_argument("-o", "--output", type=Path, help="the JSON goes here too")
    arguments = parser.parse_args()
    films = sorted(path for path in arguments.folder.iterdir() if path.suffix in SUFFIXES)
    report: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    with timed(seconds, "loading for the CPU"):
        expected = Summarizer()
    with timed(seconds, "loading for the device"):
        ours = Summarizer(device=arguments.device, runtime="torch")
    with timed(seconds, "first batch on the device"):
        ours.backbone.extract(np.zeros((64, 224, 224, 3), np.uint8))
    report["seconds"] = seconds
    report["films"] = compared(films, expected, ours)
    print(json.dumps(report), flush=True)  # should the rest not come to an end
    with tempfile.TemporaryDirectory() as folder:
        long = Path(folder, "long.mp4")
        repeat(arguments.folder / SCENE, long, arguments.minutes * 60 // SCENE_S, SCENE_S)
        backbones = {"onnxruntime on cpu": expected.backbone, f"torch on {arguments.device}": ours.backbone}
        report["watching, s"] = watching(long, backbones)
        report["command"] = commands(long, arguments.device)
    report["frames/s"] = rates(arguments.device, arguments.least_s)
    report["machine"] = machine(arguments.device)
    print(json.dumps(report, indent=1))
    if arguments.output:
        arguments.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
