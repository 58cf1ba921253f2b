"""What an hour of video costs when many are summarised, by the length of each: CPU time and bytes.

    python benchmarks/throughput.py FOLDER [--minutes 16]

The same minutes of 720p30 video come as many short files and as few long ones; each set is summarised by
`vastsum summarize SET -o …` in full and with `--fast`. CPU time is of all processes, start and loading of models
included; on a shared machine it says more than wall-clock time.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from video_material import video_of


def set_of(n_videos: int, minutes: int, folder: Path) -> Path:
    """A folder of `n_videos` links to one video."""
    video, place = video_of(minutes, folder), folder / f"{n_videos}x{minutes}min"
    place.mkdir(exist_ok=True)
    for k in range(n_videos):
        link = place / f"{k:04d}.mp4"
        if not link.exists():
            os.link(video, link)
    return place


def row(name: str, videos: Path, out: Path, hours: float, *options: str) -> str:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "vastsum", "summarize", str(videos), "-o", str(out), *options]
    before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall_s, after = time.perf_counter() - start_s, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    written = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return (
        f"{name:14} {wall_s / hours:8.0f} {cpu_s / hours:8.0f} {3600 * hours / cpu_s:8.1f} {written / hours / 1e6:8.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where videos are made and kept")
    parser.add_argument("--minutes", type=int, default=16, help="of video in each set; a power of 4 is best")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    hours = arguments.minutes / 60
    print(f"{'an hour of it:':14} {'wall s':>8} {'CPU s':>8} {'x real':>8} {'MB out':>8}")
    for options in ([], ["--fast"]):
        minutes = 1
        while minutes <= arguments.minutes:
            n_videos = arguments.minutes // minutes
            videos = set_of(n_videos, minutes, arguments.folder)
            name = f"{n_videos} x {minutes} min {' '.join(options)}"
            print(row(name, videos, arguments.folder / "results", hours, *options), flush=True)
            minutes *= 4


if __name__ == "__main__":
    main()
