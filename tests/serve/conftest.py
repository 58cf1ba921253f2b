from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "video"))

from films import Recipe, make_video
from studios import Client, studio_here


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 s with sound, quickly watched."""
    path = tmp_path_factory.mktemp("film") / "holiday.mp4"
    return make_video(path, Recipe(n_frames=600, fps=25, gop=25, sounds=["aac"], options={"preset": "ultrafast"}))


@pytest.fixture(scope="session")
def long_film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten minutes at two frames a second: long enough to be interrupted, though quickly made."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    return make_video(path, Recipe(n_frames=1200, fps=2, gop=20, options={"preset": "ultrafast"}))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, film: Path) -> Path:
    """A folder with a video at the top and another in a folder, and things that are none of the studio's business."""
    root = tmp_path_factory.mktemp("home")
    (root / "secret.mp4").write_bytes(film.read_bytes())
    library = root / "library"
    (library / "trips" / "2024").mkdir(parents=True)
    (library / "holiday.mp4").write_bytes(film.read_bytes())
    (library / "trips" / "2024" / "alps.mp4").write_bytes(film.read_bytes())
    (library / "notes.txt").write_text("not a video")
    (library / ".hidden.mp4").write_bytes(b"")
    (library / "leak.mp4").symlink_to(root / "secret.mp4")
    (library / "out").symlink_to(root)
    (library / "again.mp4").symlink_to(library / "holiday.mp4")
    return library


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, library: Path) -> Iterator[Client]:
    with studio_here(tmp_path_factory.mktemp("data"), library=library) as client:
        yield client


@pytest.fixture(scope="module")
def done(studio: Client, film: Path) -> dict[str, Any]:
    """A job that is done."""
    job = studio.settled(studio.upload(film, budget="25%")["id"])
    assert job["state"] == "done", job
    return job
