"""The films of tests/video, summarised here by the command itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "video"))

from browsing import chromium
from films import Recipe, make_video, video_maker

VIDEOS = Path(__file__).resolve().parents[3] / "shared" / "videos"


@pytest.fixture(scope="session")
def video_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return video_maker(tmp_path_factory.mktemp("kinds"))


@pytest.fixture(scope="session")
def beeping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """30 s in which every 15th frame comes with a beep."""
    path = tmp_path_factory.mktemp("beeps") / "beeps.mp4"
    return make_video(path, Recipe(n_frames=900, beeps=True, sounds=["aac"], b_frames=2, gop=60))


@pytest.fixture(scope="session")
def long_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Long enough to be interrupted."""
    path = tmp_path_factory.mktemp("long") / "long.mp4"
    return make_video(path, Recipe(n_frames=1500, size=(320, 240), sounds=["aac"], options={"preset": "ultrafast"}))


@pytest.fixture(scope="session")
def jumps() -> Path:
    path = VIDEOS / "Jumps.webm"
    if not path.exists():
        pytest.skip("the video of the README (../shared/videos/Jumps.webm) is not here; it may not be redistributed")
    return path


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A real Chromium, started once."""
    with chromium() as started:
        yield started
