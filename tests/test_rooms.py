"""Data flows one way: a room imports only from rooms above it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import vastsum

SOURCE = Path(vastsum.__file__).parent
ROOMS = [
    "errors", "types", "files", "assets", "onnx_runtime", "video", "sound", "features", "segmentation", "scorers",
    "selection", "summary", "export", "data", "training", "evaluation", "jobs", "serve", "cli",
]  # fmt: skip
FACE = {"__init__", "__main__", "summarizer"}  # the public face may look into every room
ALLOWED = {("summary", "export")}  # Summary.save hands itself to the export room


def imported_rooms(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("vastsum.")}
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_upwards(path: Path) -> None:
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room in FACE:
        return
    above = set(ROOMS[: ROOMS.index(room) + 1])
    below = {other for other in imported_rooms(path) - above - FACE if (room, other) not in ALLOWED}
    assert not below, f"{room} imports from {sorted(below)}, which lie below it"
