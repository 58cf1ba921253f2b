"""The kernels of an LSTM where there is no GPU to run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_interpreted_they_find_what_goes_step_by_step() -> None:
    """In a process of its own: Triton decides as it is loaded whether to interpret, and torch may have loaded it."""
    pytest.importorskip("triton", reason="Triton is not installed: it has packages for Linux only")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "interpreted_kernels.py"]
    run = subprocess.run(
        command,
        cwd=Path(__file__).parent,
        env={**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "4 passed" in run.stdout
