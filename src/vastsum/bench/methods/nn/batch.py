"""Videos of different lengths, padded together: what every network of this room is given."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from vastsum.types import FloatArray, Kind, Segments


@dataclass(frozen=True, eq=False)
class Batch:
    """B videos, padded to the longest: T picks, M segments, U annotators.

    What people said is there in training only; at inference U is 0, and targets and keyshots are zero.
    """

    features: Tensor  # (B, T, D)
    mask: Tensor  # (B, T) real picks
    segment_ids: Tensor  # (B, T)
    annotations: Tensor  # (B, U, T)
    annotators: Tensor  # (B, U) real annotators
    targets: Tensor  # (B, T) mean annotation
    keyshots: Tensor  # (B, T) 1 at the picks of the best summary by the mean annotation, 0 elsewhere
    present: Tensor  # (B, M) real segments
    first_picks: Tensor  # (B, M) the pick in force where a segment starts
    segments: tuple[Segments, ...]
    kinds: tuple[Kind, ...]  # how people annotated each video

    def __len__(self) -> int:
        return len(self.segments)

    @property
    def n_segments(self) -> int:
        return self.present.shape[1]


def unannotated(features: FloatArray, segments: Segments, kind: Kind, device: torch.device | str = "cpu") -> Batch:
    """One video as it is met at inference."""
    n_picks = len(segments.picks)
    zeros = torch.zeros(1, n_picks, device=device)
    return Batch(
        features=torch.as_tensor(features, dtype=torch.float32, device=device)[None],
        mask=torch.ones(1, n_picks, dtype=torch.bool, device=device),
        segment_ids=torch.as_tensor(segments.ids, device=device)[None],
        annotations=torch.zeros(1, 0, n_picks, device=device),
        annotators=torch.zeros(1, 0, dtype=torch.bool, device=device),
        targets=zeros,
        keyshots=zeros,
        present=torch.ones(1, len(segments), dtype=torch.bool, device=device),
        first_picks=torch.as_tensor(segments.first_picks, device=device)[None],
        segments=(segments,),
        kinds=(kind,),
    )
