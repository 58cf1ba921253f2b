"""A video watched: its sampled frames as vectors, without ever holding more than a handful of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from vastsum.features.backbone import Backbone
from vastsum.types import FloatArray, IntArray
from vastsum.video import Shots, Timeline, sample
from vastsum.video.sampling import Sample


class Watched(NamedTuple):
    features: FloatArray  # (T, D)
    picks: IntArray  # (T,) which frames they are
    timeline: Timeline  # of all frames
    shots: Shots


def watch(
    video: str | os.PathLike[str],
    backbone: Backbone,
    fps: float,
    *,
    keyframes_only: bool = False,
    threads: int = 0,
    progress: Callable[[float, float | None], None] | None = None,
) -> Watched:
    """Sample `fps` frames a second and extract their features. Decoding goes on in a thread of its own, and the next
    frames are gathered while the features of the last ones are computed.

    `progress` is told the seconds done, and those the file promises, if it does. `threads` is how many cores decoding
    may use; 0 means all.
    """
    height, width = backbone.input_size
    features = np.empty((0, backbone.width), np.float16)  # as in benchmark files; half the memory
    picks: list[int] = []
    under_way: Callable[[], FloatArray] | None = None
    looking = sample(
        video, fps, size=(width, height), keyframes_only=keyframes_only, threads=threads, progress=progress
    )
    with looking as samples:
        for taken in _batches(samples, backbone.frames_at_once):
            picks += [one.index for one in taken]
            started = backbone.start(np.stack([one.image for one in taken]))
            if under_way:
                _append(features, under_way())
            under_way = started
        if under_way:
            _append(features, under_way())
        return Watched(features, np.array(picks, dtype=np.int64), samples.timeline, samples.shots)


def _batches(samples: Iterator[Sample], size: int) -> Iterator[list[Sample]]:
    while batch := list(islice(samples, size)):
        yield batch


def _append(rows: FloatArray, more: FloatArray) -> None:
    """Add rows in place. Joining pieces at the end would hold all of them twice; a large array is resized by moving
    pages, not bytes."""
    n = len(rows)
    rows.resize((n + len(more), rows.shape[1]), refcheck=False)
    rows[n:] = more
