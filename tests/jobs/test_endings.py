"""Work that is shared out to processes ends when it is asked to, at once and quietly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os, sys, time
from functools import partial
from vastsum.jobs.local import local_pool
from vastsum.jobs.pool import share_out

def start(given):
    time.sleep(0.2)
    assert len(given) == 2**20  # more than a pipe holds
    return do

def do(attempt, tell):
    tell(os.getpid())
    time.sleep(attempt.task)

def report(pid):
    print(pid, flush=True)

if __name__ == "__main__":
    try:
        with local_pool(partial(start, b"x" * 2**20), 2) as pool:
            list(share_out([float(sys.argv[1])] * 4, pool, told=report))
    except KeyboardInterrupt:
        sys.exit(130)
"""


def started(folder: Path, seconds: float) -> subprocess.Popen[str]:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(seconds)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def is_there(pid: int) -> bool:
    """And does not just wait to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_all_is_done(tmp_path: Path) -> None:
    said, complaints = started(tmp_path, 0).communicate(timeout=60)
    assert (len(said.split()), complaints) == (4, "")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("to_all", [True, False], ids=["all", "alone"])
def test_nothing_works_on(tmp_path: Path, number: signal.Signals, to_all: bool) -> None:
    """A terminal sends Ctrl-C to all of them."""
    process = started(tmp_path, 600)
    assert process.stdout is not None
    workers = [int(process.stdout.readline()) for _ in range(2)]
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, complaints = process.communicate(timeout=20)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert complaints == "" or number == signal.SIGKILL
    patience = time.monotonic() + 10
    while any(map(is_there, workers)):
        assert time.monotonic() < patience
        time.sleep(0.05)
