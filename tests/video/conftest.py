from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from films import Recipe, make_video, video_maker


@pytest.fixture(scope="session")
def video_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return video_maker(tmp_path_factory.mktemp("videos"))


@pytest.fixture(scope="session")
def edit_list_video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """90 frames, of which an edit list hides the first ten, in the middle of a group of pictures."""
    path = tmp_path_factory.mktemp("edited") / "edited.mp4"
    return make_video(path, Recipe(times=range(-10, 80), b_frames=2, container_options={"use_editlist": "1"}))
