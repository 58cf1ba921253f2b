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

    used = soak(3 * len(FILMS), tmp_path)
    after_each_once, at_the_end = used[len(FILMS) - 1], used[-1]
    assert at_the_end.n_handles <= after_each_once.n_handles
    assert at_the_end.n_threads <= after_each_once.n_threads
    assert at_the_end.memory_kb < after_each_once.memory_kb + 20 * 1024  # allocators settle by a few MB
