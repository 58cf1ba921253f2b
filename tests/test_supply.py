"""What the project is made of: the licence of each dependency is known, and an audit that asked nobody fails."""

from __future__ import annotations

import runpy
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def audit() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "audit.py"))


def test_every_locked_dependency_has_an_allowed_licence(audit: dict[str, Any]) -> None:
    found = audit["packages"]()
    assert len(found) == len(audit["locked"]()) > 50
    assert not [package for package in found if not package.is_allowed]
    core = {package.name for package in found if package.use == "core"}
    assert {"av", "numpy", "onnxruntime", "scipy"} <= core
    assert not core & {"torch", "fastapi", "ray", "pytest"}


def test_the_report_is_that_of_the_locked_versions(audit: dict[str, Any]) -> None:
    written = (ROOT / "docs" / "licences.md").read_text(encoding="utf-8")
    assert written == audit["report"](audit["packages"]()), "run: make audit"


@pytest.mark.parametrize(
    ("fields", "use", "allowed"),
    [
        ([("License-Expression", "MIT")], "core", True),
        ([("License-Expression", "GPL-3.0 OR MIT")], "core", True),
        ([("License-Expression", "MIT AND GPL-3.0")], "core", False),
        ([("License", "GPL-3.0")], "core", False),
        ([("License", "GPL-3.0")], "development", True),
        ([("License", "AGPL-3.0")], "development", False),
        ([("License", "see file"), ("Classifier", "License :: OSI Approved :: BSD License")], "core", True),
        ([("Classifier", "License :: Other/Proprietary License")], "core", False),
        ([], "development", False),
    ],
)
def test_licences_are_read_and_judged(
    audit: dict[str, Any], fields: list[tuple[str, str]], use: str, allowed: bool
) -> None:
    about = Message()
    for name, value in [("Name", "thing"), *fields]:
        about[name] = value
    assert audit["Package"]("thing", "1", audit["licence_of"](about), use).is_allowed is allowed


def test_an_audit_that_asked_nobody_does_not_pass(audit: dict[str, Any]) -> None:
    clean = {"name": "a", "version": "1", "vulns": []}
    unknown = {"name": "b", "skip_reason": "Dependency not found on PyPI and could not be audited: b (1)"}
    flawed = {"name": "c", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2"]}]}
    complaints = audit["complaints_about"]
    assert complaints([clean]) == []
    assert complaints([unknown, unknown]) == [audit["UNASKED"]]
    assert "NOT CHECKED" in audit["UNASKED"]
    assert complaints([clean, unknown]) == ["b: the database does not know it"]
    assert complaints([clean, flawed]) == ["c 1: PYSEC-1, mended in 2"]
