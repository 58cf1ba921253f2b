"""Spoil files by chance and give them to everything that reads files.

    python scripts/fuzz.py [--target NAME …] [--inputs N] [--minutes M] [--seed S] [--engine mutation|atheris]

`mutation` changes real files, most of them so that they stay what they are but for a few values; each target runs in a
process of its own, with bounded memory and time. `atheris` (pip install atheris) is guided by what each input makes the
program do; it is for readers in Python. Inputs that do harm are kept, with what was said of them, under --keep.
Exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from fuzz.engine import fuzz  # noqa: E402
from fuzz.guided import fuzz_guided  # noqa: E402
from fuzz.targets import NAMES  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", nargs="*", choices=NAMES, default=NAMES)
    parser.add_argument("--inputs", type=int, default=10**9, help="a target, at most")
    parser.add_argument("--minutes", type=float, default=1.0, help="a target, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", choices=("mutation", "atheris"), default="mutation")
    parser.add_argument("--keep", type=Path, default=ROOT / "runs" / "fuzz")
    asked = parser.parse_args()
    run = fuzz_guided if asked.engine == "atheris" else fuzz
    n_findings = 0
    for name in asked.target:
        report = run(name, max_inputs=asked.inputs, seconds=60 * asked.minutes, seed=asked.seed, keep=asked.keep)
        print(time.strftime("%Y-%m-%d %H:%M"), report, flush=True)
        n_findings += len(report.findings)
    sys.exit(1 if n_findings else 0)


if __name__ == "__main__":
    main()
