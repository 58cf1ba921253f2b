"""The same summary whichever library computes it, and wherever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vastsum import Summarizer

torch = pytest.importorskip("torch", reason="torch is the other library")

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here"))]


@pytest.fixture(scope="module")
def expected() -> Summarizer:
    return Summarizer(fps=4)


@pytest.fixture(scope="module", params=DEVICES)
def ours(request: pytest.FixtureRequest) -> Summarizer:
    return Summarizer(fps=4, device=request.param, runtime="torch")


@pytest.mark.parametrize("kind", ["h264 mp4", "vp9 webm", "variable rate", "rotated 90", "gif", "1 frame"])
def test_every_kind_of_video(
    expected: Summarizer, ours: Summarizer, kind: str, video_of: Callable[[str], Path]
) -> None:
    assert_same_summary(expected, ours, video_of(kind))


def test_a_real_video(expected: Summarizer, ours: Summarizer, jumps: Path) -> None:
    assert_same_summary(expected, ours, jumps)


def assert_same_summary(expected: Summarizer, ours: Summarizer, video: Path) -> None:
    wanted, given = (summarizer.summarize(video) for summarizer in (expected, ours))
    assert (given.picks == wanted.picks).all()
    assert np.abs(given.importance - wanted.importance).max() < 1e-4
    assert np.abs(given.uncertainty - wanted.uncertainty).max() < 1e-4
    for budget in (0.05, 0.15, 0.5):
        assert given.with_budget(budget).ranges == wanted.with_budget(budget).ranges
