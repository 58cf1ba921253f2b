"""A video watched: its sampled frames as vectors, without ever holding more than a handful of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vastsum.features.backbone import Backbone
from vastsum.types import FloatArray, IntArray
from vastsum.video import Timeline, sample

FRAMES_AT_ONCE = 32


class Watched(NamedTuple):
    features: FloatArray  # (T, D)
    picks: IntArray  # (T,) which frames they are
    timeline: Timeline  # of all frames


def watch(
    video: str | os.PathLike[str],
    backbone: Backbone,
    fps: float,
    *,
    keyframes_only: bool = False,
    threads: int = 0,
    progress: Callable[[float, float | None], None] | None = None,
) -> Watched:
    """Sample `fps` frames a second and extract their features, while decoding goes on in a thread of its own.

    `progress` is told the seconds done, and those the file promises, if it does. `threads` is how many cores decoding
    may use; 0 means all.
    """
    height, width = backbone.input_size
    features = np.empty((0, backbone.width), np.float16)  # as in benchmark files; half the memory
    picks: list[int] = []
    images: list[np.ndarray] = []
    looking = sample(
        video, fps, size=(width, height), keyframes_only=keyframes_only, threads=threads, progress=progress
    )
    with looking as samples:
        for taken in samples:
            picks.append(taken.index)
            images.append(taken.image)
            if len(images) == FRAMES_AT_ONCE:
                _append(features, backbone.extract(np.stack(images)))
                images.clear()
        if images:
            _append(features, backbone.extract(np.stack(images)))
        return Watched(features, np.array(picks, dtype=np.int64), samples.timeline)


def _append(rows: FloatArray, more: FloatArray) -> None:
    """Add rows in place. Joining pieces at the end would hold all of them twice; a large array is resized by moving
    pages, not bytes."""
    n = len(rows)
    rows.resize((n + len(more), rows.shape[1]), refcheck=False)
    rows[n:] = more
