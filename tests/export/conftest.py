from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from summaries import COLOURS, make_summary

from vastsum.summary import Summary


@pytest.fixture(scope="session")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 frames at 25 a second, silent, of which every 60 are of one colour."""
    path = tmp_path_factory.mktemp("film") / "five colours.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=Fraction(25), options={"preset": "ultrafast", "g": "30"})
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for n in range(300):
            picture = np.full((90, 160, 3), COLOURS[n // 60], dtype=np.uint8)
            out.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        out.mux(stream.encode(None))
    return path


@pytest.fixture
def summary() -> Summary:
    """Of a video that is no longer there."""
    return make_summary()


@pytest.fixture
def filmed(video: Path) -> Summary:
    return make_summary(video)
