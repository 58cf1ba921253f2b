"""Memory does not grow with the length of a video."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from films import Recipe, make_video

FRAME_MB = 640 * 360 * 1.5 / 2**20
USES = {
    "sample": "with sample(path, every=1) as samples:\n    assert sum(1 for _ in samples) == n",
    "sample exact": "with sample(path, every=1, exact=True) as samples:\n    assert sum(1 for _ in samples) == n",
    "write": "write_summary(path, [(0, n - 1)], path + '.out.mp4')",
    "copy": "write_summary(path, [(0, n - 1)], path + '.out.mp4', copy=True)",
}


@pytest.fixture(scope="module")
def lengths(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("lengths")
    options = {"preset": "ultrafast"}
    return {
        n: make_video(folder / f"{n}.mp4", Recipe(n_frames=n, size=(640, 360), options=options, sounds=["aac"]))
        for n in (100, 400)
    }


@pytest.mark.parametrize("use", USES)
def test_peak_memory_is_the_same_for_a_longer_video(lengths: dict[int, Path], use: str) -> None:
    peaks = [peak_mb(USES[use], path, n) for n, path in lengths.items()]
    assert peaks[1] - peaks[0] < 0.1 * 300 * FRAME_MB  # of the 300 frames more, not even a tenth is kept


def peak_mb(body: str, path: Path, n_frames: int) -> float:
    code = f"""
import resource
from vastsum.video import sample, write_summary
path, n = {str(path)!r}, {n_frames}
{body}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    return int(said) / (2**20 if sys.platform == "darwin" else 2**10)
