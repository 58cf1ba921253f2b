"""summary.json, and whether what it says can be used: another budget, and writing it again."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fuzz.mutation import mutate_json
from fuzz.target import Target
from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import Prediction, Segments


def seeds(folder: Path) -> list[bytes]:
    made = []
    for n_segments, budget in ((1, 0.15), (3, 0.5)):
        n_frames = 10 * n_segments
        starts = np.arange(n_segments) * 10
        segments = Segments(np.stack([starts, starts + 9], axis=1), np.arange(0, n_frames, 5), n_frames)
        video = SourceVideo(Path("film.mp4"), n_frames / 25, 25.0, n_frames, 64, 48)
        prediction = Prediction(np.linspace(0.2, 0.8, len(segments.picks)), np.full(len(segments.picks), 0.1))
        summary = Summary.choose(video, ModelNames("vastsum", "efficientnet_lite0"), prediction, segments, budget)
        summary.save(folder / "seed.json", overwrite=True)
        made.append((folder / "seed.json").read_bytes())
    return made


def use(path: Path) -> None:
    summary = Summary.load(path)
    if summary.video.n_frames <= 1000:  # beyond, choosing takes too long to be done a million times
        summary.with_budget(0.3).save(path.with_suffix(".again.json"))


TARGET = Target("summary.json", seeds, use, mutate_json)
