"""How long the whole of `vastsum summarize` takes, against ffmpeg decoding the same file, side by side in one run.

    python benchmarks/summarize.py FOLDER [--minutes 10] [--long-minutes 60] [--rounds 1]

The videos are made in FOLDER and kept there. Needs the ffmpeg binary that `pip install imageio-ffmpeg` brings. Ratios
are of wall-clock time; the CPU time beside them says how much of it was work on a busy machine. Stages are seconds of
wall-clock time as the command's own progress reports them.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import imageio_ffmpeg
from video_material import video_of

# The command itself, with a note of when each stage began; the last line printed is for us.
STAGES = """
import json, resource, sys, time
from rich.progress import Progress
from vastsum.cli import main

began, stages, update = time.perf_counter(), [], Progress.update

def noted(self, task, *, description=None, **rest):
    stage = (description or "").rpartition(": ")[2]
    if stage and (not stages or stages[-1][0] != stage):
        stages.append((stage, time.perf_counter() - began))
    update(self, task, description=description, **rest)

Progress.update = noted
try:
    main()
finally:
    stages.append(("end", time.perf_counter() - began))
    print(json.dumps({"stages": stages, "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}))
"""


@dataclass(frozen=True)
class Run:
    wall_s: float
    cpu_s: float
    peak_mb: float = 0.0
    stages: tuple[tuple[str, float], ...] = ()

    def row(self, name: str, against: Run) -> str:
        ratios = f"{self.wall_s / against.wall_s:6.2f} {self.cpu_s:8.2f} {self.cpu_s / against.cpu_s:6.2f}"
        peak = f"{self.peak_mb:8.0f}" if self.peak_mb else " " * 8
        stages = ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in self.stages)
        return f"{name:26} {self.wall_s:8.2f} {ratios} {peak}  {stages}"


def measured(command: list[str]) -> tuple[Run, str]:
    before, start = os.times(), time.perf_counter()
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall, cpu), said


def ffmpeg(path: Path) -> Run:
    return measured([imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "null", "-"])[0]


def summarize(path: Path, *options: str) -> Run:
    """The command with its default formats, in a process of its own."""
    with tempfile.TemporaryDirectory(dir=path.parent) as out:
        run, said = measured([sys.executable, "-c", STAGES, "summarize", str(path), "-o", out, *options])
    noted = json.loads(said.splitlines()[-1])
    begins = noted["stages"]
    stages = tuple((stage, after - began) for (stage, began), (_, after) in pairwise(begins))
    starting = (("starting", run.wall_s - sum(seconds for _, seconds in stages)),)
    return Run(run.wall_s, run.cpu_s, noted["kilobytes"] / 1024, (*starting, *stages))


def first_progress_s(path: Path) -> float:
    """From start to the first sign of life on a terminal."""
    command = [sys.executable, "-m", "vastsum", "summarize", str(path), "-o", str(path.parent / "never"), "--fast"]
    terminal, inside = pty.openpty()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=inside)
    os.close(inside)
    os.read(terminal, 1)
    elapsed = time.perf_counter() - start
    process.kill()
    process.wait()
    os.close(terminal)
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the videos are made and kept")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--long-minutes", type=int, default=60, help="0 leaves it out")
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many rounds counts")
    arguments = parser.parse_args()
    path = video_of(arguments.minutes, arguments.folder)
    starts = sorted(first_progress_s(path) for _ in range(5))
    print(f"first progress after {starts[2]:.2f} s (median of 5, from {starts[0]:.2f} to {starts[-1]:.2f})\n")

    runs: dict[str, Run] = {}
    works = {
        f"ffmpeg, {arguments.minutes} min": lambda: ffmpeg(path),
        "vastsum summarize": lambda: summarize(path),
        "vastsum summarize --fast": lambda: summarize(path, "--fast"),
    }
    for _ in range(arguments.rounds):
        for name, work in works.items():
            run = work()
            runs[name] = min(runs.get(name, run), run, key=lambda run: run.wall_s)
    print(f"{'':26} {'wall s':>8} {'ratio':>6} {'cpu s':>8} {'ratio':>6} {'peak MB':>8}  stages, s")
    baseline = next(iter(runs.values()))
    for name, run in runs.items():
        print(run.row(name, baseline))
    if arguments.long_minutes:
        long_path = video_of(arguments.long_minutes, arguments.folder)
        for name, options in (("vastsum summarize", []), ("vastsum summarize --fast", ["--fast"])):
            run = summarize(long_path, *options)
            print(
                f"\n{name}, {arguments.long_minutes} min: {run.wall_s:.0f} s, peak {run.peak_mb:.0f} MB, "
                f"{run.peak_mb / runs[name].peak_mb:.2f} times that of {arguments.minutes} min"
            )


if __name__ == "__main__":
    main()
