"""Every example of the documentation runs as it stands there, or says why not."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from examples import MATERIAL, ROOT, Example, documents, examples_of, run_example
from films import Recipe, make_video

from vastsum.bench.data import make_synthetic
from vastsum.cli.app import app

PEOPLE = "\n".join(
    ["video,annotator,start_s,end_s"]
    + [f"{video},{person},{start},{start + 2}" for video in "abcd" for start, person in ((0, "anna"), (2, "ben"))]
)
ALL = [example for document in documents() for example in examples_of(document)]


@pytest.fixture(scope="session")
def material(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the documentation speaks of, small."""
    folder = tmp_path_factory.mktemp("material")
    for place in ("talks", "videos", "Videos"):
        (folder / place).mkdir()
    long = make_video(folder / "holiday.mp4", Recipe(n_frames=240, sounds=["aac"], gop=24))
    make_video(folder / "match.mkv", Recipe(n_frames=240, sounds=["aac"], gop=24))
    make_video(folder / "lecture.mp4", Recipe(n_frames=240, sounds=["aac"], gop=24))
    make_video(folder / "talks" / "first.mp4", Recipe(n_frames=100, fps=1))  # longer than the budget of its example
    shutil.copy(long, folder / "Videos")
    for name in "abcd":
        make_video(folder / "videos" / f"{name}.mp4", Recipe(n_frames=120))
    (folder / "people.csv").write_text(PEOPLE)
    for kind in ("tvsum", "summe"):
        make_synthetic(
            folder / f"{kind}.h5", kind=kind, n_videos=5, n_annotators=3, feature_width=16, mean_duration_s=20
        )
        shutil.copy(folder / f"{kind}.h5", folder / f"{kind}.googlenet.h5")
    return folder


@pytest.mark.parametrize("document", [d for d in documents() if any(e.is_run_here for e in examples_of(d))],
                         ids=lambda document: document.name)  # fmt: skip
def test_the_examples_run(document: Path, material: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(material, tmp_path / "work"))
    for example in examples_of(document):
        if example.is_run_here:
            run_example(example, folder)


@pytest.mark.parametrize("example", ALL, ids=str)
def test_every_block_says_what_it_is(example: Example) -> None:
    assert example.language in MATERIAL | {"bash", "python"}, (
        f"'{example.language}' is not known to tests/e2e/examples.py"
    )
    kinds = ("not run", "run by", "run with", "example")
    assert not example.marker or any(example.marked(kind) for kind in kinds), f"unknown marker: {example.marker}"
    if elsewhere := example.marked("run by"):
        assert example.document.name in (ROOT / elsewhere).read_text(encoding="utf-8")


def commands_in_prose() -> list[tuple[str, str]]:
    """`vastsum …` within sentences, and the lines of blocks that are not run."""
    found = []
    for document in documents():
        text = document.read_text(encoding="utf-8")
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        found += [(document.name, code) for code in re.findall(r"`(vastsum [^`]+)`", prose)]
    for example in ALL:
        if example.language == "bash" and not example.is_run_here:
            found += [(str(example), line) for line in example.lines if line.startswith("vastsum ")]
    return sorted(set(found))


@pytest.mark.parametrize(("place", "command"), commands_in_prose(), ids=lambda text: text)
def test_commands_in_prose_have_only_options_there_are(place: str, command: str) -> None:
    known = typer.main.get_command(app)
    name, *arguments = shlex.split(command, comments=True)[1:]
    if name.startswith("-"):
        return
    assert name in known.commands, f"{place}: there is no command {name}"
    options = {option for parameter in known.commands[name].params for option in parameter.opts}
    for argument in arguments:
        if argument.startswith("-"):
            assert argument.partition("=")[0] in options | {"--help"}, f"{place}: {name} has no option {argument}"


def test_scripts_that_are_named_exist() -> None:
    for document in (*documents(), ROOT / "studies" / "README.md"):
        text = document.read_text(encoding="utf-8")
        for path in re.findall(r"python ((?:scripts|benchmarks|studies)/\w+\.py)", text):
            assert (ROOT / path).is_file(), f"{document.name} names {path}"
