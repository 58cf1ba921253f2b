"""What the fault walk does with the program: its commands on small inputs, and what is in the folder afterwards."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import typer
from films import Recipe, make_video

from vastsum.bench.data import make_synthetic
from vastsum.cli import main
from vastsum.jobs.one import load_models

EARLIER = b"what an earlier run left here"
COMMAND_OF = cache(typer.main.get_command)  # made of the same functions every time, and slowly
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
    `resumes` names what may stay after a failure for the next run to go on with, `measured` the files that hold times
    and so are never the same twice. In `pictures` another frame may stand in for one that cannot be decoded. `answers`
    says that a failure may be told as the command's answer. `slow` ones are walked by the script only.
    """

    name: str
    arguments: Sequence[str]
    about: tuple[str, ...]
    make_inputs: Callable[[Path], None]
    replaces: tuple[str, ...] = ()
    resumes: str = "(?!)"  # nothing
    measured: str = "(?!)"
    pictures: str = r".*\.(png|html)"
    answers: bool = False
    slow: bool = False


def run(scenario: Scenario, inputs: Path, output: Path) -> Ended:
    argv = ["vastsum", *(argument.format(inputs=inputs, output=output) for argument in scenario.arguments)]
    said, errors = io.StringIO(), io.StringIO()
    code: object = 0
    quickly = patch.object(typer.main, "get_command", COMMAND_OF)
    with patch.object(sys, "argv", argv), quickly, redirect_stdout(said), redirect_stderr(errors):
        try:
            main()
        except SystemExit as end:
            code = end.code
    load_models.cache_clear()  # which ends with the process
    return Ended(int(str(code or 0)), said.getvalue(), errors.getvalue())


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
        return run(self.scenario, self.inputs, self.output)

    def files(self) -> Files:
        """Everything below the output folder."""
        names = [str(path.relative_to(self.output)) for path in sorted(self.output.rglob("*")) if path.is_file()]
        return {name: self._digest(name) for name in names}

    def _digest(self, name: str) -> str:
        content = (self.output / name).read_bytes()
        if content != EARLIER and re.fullmatch(self.scenario.measured, name):
            return "measured"
        return _digest(content)


def _digest(content: bytes) -> str:
    """Of all but the seconds that results of trainings tell."""
    return hashlib.sha256(re.sub(rb'"seconds": [\d.e-]+', b"", content)).hexdigest()


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
    _summarize("mp4", "mp4", ("assets", "cli", "jobs", "features", "scorers", "video", "files.py", "export/mp4.py")),
    _summarize("turned", "mp4", ("video/upright.py",), film=_turned_film),
    _summarize("copy", "mp4", ("video/remux.py",), "--copy"),
    _summarize("fast", "mp4", ("export/writing.py",), "--fast"),
    _summarize("json", "json", ("files.py",)),
    _summarize("png", "png", ("export/drawing.py",)),
    _summarize("storyboard", "storyboard", ("export/storyboard.py",)),
    _summarize("html", "html", ("export/html.py", "export/page")),
    _summarize("editors", "edl,otio,vtt", ("export",)),
]


def _synthetic(folder: Path) -> None:
    make_synthetic(folder / "data.h5", kind="summe", n_videos=3, n_annotators=2, feature_width=4, mean_duration_s=12)
    splits = [{"train": ["synth_1", "synth_2"], "test": ["synth_3"]}]
    (folder / "splits.json").write_text(json.dumps(splits))


def _annotated_film(folder: Path) -> None:
    _film(folder)
    (folder / "people.csv").write_text("video,annotator,start_s,end_s\nfilm,Ann,0,1\nfilm,Bo,1,2\n")


_SMALL = ("network.width=4", "network.heads=1", "network.layers=1", "network.head_width=4", "network.positions=16",
          "training.epochs=2", "loss.rank_pairs=8")  # fmt: skip
_TRAIN = ("train", "{inputs}/data.h5", "--splits={inputs}/splits.json", "--protocol=5fcv", "--workers=1", "--resume",
          *(f"--set={setting}" for setting in _SMALL))  # fmt: skip


def _trained(folder: Path) -> None:
    _synthetic(folder)
    scenario = Scenario("", (*_TRAIN, "-o", "{output}/in/run"), (), lambda _: None)
    ended = run(scenario, inputs=folder, output=folder.parent)
    assert ended.code == 0, ended.errors


RESEARCH = [
    Scenario(
        name="prepare",
        arguments=("prepare", "{inputs}/film.mp4", "-o", "{output}/own.h5", "--annotations={inputs}/people.csv",
                   "--overwrite", "--fps=4"),
        about=("bench/data/prepare.py", "bench/data/annotations.py", "cli/prepare.py"),
        make_inputs=_annotated_film,
        replaces=("own.h5",),
        resumes=r"own\.h5\.parts/\w+\.npz",
    ),
    Scenario(
        name="synth",
        arguments=("synth", "-o", "{output}/synthetic.h5", "--videos=3", "--width=4", "--overwrite"),
        about=("bench/data/synthetic.py", "cli/synth.py"),
        make_inputs=lambda _: None,
        replaces=("synthetic.h5",),
    ),
    Scenario(
        name="check",
        arguments=("check", "{inputs}/data.h5"),
        about=("cli/check.py", "bench/data/benchmark.py"),
        make_inputs=_synthetic,
        answers=True,
    ),
    Scenario(
        name="train",
        arguments=(*_TRAIN, "-o", "{output}/run"),
        about=("bench/plan.py", "bench/records.py", "bench/runs.py", "bench/work.py", "bench/data/splits.py"),
        make_inputs=_synthetic,
        resumes="run/.*",
    ),
    Scenario(
        name="evaluate",
        arguments=("evaluate", "{inputs}/run", "{inputs}/data.h5", "--json={output}/found.json",
                   "--html={output}/found.html"),
        about=("bench/report.py", "bench/page", "bench/measures.py", "bench/checkpoints.py", "cli/evaluate.py"),
        make_inputs=_trained,
        replaces=("found.json", "found.html"),
    ),
    Scenario(
        name="benchmark",
        arguments=("benchmark", "{inputs}/data.h5", "-o", "{output}/bench", "--splits={inputs}/splits.json",
                   "--methods=length", "--protocol=last", "--workers=1", "--resume"),
        about=("bench/tables.py", "bench/cost.py", "bench/choosing.py", "cli/benchmark.py"),
        make_inputs=_synthetic,
        resumes="bench/.*",
        measured=r"bench/(costs\.json|tables/.*|.*\.html)",
    ),
    Scenario(
        name="export",
        arguments=("export", "{inputs}/run/split0.seed0/last.safetensors", "-o", "{output}/model.onnx", "--overwrite"),
        about=("bench/export.py", "cli/export.py"),
        make_inputs=_trained,
        replaces=("model.onnx",),
        slow=True,
    ),
]  # fmt: skip
SCENARIOS = {scenario.name: scenario for scenario in (*SUMMARIZE, *RESEARCH)}
