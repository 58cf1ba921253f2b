"""`make demo`: a film of its own, summarised in every format."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

import vastsum
from vastsum.cli import demo
from vastsum.export import FORMATS


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The demo in an empty folder, every scene cut down to a second."""
    scenes = tuple(demo.Scene(scene.draw, scene.tones_hz, 1) for scene in demo.SCENES)
    monkeypatch.setattr(demo, "SCENES", scenes)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "demo"


def test_demo_runs_and_runs_again(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        demo.main()
        wanted = {"film.mp4", *(f"film{format.suffix}" for format in FORMATS.values())}
        assert {path.name for path in short.iterdir()} == wanted
        said = capsys.readouterr().out
        assert "importance" in said
        assert "film.summary.mp4" in said
    summary = vastsum.Summary.load(short / "film.summary.json")
    assert summary.video.duration_s == pytest.approx(len(demo.SCENES))
    with av.open(str(short / "film.mp4")) as film:
        assert film.streams.video
        assert film.streams.audio


def test_something_in_the_way_is_one_line(short: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short.write_text("a file")
    with pytest.raises(SystemExit) as end:
        demo.main()
    assert end.value.code == 1
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("error: ")
    assert "demo" in line


def test_scenes_look_and_sound_different() -> None:
    drawn = {scene.draw.__name__: scene.draw(3.0) for scene in demo.SCENES}
    for name, image in drawn.items():
        assert image.shape == (demo.HEIGHT, demo.WIDTH, 3)
        others = [other for other_name, other in drawn.items() if other_name != name]
        assert min(float(np.abs(image - other).mean()) for other in others) > 0.1
    assert len({scene.tones_hz for scene in demo.SCENES}) == len(drawn)
    assert 40 <= sum(scene.duration_s for scene in demo.SCENES) <= 60


@pytest.mark.parametrize(("position", "expected"), [(0, 0), (1, 1), (1.5, 0.5), (2, 0), (3, -1), (4, 0), (-1, -1)])
def test_bounce(position: float, expected: float) -> None:
    assert demo.bounce(position) == pytest.approx(expected)
