"""How fast speech is found, beside decoding the same sound alone, on one core.

    python benchmarks/speech.py [VIDEO ...] [--minutes 60]

Without videos, one is made: a picture a second, and stereo AAC of 48 kHz. Ratios are the length of the sound to the
time that it took; the CPU's time stands beside it, for a busy machine. Each measure is a process of its own, so that
its peak memory is its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

RATE = 48_000
BODIES = {
    "decode alone": """
import av
with av.open(path) as container:
    n = sum(frame.samples / frame.sample_rate for frame in container.decode(audio=0))""",
    "decode to 16 kHz": """
from pathlib import Path
from vastsum.video.sound import Sound
n = sum(block.shape[1] / 16_000 for _, block in Sound(Path(path), mono_rate=16_000).blocks())""",
    "find speech": """
from vastsum.sound import find_speech
n = len(find_speech(path).loudness) / 100""",
}
PROLOGUE = """
import os, resource, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
path = sys.argv[1]
import vastsum.sound
began, began_cpu = time.perf_counter(), time.process_time()
"""
EPILOGUE = """
wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{n:9.0f} {wall:8.2f} {n / wall:6.0f} {cpu:8.2f} {n / cpu:6.0f} {peak_mb:8.0f}")
"""


def film(path: Path, minutes: int) -> Path:
    """Bursts of noise, as loud as speech is and with pauses: the same minute again and again."""
    rng = np.random.default_rng(0)
    loud = np.repeat(rng.random(60 * 4) ** 2, RATE // 4)
    sound = (0.3 * loud * rng.standard_normal((2, 60 * RATE))).astype(np.float32)
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=1)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        stream = out.add_stream("aac", rate=RATE, layout="stereo")
        for _ in range(60 * minutes):
            out.mux(video.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8))))
        out.mux(video.encode(None))
        for n in range(minutes * 60 * RATE // 960):
            begin = n * 960 % (60 * RATE)
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(sound[:, begin : begin + 960]), "fltp", "stereo")
            frame.sample_rate, frame.pts, frame.time_base = RATE, n * 960, Fraction(1, RATE)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("videos", type=Path, nargs="*")
    parser.add_argument("--minutes", type=int, default=60, help="length of the video that is made")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        videos = arguments.videos or [film(Path(folder) / "made.mp4", arguments.minutes)]
        for path in videos:
            print(f"{path.name:16} {'sound s':>9} {'wall s':>8} {'ratio':>6} {'cpu s':>8} {'ratio':>6} {'peak MB':>8}")
            for name, body in BODIES.items():
                command = [sys.executable, "-c", PROLOGUE + body + EPILOGUE, str(path)]
                print(
                    f"{name:16}", subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout, end=""
                )


if __name__ == "__main__":
    main()
