"""Walk over every call that the commands make to disk, decoders, encoders and networks, with a fault at each in turn.

    python scripts/fault_walk.py [--scenario NAME …] [--quick] [--json FILE]

For each command: a clean run notes all calls. Then, one run a fault, an error (a full or failing disk, damaged data, a
network that fails) is raised at the first, the middle and the last call of every place in the program; memory runs out
at the first; and the first is slow. Every run must end in its result or in one line of error that says what and where,
leave nothing half-written, nothing open and no thread behind; and the next run must succeed with the same result.

Prints each place with its outcomes, as a table for docs/reliability.md, and exits with 1 on any violation.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / folder) for folder in ("faults", "video")]

from injection import Site  # noqa: E402
from scenarios import SCENARIOS, Scenario, Stage  # noqa: E402
from walking import Step, Walk  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", nargs="*", choices=SCENARIOS, default=list(SCENARIOS), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="what the test suite walks: each place once")
    parser.add_argument("--json", type=Path, help="write every step here")
    asked = parser.parse_args()
    steps: list[Step] = []
    for name in asked.scenario:
        for step in walk(SCENARIOS[name], quick=asked.quick):
            steps.append(step)
            for violation in step.violations:
                print(f"VIOLATION {name}, {step.site}, call {step.nth}, {step.fault}: {violation}", file=sys.stderr)
        print(f"{name}: {sum(step.scenario == name for step in steps)} faults", file=sys.stderr, flush=True)
        if asked.json:
            asked.json.write_text(json.dumps([asdict(step) for step in steps], indent=1))
    print("\n".join(table(steps)))
    sys.exit(1 if any(step.violations for step in steps) else 0)


def walk(scenario: Scenario, *, quick: bool) -> Iterator[Step]:
    with tempfile.TemporaryDirectory() as folder:
        walked = Walk(Stage(scenario, Path(folder)))
        if quick:
            yield from (walked.step(site) for site in walked.own_sites())
            return
        for site in sorted(walked.calls):
            for nth in walked.positions(site):
                yield walked.step(site, nth)
        for site in walked.own_sites():
            yield walked.step(site, 0, "no memory")
            yield walked.step(site, 0, "slow")


def table(steps: list[Step]) -> Iterator[str]:
    """A line a place: what is called there, how many faults it met, and what came of them."""
    found: dict[Site, Counter[str]] = defaultdict(Counter)
    for step in steps:
        found[step.site][step.outcome or "VIOLATION"] += 1
    outcomes = Counter(step.outcome or "VIOLATION" for step in steps)
    yield f"{len(found)} call sites, {len(steps)} faults: " + ", ".join(f"{n} × {what}" for what, n in outcomes.items())
    yield ""
    yield "| where | calls | kind | what came of a fault |"
    yield "| --- | --- | --- | --- |"
    for site in sorted(found):
        came = ", ".join(f"{what} ({n})" for what, n in found[site].most_common())
        yield f"| `{site.file}` {site.function} | `{site.call}` | {site.kind} | {came} |"


if __name__ == "__main__":
    main()
