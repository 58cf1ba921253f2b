"""Videos of different lengths, padded together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vastsum.data import BenchmarkVideo, Kind
from vastsum.types import Segments


@dataclass(frozen=True, eq=False)
class Batch:
    """B videos, padded to the longest: T picks, M segments, U annotators."""

    features: Tensor  # (B, T, D)
    mask: Tensor  # (B, T) real picks
    segment_ids: Tensor  # (B, T)
    annotations: Tensor  # (B, U, T)
    annotators: Tensor  # (B, U) real annotators
    present: Tensor  # (B, M) real segments
    first_picks: Tensor  # (B, M) the pick in force where a segment starts
    segments: tuple[Segments, ...]
    kind: Kind  # of all videos alike: each kind has a likelihood of its own

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def n_segments(self) -> int:
        return self.present.shape[1]


def collate(videos: Sequence[BenchmarkVideo], device: str = "cpu") -> Batch:
    """Pad with zeros; padded picks point at segment 0 but are masked everywhere."""
    (kind,) = {video.kind for video in videos}
    segments = tuple(video.segments for video in videos)
    n_picks = [len(part.picks) for part in segments]
    annotations = np.zeros((len(videos), max(len(video.annotations) for video in videos), max(n_picks)), np.float32)
    annotators = np.zeros(annotations.shape[:2], bool)
    for row, video in enumerate(videos):
        n_annotators, n = video.annotations.shape
        annotations[row, :n_annotators, :n] = video.annotations
        annotators[row, :n_annotators] = True

    def tensor(array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(device)

    return Batch(
        features=tensor(_pad([video.features for video in videos])),
        mask=tensor(_pad([np.ones(n, bool) for n in n_picks])),
        segment_ids=tensor(_pad([part.ids for part in segments])),
        annotations=tensor(annotations),
        annotators=tensor(annotators),
        present=tensor(_pad([np.ones(len(part), bool) for part in segments])),
        first_picks=tensor(_pad([part.first_picks for part in segments])),
        segments=segments,
        kind=kind,
    )


def _pad(arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
    longest = max(len(array) for array in arrays)
    padded = np.zeros((len(arrays), longest, *arrays[0].shape[1:]), arrays[0].dtype)
    for row, array in enumerate(arrays):
        padded[row, : len(array)] = array
    return padded
