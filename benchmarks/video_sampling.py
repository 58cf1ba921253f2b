"""How long sampling and cutting take, against ffmpeg decoding the same file, side by side in one run.

    python benchmarks/video_sampling.py FOLDER [--minutes 10] [--rounds 3]

Needs the ffmpeg binary that `pip install imageio-ffmpeg` brings; the videos are made in FOLDER and kept there.
Ratios are of wall-clock time; the CPU time beside them says how much of it was work on a busy machine.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import imageio_ffmpeg
from video_material import video_of

BODIES = {
    "sample at 2 fps": "n = sum(1 for _ in sample(path))",
    "the same, exact": "n = sum(1 for _ in sample(path, exact=True))",
    "key frames only": "n = sum(1 for _ in sample(path, keyframes_only=True))",
    "timeline alone": "n = read_timeline(path).n_frames",
    "write 15 %": """
timeline = read_timeline(path)
ranges = [(k * 1000 + 300, k * 1000 + 449) for k in range(timeline.n_frames // 1000)]
n = write_summary(path, ranges, out, timeline=timeline).n_frames""",
    "write 15 %, copy": """
timeline = read_timeline(path)
ranges = [(k * 1000 + 300, k * 1000 + 449) for k in range(timeline.n_frames // 1000)]
n = write_summary(path, ranges, out, timeline=timeline, copy=True).n_frames""",
    "20 thumbnails": "n = len(grab(path, [30 * k for k in range(20)]))",
    "20, nearby": "n = len(grab(path, [30 * k for k in range(20)], nearby_s=3))",
}

PROLOGUE = """
import resource, sys
from vastsum.video import grab, read_timeline, sample, write_summary
path, out = sys.argv[1:3]
"""
EPILOGUE = """
print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def timed(run: Callable[[], str]) -> tuple[float, float, str]:
    """Wall-clock and CPU seconds of a child process, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    said = run()
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, said


def ffmpeg(path: Path) -> str:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", str(path), "-f", "null", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def ours(body: str, path: Path, out: Path) -> str:
    command = [sys.executable, "-c", PROLOGUE + body + EPILOGUE, str(path), str(out)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the videos are made and kept")
    parser.add_argument("--minutes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1, help="the best of so many rounds counts")
    arguments = parser.parse_args()
    path = video_of(arguments.minutes, arguments.folder)
    print(f"{path.name}: {path.stat().st_size / 2**20:.0f} MB\n")
    print(f"{'':18} {'wall s':>8} {'ratio':>6} {'cpu s':>8} {'ratio':>6} {'frames':>7} {'peak MB':>8}")
    best: dict[str, tuple[float, float, str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.mp4"
        for _ in range(arguments.rounds):
            runs: dict[str, Callable[[], str]] = {"ffmpeg": lambda: ffmpeg(path)}
            runs |= {name: (lambda body=body: ours(body, path, out)) for name, body in BODIES.items()}
            for name, run in runs.items():
                result = timed(run)
                best[name] = min(best.get(name, result), result)
    for name, (wall, cpu, said) in best.items():
        frames, kilobytes = (int(word) for word in said.split()) if said else (0, 0)
        ratios = wall / best["ffmpeg"][0], cpu / best["ffmpeg"][1]
        print(
            f"{name:18} {wall:8.2f} {ratios[0]:6.2f} {cpu:8.2f} {ratios[1]:6.2f}"
            + (f" {frames:7d} {kilobytes / 1024:8.0f}" if said else "")
        )


if __name__ == "__main__":
    main()
