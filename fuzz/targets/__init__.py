"""One file a reader. A further one is a further name here."""

from __future__ import annotations

from importlib import import_module

from fuzz.target import Target

NAMES = (
    "summary-json",
    "splits",
    "config",
    "budget",
    "annotations-json",
    "annotations-csv",
    "scores-tsv",
    "manifest",
    "run-json",
    "outcome-json",
    "checkpoint",
    "benchmark-h5",
    "studio-request",
    "video",
)


def find_target(name: str) -> Target:
    """Imported when it is needed: some readers bring large libraries with them."""
    target: Target = import_module(f"fuzz.targets.{name.replace('-', '_')}").TARGET
    return target
