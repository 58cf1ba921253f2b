"""Many videos on both engines in one run: what Ray costs, and what killed workers cost.

    python benchmarks/scale.py FOLDER [--videos 200] [--workers 2] [--rounds 2] [--kill-every 10] [--kill-for 60]

Videos are generated in FOLDER/videos and kept. After a look at how fast tasks can be handed out, each engine summarises
all of them, alternating, `--rounds` times; every result must be the same, byte for byte. Then Ray does so once more
while a worker that is in the middle of a video is killed (SIGKILL) every `--kill-every` seconds: all results must be
there, the same again, and none written twice. Times are of the whole command, start included, and never judged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import av
import numpy as np

from vastsum.jobs.cluster import ray_pool
from vastsum.jobs.local import local_pool
from vastsum.jobs.pool import Attempt, Do, Pool, Tell, share_out

WIDTH, HEIGHT, FPS, AUDIO_RATE = 320, 180, 25, 48_000


@dataclass(frozen=True)
class Run:
    engine: str
    wall_s: float
    cpu_s: float  # of the command and all it started, Ray's own processes included
    video_s: float

    def row(self) -> str:
        return (
            f"{self.engine:6} {self.wall_s:8.1f} s, {self.video_s / self.wall_s:6.1f} s of video a second; "
            f"{self.cpu_s:.1f} s of CPU, {self.video_s / self.cpu_s:.1f} s of video for each"
        )


def make_videos(folder: Path, n_videos: int, seconds: float) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(n_videos):
        path = folder / f"{k:04d}.mp4"
        if not path.exists():
            make_video(path.with_suffix(".part"), seed=k, n_frames=round((seconds + k % 5) * FPS))
            path.with_suffix(".part").rename(path)


def make_video(path: Path, seed: int, n_frames: int) -> None:
    """A camera that pans over another texture every few seconds, and a tone."""
    rng = np.random.default_rng(seed)
    with av.open(str(path), "w", format="mp4") as out:
        video = out.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        sound = out.add_stream("aac", rate=AUDIO_RATE)
        sound.codec_context.layout = "mono"
        for k in range(n_frames):
            if k % (3 * FPS) == 0:
                coarse = rng.integers(0, 255, (24, 40, 3), dtype=np.uint8)
                ground = coarse.repeat(16, axis=0).repeat(16, axis=1)
            x, y = k % 300, (k // 2) % 180
            picture = np.ascontiguousarray(ground[y : y + HEIGHT, x : x + WIDTH])
            out.mux(video.encode(av.VideoFrame.from_ndarray(picture, "rgb24")))
        out.mux(video.encode(None))
        t = np.arange(n_frames * AUDIO_RATE // FPS) / AUDIO_RATE
        wave = (0.2 * np.sin(2 * np.pi * (220 + seed) * t)).astype(np.float32)
        for begin in range(0, len(wave), 1024):
            block = av.AudioFrame.from_ndarray(wave[None, begin : begin + 1024], "fltp", "mono")
            block.sample_rate, block.pts, block.time_base = AUDIO_RATE, begin, Fraction(1, AUDIO_RATE)
            out.mux(sound.encode(block))
        out.mux(sound.encode(None))


class CpuMeter(threading.Thread):
    """CPU time of a command and all it starts, known by a mark in their environment: Ray's processes are not the
    command's children, and their time is not added to its. What one does in its last half second is missed (Linux)."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.mark = f"VASTSUM_BENCHMARK={uuid4().hex}"
        self._ended = threading.Event()
        self._ticks: dict[tuple[str, str], int] = {}  # by number and start of a process

    def run(self) -> None:
        while not self._ended.wait(0.5):
            self._look()

    def stop(self) -> float:
        self._ended.set()
        self.join()
        return sum(self._ticks.values()) / os.sysconf("SC_CLK_TCK")

    def _look(self) -> None:
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (folder / "environ").read_bytes().split(b"\0"):
                    values = (folder / "stat").read_text().rpartition(") ")[2].split()
                    self._ticks[folder.name, values[19]] = int(values[11]) + int(values[12])
            except OSError:  # it has ended
                continue


def summarize(videos: Path, out: Path, engine: str, workers: int) -> Run:
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "vastsum", "summarize", str(videos), "-o", str(out), "--engine", engine]
    meter, start_s = CpuMeter(), time.perf_counter()
    meter.start()
    key, _, value = meter.mark.partition("=")
    marked = os.environ | {key: value}
    subprocess.run([*command, "--workers", str(workers)], check=True, stdout=subprocess.DEVNULL, env=marked)
    wall_s = time.perf_counter() - start_s
    return Run(engine, wall_s, meter.stop(), sum(record["video_s"] for record in records(out)))


def records(out: Path) -> list[dict[str, Any]]:
    """Those that are not just being replaced."""
    found = []
    for path in out.joinpath(".vastsum", "videos").glob("[!.]*.json"):
        try:
            found.append(json.loads(path.read_text()))
        except (OSError, ValueError):
            continue
    return found


def results(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("*.summary.*")}


class Killer(threading.Thread):
    """Kills a worker in the middle of a video, every so often."""

    def __init__(self, out: Path, every_s: float, for_s: float) -> None:
        super().__init__(daemon=True)
        self._out, self._every_s, self._for_s = out, every_s, for_s
        self.killed: list[tuple[float, str]] = []

    def run(self) -> None:
        rng, begin_s = random.Random(0), 0.0
        while not begin_s or time.perf_counter() < begin_s + self._for_s:
            busy = [record for record in records(self._out) if record["status"] == "started"]
            if not busy:
                time.sleep(0.01)
                continue
            begin_s = begin_s or time.perf_counter()
            chosen = rng.choice(busy)
            os.kill(int(str(chosen["worker"]).rpartition(":")[2]), signal.SIGKILL)
            self.killed.append((time.perf_counter() - begin_s, str(chosen["name"])))
            time.sleep(self._every_s)


def check(out: Path, expected: dict[str, bytes], n_videos: int) -> list[str]:
    """What is wrong with the results: nothing, one hopes."""
    wrong = []
    found, known = results(out), records(out)
    if missing := expected.keys() - found.keys():
        wrong.append(f"lost: {sorted(missing)}")
    if differing := [name for name in found if found[name] != expected.get(name)]:
        wrong.append(f"not the same: {sorted(differing)}")
    if Counter(record["status"] for record in known) != {"done": n_videos}:
        wrong.append(f"records: {Counter(record['status'] for record in known)}")
    if twice := [source for source, n in Counter(record["source"] for record in known).items() if n > 1]:
        wrong.append(f"recorded twice: {twice}")
    recorded = {path.stat().st_mtime_ns: path for path in out.joinpath(".vastsum", "videos").glob("[!.]*.json")}
    for time_ns, path in recorded.items():
        for file in json.loads(path.read_text())["files"]:
            if (out / file).stat().st_mtime_ns > time_ns:
                wrong.append(f"written again after it was done: {file}")
    if left := [path.name for path in out.rglob("*.part")]:
        wrong.append(f"half-written: {left}")
    return wrong


def side_by_side(videos: Path, folder: Path, workers: int) -> None:
    """Both engines at once, so that both suffer alike from whatever else the machine does; ends with the first."""
    outs = {engine: folder / f"results-{engine}" for engine in ("local", "ray")}
    running = {}
    for engine, out in outs.items():
        shutil.rmtree(out, ignore_errors=True)
        command = [sys.executable, "-m", "vastsum", "summarize", str(videos), "-o", str(out), "--engine", engine]
        running[engine] = subprocess.Popen([*command, "--workers", str(workers)], stdout=subprocess.DEVNULL)
    while all(process.poll() is None for process in running.values()):
        time.sleep(0.1)
    done = {engine: sum(record["status"] == "done" for record in records(out)) for engine, out in outs.items()}
    for process in running.values():
        process.terminate()
        process.wait()
    print(
        f"side by side, when the first was through: {done}; Ray against local: {done['local'] / done['ray'] - 1:+.1%}"
    )


def nothing(attempt: Attempt[int], _: Tell) -> int:
    return attempt.task


def start_nothing() -> Do:
    return nothing


def handed_out_a_second(pool: Pool, n_tasks: int = 2000) -> float:
    """Tasks that take no time: all that is left is handing them out. The first few wait for workers to start."""
    with pool:
        done = share_out(range(n_tasks), pool)
        for _ in range(10):
            next(done)
        start_s = time.perf_counter()
        return sum(1 for _ in done) / (time.perf_counter() - start_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where videos are made and kept")
    parser.add_argument("--videos", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=12.0, help="of the shortest; the longest has 4 more")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument(
        "--side-by-side", action="store_true", help="only run both at once, and compare how far they get"
    )
    parser.add_argument("--kill-every", type=float, default=10.0)
    parser.add_argument("--kill-for", type=float, default=60.0)
    arguments = parser.parse_args()
    videos, out = arguments.folder / "videos", arguments.folder / "results"
    make_videos(videos, arguments.videos, arguments.seconds)

    if arguments.side_by_side:
        return side_by_side(videos, arguments.folder, arguments.workers)

    for name, pool_of in (("local", partial(local_pool, threads=1)), ("ray", ray_pool)):
        rate = handed_out_a_second(pool_of(start_nothing, n_workers=arguments.workers))
        print(f"{name:6} hands out {rate:.0f} tasks a second that take no time", flush=True)

    expected: dict[str, bytes] = {}
    runs: dict[str, list[Run]] = {"local": [], "ray": []}
    for n in range(arguments.rounds):
        for engine in ("local", "ray") if n % 2 == 0 else ("ray", "local"):
            run = summarize(videos, out, engine, arguments.workers)
            expected = expected or results(out)
            print(run.row(), *check(out, expected, arguments.videos), sep="\n  ", flush=True)
            runs[engine].append(run)
    if arguments.rounds:
        wall = sum(run.wall_s for run in runs["ray"]) / sum(run.wall_s for run in runs["local"])
        cpu = sum(run.cpu_s for run in runs["ray"]) / sum(run.cpu_s for run in runs["local"])
        print(f"Ray against local processes: {wall - 1:+.1%} of wall-clock time, {cpu - 1:+.1%} of CPU time")

    killer = Killer(out, arguments.kill_every, arguments.kill_for)
    shutil.rmtree(out, ignore_errors=True)
    killer.start()
    run = summarize(videos, out, "ray", arguments.workers)
    wrong = check(out, expected or results(out), arguments.videos)
    attempts = Counter(record["attempts"] for record in records(out))
    print(run.row())
    print(f"killed {len(killer.killed)} workers: " + ", ".join(f"at {s:.0f} s, in {name}" for s, name in killer.killed))
    print(f"{len(results(out))} files of {arguments.videos} videos; by attempts: {dict(attempts)}")
    print("\n".join(wrong) or "all results are there, the same as undisturbed, none written twice")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
