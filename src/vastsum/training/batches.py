"""Benchmark videos as tensors, kept on the device and padded together when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from vastsum.data import BenchmarkVideo
from vastsum.scorers.batch import Batch
from vastsum.selection import select
from vastsum.types import Kind, Prediction, Segments


@dataclass(frozen=True, eq=False)
class VideoTensors:
    """One video, unpadded."""

    features: Tensor  # (T, D)
    segment_ids: Tensor  # (T,)
    annotations: Tensor  # (T, U)
    targets: Tensor  # (T,)
    keyshots: Tensor  # (T,)
    first_picks: Tensor  # (M,)
    segments: Segments
    kind: Kind

    @classmethod
    def of(cls, video: BenchmarkVideo, device: torch.device | str = "cpu") -> VideoTensors:
        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(device)

        segments = video.segments
        targets = video.annotations.mean(axis=0)
        best = select(Prediction(targets, np.zeros_like(targets)), segments).chosen
        return cls(
            features=tensor(video.features.astype(np.float32)),
            segment_ids=tensor(segments.ids),
            annotations=tensor(video.annotations.T),
            targets=tensor(targets),
            keyshots=tensor(best[segments.ids].astype(np.float32)),
            first_picks=tensor(segments.first_picks),
            segments=segments,
            kind=video.kind,
        )

    @property
    def n_picks(self) -> int:
        return len(self.features)


def pad(videos: Sequence[VideoTensors]) -> Batch:
    """Zeros after the end of each video; padded picks point at segment 0 but are masked everywhere."""
    device = videos[0].features.device

    def padded(name: str) -> Tensor:
        return pad_sequence([getattr(video, name) for video in videos], batch_first=True)

    def real(counts: Sequence[int]) -> Tensor:
        ends = torch.tensor(counts, device=device)[:, None]
        return torch.arange(max(counts), device=device)[None] < ends

    n_annotators = [video.annotations.shape[1] for video in videos]
    annotations = torch.zeros(
        len(videos), max(n_annotators), max(video.n_picks for video in videos), device=device
    )  # (B, U, T)
    for row, video in enumerate(videos):
        annotations[row, : n_annotators[row], : video.n_picks] = video.annotations.T
    return Batch(
        features=padded("features"),
        mask=real([video.n_picks for video in videos]),
        segment_ids=padded("segment_ids"),
        annotations=annotations,
        annotators=real(n_annotators),
        targets=padded("targets"),
        keyshots=padded("keyshots"),
        present=real([len(video.segments) for video in videos]),
        first_picks=padded("first_picks"),
        segments=tuple(video.segments for video in videos),
        kinds=tuple(video.kind for video in videos),
    )
