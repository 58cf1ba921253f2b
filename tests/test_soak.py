"""Video after video, one process holds no more than after the first few; `benchmarks/soak.py` tries a thousand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what a process holds is read from /proc")
SOAK = """
import json, sys
from dataclasses import astuple
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from soak import FILMS, soak
used = soak(30 * len(FILMS), Path(sys.argv[2]))
print(json.dumps([astuple(used[20 * len(FILMS) - 1]), astuple(used[-1])]))
"""


def test_nothing_piles_up(tmp_path: Path) -> None:
    """In a process of its own: it starts hundreds of threads, which tracing for coverage would now and then kill."""
    command = [sys.executable, "-c", SOAK, str(ROOT / "benchmarks"), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    settled, at_the_end = json.loads(run.stdout.splitlines()[-1])  # allocators settle over the first hundred videos
    assert at_the_end[1] <= settled[1], "file handles"
    assert at_the_end[2] <= settled[2], "threads"
    assert at_the_end[0] < settled[0] + 20 * 1024, "kB of memory"
