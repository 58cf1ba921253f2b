"""The same targets under atheris: inputs that reach new places of the program are kept and changed further."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzz.engine import MAX_MEMORY_BYTES, TIME_LIMIT_S, Report
from fuzz.mutation import MAX_BYTES

_ROOT = Path(__file__).parents[1]
_DONE = re.compile(r"Done (\d+) runs")
_PROBLEM = re.compile(r"(?:Uncaught Python exception: ===\n|ERROR: )(.*)")
_COUNT = re.compile(r"^#(\d+)\s", re.MULTILINE)


def fuzz_guided(name: str, *, max_inputs: int, seconds: float, seed: int, keep: Path) -> Report:
    """Stops at the first input that does harm, as libFuzzer does."""
    report = Report(name)
    keep.mkdir(parents=True, exist_ok=True)
    before = set(keep.glob(f"{name}.atheris-*"))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fuzz.guided", name, f"-runs={max_inputs}", f"-max_total_time={int(seconds)}",
                   f"-seed={seed + 1}", f"-timeout={int(TIME_LIMIT_S)}", f"-rss_limit_mb={MAX_MEMORY_BYTES >> 20}",
                   f"-max_len={MAX_BYTES}", f"-artifact_prefix={keep}/{name}.atheris-", folder]  # fmt: skip
        said = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, errors="replace").stderr
    counts = _DONE.findall(said) or _COUNT.findall(said) or ["0"]
    report.n_inputs, report.seconds = int(counts[-1]), time.monotonic() - started
    problem = _PROBLEM.search(said)
    reason = problem[1] if problem else said.strip().splitlines()[-1]
    report.findings = dict.fromkeys(set(keep.glob(f"{name}.atheris-*")) - before, reason)
    return report


def main() -> None:
    import atheris

    with atheris.instrument_imports(include=["vastsum"]):
        from fuzz.targets import find_target

        target = find_target(sys.argv[1])
    from vastsum.errors import VastsumError

    options = sys.argv[2:]
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    seeds = target.seeds(folder)
    corpus = Path(options[-1])
    for number, seed in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    path = folder / target.file

    def use(data: bytes) -> None:
        path.write_bytes(data)
        with contextlib.suppress(VastsumError):
            target.use(path)

    def mutate(data: bytes, max_size: int, seed: int) -> bytes:
        rng = random.Random(seed)
        changed = target.mutate(data, rng, seeds) if rng.random() < 0.7 else atheris.Mutate(data, max_size)
        return changed[:max_size]

    atheris.Setup([sys.argv[0], *options], use, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
