"""Data flows one way: a room imports only from rooms above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from films import Recipe, make_video

import vastsum

SOURCE = Path(vastsum.__file__).parent
ROOMS = [
    "errors", "types", "files", "assets", "onnx_runtime", "video", "sound", "features", "segmentation",
    "selection", "scoring", "summary", "export", "jobs", "serve", "bench", "cli",
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


PROGRAM = """
import sys
from pathlib import Path

import vastsum
from vastsum.cli.app import app

app(["summarize", sys.argv[1], "-o", sys.argv[2]], standalone_mode=False)
assert list(Path(sys.argv[2]).glob("*.mp4"))
bench = [name for name in sys.modules if name.startswith("vastsum.bench")]
assert not bench, f"imported {bench}"
assert "torch" not in sys.modules
"""


def test_summarizing_imports_nothing_of_the_bench(tmp_path: Path) -> None:
    video = make_video(tmp_path / "film.mp4", Recipe(n_frames=120))
    subprocess.run([sys.executable, "-c", PROGRAM, video, tmp_path / "made"], check=True)
