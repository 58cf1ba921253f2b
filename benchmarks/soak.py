"""A thousand short videos through one process: does its memory grow, do files or threads stay open?

    python benchmarks/soak.py [--videos 1000] [--svg docs/images/soak.svg]

Films of several formats take turns; of each a summary is made and written as video and JSON by one Summarizer. After
every video the resident memory, the open file handles and the threads of this process are noted. The slope is that of
the straight line through the memory after the warm-up, the first tenth.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "video"))

from films import Recipe, make_video

from vastsum import Summarizer

PAGE_KB = 4
_SMALL = {"n_frames": 60, "size": (160, 120), "gop": 15}
FILMS = {
    "a.mp4": Recipe(b_frames=2, sounds=["aac"], **_SMALL),
    "b.mkv": Recipe(b_frames=2, sounds=["libopus"], **_SMALL),
    "c.webm": Recipe(codec="libvpx", sounds=["libopus"], **_SMALL),
    "d.avi": Recipe(codec="mpeg4", sounds=["libmp3lame"], **_SMALL),
    "e.mp4": Recipe(rotation=90, **_SMALL),
    "f.ts": Recipe(b_frames=2, sounds=["aac"], **_SMALL),
    "g.mp4": Recipe(codec="libx265", options={"preset": "ultrafast", "x265-params": "log-level=none"}, **_SMALL),
}


@dataclass(frozen=True)
class Usage:
    """What this process holds."""

    memory_kb: int
    n_handles: int
    n_threads: int

    @classmethod
    def now(cls) -> Usage:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return cls(pages * PAGE_KB, len(list(Path("/proc/self/fd").iterdir())), threading.active_count())


def soak(n_videos: int, folder: Path) -> list[Usage]:
    """What is held after each video."""
    films = [make_video(folder / name, recipe) for name, recipe in FILMS.items()]
    summarizer = Summarizer()
    used = []
    for n in range(n_videos):
        summary = summarizer.summarize(films[n % len(films)], budget=0.3)
        summary.save(folder / "summary.json", overwrite=True)
        summary.save(folder / "summary.mp4", overwrite=True)
        used.append(Usage.now())
    return used


def slope_kb(used: list[Usage]) -> float:
    """KB a video, over all but the first tenth."""
    after = np.array([usage.memory_kb for usage in used[len(used) // 10 :]], dtype=np.float64)
    return float(np.polyfit(np.arange(len(after)), after, 1)[0])


def svg(used: list[Usage]) -> str:
    """Memory (left) and file handles (right) over the videos, both from 0."""
    width, height, left, bottom = 760, 300, 60, 260
    highest_mb = 1.15 * max(usage.memory_kb for usage in used) / 1024
    most_handles = 2 * max(usage.n_handles for usage in used)

    def line(values: list[float], highest: float, colour: str) -> str:
        points = " ".join(
            f"{left + (width - 2 * left) * n / max(len(values) - 1, 1):.1f},{bottom - 220 * value / highest:.1f}"
            for n, value in enumerate(values)
        )
        return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'

    def text(x: float, y: float, said: str, anchor: str = "middle", colour: str = "#555") -> str:
        return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{said}</text>'

    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
            'font-size="12"><rect width="100%" height="100%" fill="#fff"/>',
            f'<path d="M{left} 40V{bottom}H{width - left}V40" fill="none" stroke="#bbb"/>',
            line([usage.memory_kb / 1024 for usage in used], highest_mb, "#2a6fb0"),
            line([float(usage.n_handles) for usage in used], most_handles, "#c2571a"),
            text(left, 28, "resident memory, MB", "start", "#2a6fb0"),
            text(width - left, 28, "open file handles", "end", "#c2571a"),
            *(text(left - 8, bottom + 4 - 220 * k / 4, f"{highest_mb * k / 4:.0f}", "end") for k in range(5)),
            *(text(width - left + 8, bottom + 4 - 55 * k, f"{most_handles * k / 4:.0f}", "start") for k in range(5)),
            *(text(left + (width - 2 * left) * k / 5, bottom + 18, f"{len(used) * k // 5}") for k in range(6)),
            text(width / 2, bottom + 36, "videos"),
            "</svg>",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--videos", type=int, default=1000)
    parser.add_argument("--svg", type=Path, help="write a picture here")
    asked = parser.parse_args()
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        used = soak(asked.videos, Path(folder))
    seconds = time.perf_counter() - started
    warm = used[len(used) // 10 :]
    print(f"{len(used)} videos in {seconds:.0f} s")
    print(f"memory after the first video {used[0].memory_kb / 1024:.1f} MB, after the warm-up "
          f"{warm[0].memory_kb / 1024:.1f} MB, at the end {used[-1].memory_kb / 1024:.1f} MB, "
          f"at most {max(usage.memory_kb for usage in used) / 1024:.1f} MB")  # fmt: skip
    print(f"slope {slope_kb(used):.2f} KB a video")
    for name in ("n_handles", "n_threads"):
        counts = [getattr(usage, name) for usage in warm]
        print(f"{name}: {min(counts)} to {max(counts)}, {counts[-1]} at the end")
    if asked.svg:
        asked.svg.write_text(svg(used))


if __name__ == "__main__":
    main()
