"""What a release is made of agrees with itself: version, changelog, image."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from vastsum import __version__

ROOT = Path(__file__).resolve().parents[1]
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")


def test_the_changelog_is_headed_by_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *released = re.findall(r"^## (.*)$", text, re.M)
    assert unreleased == "[Unreleased]"
    versions = []
    for heading in released:
        version, day = re.fullmatch(r"\[(.+)\] - (\d{4}-\d\d-\d\d)", heading).groups()  # type: ignore[union-attr]
        assert SEMANTIC.fullmatch(version)
        versions.append((date.fromisoformat(day), [int(part) for part in version.split("-")[0].split(".")], version))
    assert versions[0][2] == __version__
    assert versions == sorted(versions, reverse=True)
    assert set(re.findall(r"^### (.*)$", text, re.M)) <= KINDS


def test_the_image_is_made_of_files_that_are_there_and_let_through() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    let_through = {line[1:] for line in lines if line.startswith("!")}
    instructions = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    copied = [
        source for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", instructions, re.M) for source in sources.split()
    ]
    assert set(copied) == let_through
    assert all((ROOT / source).exists() for source in copied)
    assert {"pyproject.toml", "README.md", "LICENSE", "share", "src"} <= set(copied), "the wheel is made of these"


def test_the_image_does_not_run_as_root() -> None:
    final = (ROOT / "Dockerfile").read_text(encoding="utf-8").rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\S+)$", final, re.M)
    assert user.isdecimal()
    assert int(user) > 0
    assert final.index("USER ") < final.index("ENTRYPOINT ")
