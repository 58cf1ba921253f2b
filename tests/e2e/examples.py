"""The examples of the documentation: where they stand, what is said about running them, and how they are run.

Every block of commands (`bash`) or of Python is run, a document's blocks one after another in one folder, unless an
HTML comment right before it says otherwise:

<!-- not run: REASON -->                it cannot be run here
<!-- run by: tests/PLACE.py -->         another test runs it, with what it needs
<!-- run with: vastsum train … --X -->  lines that begin so are given further options, to be done soon

A line `vastsum serve …` is started, must answer, and is ended.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
# Blocks in these are to be read, not run.
MATERIAL = {"text", "csv", "json", "toml", "html", "dockerfile"}
BLOCK = re.compile(r"(?:^<!-- *(?P<marker>[^>]*?) *-->\n)?^```(?P<language>\S*)\n(?P<code>.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^ *(```|~~~)", re.M)
PATIENCE_S = 60


def documents() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


@dataclass(frozen=True)
class Example:
    document: Path
    line: int
    language: str
    code: str
    marker: str

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"

    def marked(self, word: str) -> str:
        """What the marker says after `word`, or nothing."""
        return self.marker.removeprefix(f"{word}:").strip() if self.marker.startswith(f"{word}:") else ""

    @property
    def is_run_here(self) -> bool:
        return self.language in ("bash", "python") and not (self.marked("not run") or self.marked("run by"))

    @property
    def lines(self) -> list[str]:
        """One command each, however many lines it is written in."""
        return self.code.replace("\\\n", " ").splitlines()

    @property
    def script(self) -> str:
        """The code with the further options its marker asks for."""
        beginning, _, options = self.marked("run with").partition(" … ")
        if not options:
            return self.code
        lines = [with_options(line, options) if line.startswith(beginning) else line for line in self.lines]
        assert lines != self.lines, f"{self}: no line begins with {beginning!r}"
        return "\n".join(lines)


def with_options(line: str, options: str) -> str:
    """A command with further options, in place of its comment if there is one."""
    return re.sub(r"( +#.*)?$", f" {options}", line, count=1)


def examples_of(document: Path) -> list[Example]:
    text = document.read_text(encoding="utf-8")
    found = [
        Example(
            document, text.count("\n", 0, match.start("code")), match["language"], match["code"], match["marker"] or ""
        )
        for match in BLOCK.finditer(text)
    ]
    assert 2 * len(found) == len(FENCE.findall(text)), f"{document.name}: a block is written in an unusual way"
    return found


def run_example(example: Example, folder: Path) -> None:
    if example.language == "python":
        _run([sys.executable, "-c", example.script], example, folder)
        return
    for commands, is_server in _parts(example.script):
        if is_server:
            _serve(commands, example, folder)
        else:
            _run(["bash", "-euo", "pipefail", "-c", commands], example, folder)


def _parts(script: str) -> Iterator[tuple[str, bool]]:
    """Servers by themselves, and what stands between them."""
    between: list[str] = []
    for line in script.splitlines():
        if not line.startswith("vastsum serve"):
            between.append(line)
            continue
        yield "\n".join(between), False
        yield line, True
        between = []
    yield "\n".join(between), False


def _environment(folder: Path) -> dict[str, str]:
    """This Python's commands, and a home that is empty but for what was put into the folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "HOME": str(folder), "COLUMNS": "120"}


def _run(command: list[str], example: Example, folder: Path) -> None:
    done = subprocess.run(
        command, cwd=folder, env=_environment(folder), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{example}: {command[-1]}\n{done.stdout}{done.stderr}"


def _serve(line: str, example: Example, folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = int(listener.getsockname()[1])
    process = subprocess.Popen(
        ["bash", "-c", f"exec {with_options(line, f'--port {port}')}"], cwd=folder, env=_environment(folder)
    )
    try:
        assert _answers(f"http://127.0.0.1:{port}/", process), f"{example}: {line} does not answer"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=PATIENCE_S)


def _answers(address: str, process: subprocess.Popen[bytes]) -> bool:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s and process.poll() is None:
        try:
            with urlopen(address) as answer:
                return bool(answer.status == 200)
        except OSError:
            time.sleep(0.1)
    return False
