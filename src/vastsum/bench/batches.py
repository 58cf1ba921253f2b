"""Benchmark videos as tensors, kept on the device and padded together when they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad as pad_zeros

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.methods.nn.batch import Batch
from vastsum.selection import select
from vastsum.types import Kind, Prediction, Segments


def sent(values: NDArray[Any] | Tensor, device: torch.device | str) -> Tensor:
    """Small things for a device to work with. It is not waited for: what it was told before goes on meanwhile."""
    return torch.as_tensor(values).to(device, non_blocking=True)


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


class Shelf:
    """Videos one after another in long tensors, a row a pick or a segment: a padded batch is one gather of each.

    Row 0 is zero; padding points at it. So padded picks have no features and no importance, and stand in segment 0, but
    they are masked everywhere. A batch is padded to a multiple of `aligned`.
    """

    def __init__(self, videos: Sequence[VideoTensors], aligned: int = 1) -> None:
        def laid_out(name: str) -> Tensor:
            rows = torch.cat([getattr(video, name) for video in videos])
            return torch.cat([torch.zeros_like(rows[:1]), rows])

        self.videos, self._aligned = videos, aligned
        self.n_picks = np.array([video.n_picks for video in videos])
        self.n_segments = np.array([len(video.segments) for video in videos])
        self.n_annotators = np.array([video.annotations.shape[1] for video in videos])
        self._features, self._segment_ids = laid_out("features"), laid_out("segment_ids")
        self._targets, self._keyshots = laid_out("targets"), laid_out("keyshots")
        self._first_picks = laid_out("first_picks")
        most = int(self.n_annotators.max())
        annotations = [pad_zeros(video.annotations, (0, most - video.annotations.shape[1])) for video in videos]
        self._annotations = torch.cat([torch.zeros_like(annotations[0][:1]), *annotations])  # (1 + ΣT, U)

    def batch(self, which: Sequence[int]) -> Batch:
        taken = np.asarray(which)
        videos = [self.videos[index] for index in taken]
        picks, mask = self._places(self.n_picks, taken)
        segments, present = self._places(self.n_segments, taken)
        annotators = self._real(self.n_annotators[taken])
        annotations = self._annotations[:, : annotators.shape[1]][picks]  # (B, T, U)
        return Batch(
            features=self._features[picks],
            mask=mask,
            segment_ids=self._segment_ids[picks],
            annotations=annotations.transpose(1, 2).contiguous(),
            annotators=annotators,
            targets=self._targets[picks],
            keyshots=self._keyshots[picks],
            present=present,
            first_picks=self._first_picks[segments],
            segments=tuple(video.segments for video in videos),
            kinds=tuple(video.kind for video in videos),
        )

    def _places(self, counts: NDArray[Any], taken: NDArray[Any]) -> tuple[Tensor, Tensor]:
        """Where the rows of the videos taken lie, (B, longest), and which of these places are real."""
        starts = sent((1 + np.cumsum(counts) - counts)[taken], self._features.device)[:, None]
        real = self._real(counts[taken], self._aligned)
        return torch.where(real, starts + torch.arange(real.shape[1], device=real.device), 0), real

    def _real(self, counts: NDArray[Any], aligned: int = 1) -> Tensor:
        ends = sent(counts, self._features.device)[:, None]
        longest = -(-int(counts.max()) // aligned) * aligned
        return torch.arange(longest, device=ends.device)[None] < ends


def pad(videos: Sequence[VideoTensors]) -> Batch:
    return Shelf(videos).batch(range(len(videos)))
