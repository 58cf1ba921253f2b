from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from films import KINDS, Recipe, make_video


@pytest.fixture(scope="session")
def video_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A video of one of the KINDS; each is made once."""
    folder = tmp_path_factory.mktemp("videos")

    def video(kind: str) -> Path:
        suffix, recipe = KINDS[kind]
        path = folder / (kind.replace(" ", "_").replace(":", "") + suffix)
        return path if path.exists() else make_video(path, recipe)

    return video


@pytest.fixture(scope="session")
def edit_list_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """90 frames, of which an edit list hides the first ten, in the middle of a group of pictures."""
    path = tmp_path_factory.mktemp("edited") / "edited.mp4"
    return make_video(path, Recipe(times=range(-10, 80), b_frames=2, container_options={"use_editlist": "1"}))
