"""Summaries to export, made without a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import Prediction, Segments

COLOURS = [(220, 40, 40), (40, 200, 60), (50, 80, 230), (230, 210, 40), (30, 200, 210)]


def make_summary(
    path: Path | str = "films/holiday.mp4",
    *,
    fps: float = 25.0,
    n_frames: int = 300,
    n_segments: int = 10,
    budget: float = 0.25,
    size: tuple[int, int] = (160, 90),
    seed: int = 0,
) -> Summary:
    """Evenly spaced frames in equal segments, a pick every fifth frame, random importance."""
    starts = np.arange(n_segments) * n_frames // n_segments
    bounds = np.column_stack([starts, np.append(starts[1:], n_frames) - 1])
    picks = np.arange(0, n_frames, 5)
    rng = np.random.default_rng(seed)
    prediction = Prediction(rng.random(len(picks)), rng.uniform(0.05, 0.2, len(picks)))
    video = SourceVideo(Path(path), n_frames / fps, float(fps), n_frames, *size)
    return Summary.choose(
        video, ModelNames("vastsum", "efficientnet_lite0"), prediction, Segments(bounds, picks, n_frames), budget
    )
