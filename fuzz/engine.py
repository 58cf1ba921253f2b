"""Runs a target on spoiled files in a process of its own, and keeps the files that did harm.

Harm is any exception but a VastsumError, a process that dies, and one that does not come to an end.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import resource
import shutil
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.targets import find_target
from vastsum.errors import VastsumError

CONTEXT = multiprocessing.get_context("spawn")
MAX_MEMORY_BYTES = 4 << 30
TIME_LIMIT_S = 20.0  # for one input, on a machine that may be busy
_CHECK_EVERY_S = 0.2


@dataclass
class Report:
    """What came of a target. `findings` are the files that did harm, with the last line of what was said."""

    target: str
    n_inputs: int = 0
    seconds: float = 0.0
    findings: dict[Path, str] = field(default_factory=dict)

    def __str__(self) -> str:
        rate = self.n_inputs / max(self.seconds, 1e-9)
        lines = [f"{self.target}: {self.n_inputs} inputs in {self.seconds:.0f} s ({rate:.0f} a second)"]
        lines += [f"  {path.name}: {said}" for path, said in self.findings.items()]
        return "\n".join(lines)


def fuzz(name: str, *, max_inputs: int, seconds: float, seed: int, keep: Path) -> Report:
    """Give a target up to so many inputs, for so long; what does harm is kept in the folder `keep`."""
    report = Report(name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as folder:
        while report.n_inputs < max_inputs and time.monotonic() - started < seconds:
            rest_s = seconds - (time.monotonic() - started)
            _run_child(report, max_inputs - report.n_inputs, rest_s, seed, keep, Path(folder))
            seed += 1_000_003  # after a crash, others than those that came before it
    report.seconds = time.monotonic() - started
    return report


def _fast_folder() -> str | None:
    """In memory where there is such a place: each input is a file."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


def _run_child(report: Report, n: int, seconds: float, seed: int, keep: Path, folder: Path) -> None:
    done = CONTEXT.Value("Q", 0)
    child = CONTEXT.Process(target=_work, args=(report.target, n, seconds, seed, keep, folder, done), daemon=True)
    child.start()
    n_seen, since = 0, time.monotonic()
    end = ""
    while child.is_alive():
        child.join(_CHECK_EVERY_S)
        if done.value != n_seen:
            n_seen, since = done.value, time.monotonic()
        elif n_seen and time.monotonic() - since > TIME_LIMIT_S:
            end = f"did not come to an end within {TIME_LIMIT_S:.0f} s"
            child.kill()
            child.join()
    report.n_inputs += done.value
    if child.exitcode and not end:
        end = f"the process died (exit code {child.exitcode})"
    if end:
        _keep(folder / find_target(report.target).file, "killed", keep, report.target, end)
    for path in keep.glob(f"{report.target}.*.input"):
        report.findings[path] = path.with_suffix(".txt").read_text().strip().splitlines()[-1]


def _work(name: str, n: int, seconds: float, seed: int, keep: Path, folder: Path, done: Any) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    target = find_target(name)
    rng = random.Random(seed)
    seeds = target.seeds(folder)
    path = folder / target.file
    deadline = time.monotonic() + seconds
    while done.value < n and time.monotonic() < deadline:
        path.write_bytes(target.mutate(rng.choice(seeds), rng, seeds))
        done.value += 1
        try:
            target.use(path)
        except VastsumError:
            pass
        except Exception as error:
            _keep(path, _place(error), keep, name, traceback.format_exc())


def _place(error: Exception) -> str:
    """The same mistake is kept once: by the kind of error and the lines of ours it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        f"{frame.filename}:{frame.name}" for frame in frames if "vastsum" in frame.filename or "fuzz" in frame.filename
    ]
    return f"{type(error).__name__} {ours}"


def _keep(path: Path, place: str, keep: Path, target: str, said: str) -> None:
    keep.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(place.encode() if place != "killed" else path.read_bytes()).hexdigest()[:8]
    kept = keep / f"{target}.{digest}.input"
    if not kept.exists():
        shutil.copy(path, kept)
        kept.with_suffix(".txt").write_text(said)
