"""Video after video, one process holds no more than after the first few; `benchmarks/soak.py` tries a thousand."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what a process holds is read from /proc")


def test_nothing_piles_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), str(ROOT / "tests" / "video"), *sys.path])
    from soak import FILMS, soak

    used = soak(8 * len(FILMS), tmp_path)
    settled, at_the_end = used[5 * len(FILMS) - 1], used[-1]  # allocators settle over the first thirty videos
    assert at_the_end.n_handles <= settled.n_handles
    assert at_the_end.n_threads <= settled.n_threads
    assert at_the_end.memory_kb < settled.memory_kb + 20 * 1024
