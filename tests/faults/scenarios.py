"""What the fault walk does with the program: its commands on small inputs, and what is in the folder afterwards."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from films import Recipe, make_video

from vastsum.cli import main

EARLIER = b"what an earlier run left here"
Files = dict[str, str]  # name below the output folder, and a digest of what is in it


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it said."""

    code: int
    said: str
    errors: str


@dataclass(frozen=True)
class Scenario:
    """A command. `arguments` may hold {inputs} and {output}; `replaces` are files of an earlier run that it replaces.

    `about` are the parts of the program whose calls are its own to walk, so that each is walked in one scenario only.
    `resumes` names what may stay after a failure for the next run to go on with.
    """

    name: str
    arguments: Sequence[str]
    about: tuple[str, ...]
    make_inputs: Callable[[Path], None]
    replaces: tuple[str, ...] = ()
    resumes: str = "(?!)"  # nothing


class Stage:
    """A folder in which one scenario is run again and again."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self.inputs, self.output = folder / "in", folder / "out"
        self.inputs.mkdir(parents=True)
        scenario.make_inputs(self.inputs)

    def clear(self) -> None:
        """As it is before a first run, but for what an earlier one wrote."""
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir()
        for name in self.scenario.replaces:
            (self.output / name).write_bytes(EARLIER)

    def run(self) -> Ended:
        places = {"inputs": self.inputs, "output": self.output}
        argv = ["vastsum", *(argument.format(**places) for argument in self.scenario.arguments)]
        said, errors = io.StringIO(), io.StringIO()
        code: object = 0
        with patch.object(sys, "argv", argv), redirect_stdout(said), redirect_stderr(errors):
            try:
                main()
            except SystemExit as end:
                code = end.code
        return Ended(int(str(code or 0)), said.getvalue(), errors.getvalue())

    def files(self) -> Files:
        """Everything below the output folder."""
        return {
            str(path.relative_to(self.output)): _digest(path.read_bytes())
            for path in sorted(self.output.rglob("*"))
            if path.is_file()
        }


def _digest(content: bytes) -> str:
    """Of all but the times that were measured, which differ from run to run."""
    return hashlib.sha256(re.sub(rb'"(seconds|milliseconds)": [\d.e-]+', b"", content)).hexdigest()


EARLIER_DIGEST = _digest(EARLIER)


def _film(folder: Path) -> None:
    make_video(folder / "film.mp4", Recipe(n_frames=60, gop=15, b_frames=2, sounds=["aac"], size=(64, 48)))


def _turned_film(folder: Path) -> None:
    """Held upright by a filter graph, and with key frames that can be copied from."""
    make_video(folder / "film.mp4", Recipe(n_frames=60, gop=15, sounds=["aac"], size=(64, 48), rotation=90))


def _summarize(
    name: str, formats: str, about: tuple[str, ...], *more: str, film: Callable[[Path], None] = _film
) -> Scenario:
    endings = {"storyboard": "storyboard.png"}
    return Scenario(
        name=f"summarize {name}",
        arguments=("summarize", "{inputs}/film.mp4", "-o", "{output}", "--overwrite", f"--formats={formats}",
                   "--budget=30%", "--fps=4", *more),
        about=about,
        make_inputs=film,
        replaces=tuple(f"film.summary.{endings.get(ending, ending)}" for ending in formats.split(",")),
    )  # fmt: skip


SUMMARIZE = [
    _summarize("mp4", "mp4", ("assets", "cli", "features", "scorers", "video", "export/mp4.py")),
    _summarize("turned", "mp4", ("video/upright.py",), film=_turned_film),
    _summarize("copy", "mp4", ("video/remux.py",), "--copy"),
    _summarize("fast", "mp4", ("export/writing.py",), "--fast"),
    _summarize("json", "json", ("files.py",)),
    _summarize("png", "png", ("export/drawing.py",)),
    _summarize("storyboard", "storyboard", ("export/storyboard.py",)),
    _summarize("html", "html", ("export/html.py", "export/page")),
    _summarize("editors", "edl,otio,vtt", ("export",)),
]
SCENARIOS = {scenario.name: scenario for scenario in SUMMARIZE}
