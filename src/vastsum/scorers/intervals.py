"""Keyshots as intervals on the picks: what detection-like methods learn, and how detections become importance.

An interval is told by a pick within it and how far it reaches to the left and to the right of that pick.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def reaches(keyshots: Tensor) -> Tensor:
    """(B, T, 2): from each keyshot pick to the first and to the last pick of its run; nothing elsewhere."""
    n_picks = keyshots.shape[1]
    place = torch.arange(n_picks, device=keyshots.device).expand_as(keyshots)
    inside = keyshots > 0
    before = torch.where(inside, -1, place).cummax(dim=1).values  # the last pick outside, up to here
    after = torch.where(inside, n_picks, place).flip(1).cummin(dim=1).values.flip(1)
    found = torch.stack([place - before - 1, after - place - 1], dim=-1)
    return torch.where(inside.unsqueeze(-1), found, 0).to(keyshots.dtype)


def centreness(reach: Tensor) -> Tensor:
    """(B, T): 1 in the middle of an interval, 0 at its ends."""
    return reach.amin(dim=-1) / (reach.amax(dim=-1) + 1e-8)


def focal_loss(logits: Tensor, labels: Tensor, mask: Tensor, gamma: float = 2.0) -> Tensor:
    """(B,) mean over real picks of −½ (1 − p_t)^γ log p_t (Lin et al., "Focal Loss for Dense Object Detection").

    There is no class weight α: the methods that use this loss average it over both classes of a pick, one with α and
    one with 1 − α, and it cancels.
    """
    wrong = torch.sigmoid(torch.where(labels > 0, -logits, logits))  # 1 − p_t
    loss = 0.5 * wrong**gamma * F.binary_cross_entropy_with_logits(logits, labels, reduction="none")
    return masked_mean(loss, mask)


def reach_loss(found: Tensor, wanted: Tensor, inside: Tensor) -> Tensor:
    """(B,) mean over the picks of keyshots of −log IoU of the interval found and the one wanted."""
    both = torch.minimum(found, wanted).sum(dim=-1)
    either = torch.maximum(found, wanted).sum(dim=-1)
    return masked_mean(-torch.log(both / either.clamp(min=1e-8) + 1e-8), inside)


def masked_mean(values: Tensor, mask: Tensor) -> Tensor:
    """(B,) mean of values (B, T) where `mask` holds; 0 where it holds nowhere."""
    return torch.where(mask, values, 0.0).sum(dim=1) / mask.sum(dim=1).clamp(min=1)


def painted(scores: Tensor, starts: Tensor, ends: Tensor, mask: Tensor, threshold: float) -> Tensor:
    """(B, T): at each pick the best score of a detection that covers it, once non-maximum suppression has been at work.

    Detections (B, N) are [start, end) on the picks, rounded and cut to the video; `mask` tells the real picks.
    """
    n_picks = mask.sum(dim=1, keepdim=True)
    starts, ends = (edge.round().clamp(min=0).minimum(n_picks) for edge in (starts, ends))
    kept = suppressed(scores, starts, ends, threshold)
    place = torch.arange(mask.shape[1], device=mask.device)
    covers = (starts.unsqueeze(-1) <= place) & (place < ends.unsqueeze(-1)) & kept.unsqueeze(-1)  # (B, N, T)
    return torch.where(covers, scores.unsqueeze(-1), 0.0).amax(dim=1)


def suppressed(scores: Tensor, starts: Tensor, ends: Tensor, threshold: float) -> Tensor:
    """(B, N) which detections survive greedy non-maximum suppression, all videos at once.

    A detection falls to a surviving better one that it overlaps (IoU ≥ threshold). Who survives is settled from the
    best downwards, so asking everyone at once, again and again, ends with the greedy answer.
    """
    real = starts < ends
    both = torch.minimum(ends[:, :, None], ends[:, None]) - torch.maximum(starts[:, :, None], starts[:, None])
    either = torch.maximum(ends[:, :, None], ends[:, None]) - torch.minimum(starts[:, :, None], starts[:, None])
    overlap = both >= threshold * either
    order = scores.argsort(dim=1, descending=True, stable=True).argsort(dim=1)  # rank of each detection, 0 the best
    beaten_by = overlap & (order[:, :, None] > order[:, None]) & real[:, :, None] & real[:, None]  # (B, N, N)
    kept = real
    while True:
        next_kept = real & ~(beaten_by & kept[:, None]).any(dim=2)
        if torch.equal(next_kept, kept):
            return kept
        kept = next_kept
