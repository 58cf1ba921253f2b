"""Keyshots as intervals on the picks: what detection-like methods learn, and how detections become importance.

An interval is told by a pick within it and how far it reaches to the left and to the right of that pick.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

AT_ONCE = 128  # detections compared with all others at once


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
    """(B,) mean of values (B, …) where `mask` holds; 0 where it holds nowhere."""
    total = torch.where(mask, values, 0.0).flatten(1).sum(dim=1)
    return total / mask.flatten(1).sum(dim=1).clamp(min=1)


def overlap(one: Tensor, other: Tensor) -> Tensor:
    """Intersection over union of intervals [start, end) (…, 2)."""
    both = (torch.minimum(one[..., 1], other[..., 1]) - torch.maximum(one[..., 0], other[..., 0])).clamp(min=0)
    either = (one[..., 1] - one[..., 0]) + (other[..., 1] - other[..., 0]) - both
    return both / either.clamp(min=1e-6)


def best_cover(scores: Tensor, intervals: Tensor, mask: Tensor, limit: float) -> Tensor:
    """For each pick (B, T) the best score of the detections that cover it, 0 where none does, once of any that overlap
    by `limit` or more the best alone is kept.

    Detections have scores (B, N), −∞ for none, and intervals [start, end) on the picks (B, N, 2), which are rounded and
    cut to the video. They are taken from the best down, a few at a time: those of them that stand drop whatever they
    overlap among the rest.
    """
    n_picks = mask.sum(dim=1)[:, None, None]
    intervals = intervals.clamp(min=0).minimum(n_picks).round()
    scores = scores.masked_fill(intervals[..., 0] >= intervals[..., 1], -torch.inf)
    scores, order = scores.sort(dim=1, descending=True, stable=True)
    intervals = _taken(intervals, order)
    importance = torch.zeros_like(mask, dtype=scores.dtype)
    pick = torch.arange(mask.shape[1], device=mask.device)
    left = scores.isfinite()
    while left.any():
        next_best = left.float().sort(dim=1, descending=True, stable=True).indices[:, :AT_ONCE]  # (B, C)
        taken = _taken(intervals, next_best)  # (B, C, 2)
        stand = _standing(taken, left.gather(1, next_best), limit)
        covered = stand.unsqueeze(-1) & (taken[..., :1] <= pick) & (pick < taken[..., 1:])  # (B, C, T)
        best = torch.where(covered, scores.gather(1, next_best).unsqueeze(-1), 0.0).amax(dim=1)
        importance = importance.maximum(best)
        overlaps = overlap(taken.unsqueeze(2), intervals.unsqueeze(1)) >= limit  # (B, C, N)
        dropped = (overlaps & stand.unsqueeze(-1)).any(dim=1)
        left = (left & ~dropped).scatter(1, next_best, False)
    return importance


def _standing(intervals: Tensor, real: Tensor, limit: float) -> Tensor:
    """Which of the intervals (B, C, 2), best first, are kept: a real one that overlaps no better one that is kept."""
    in_the_way = (overlap(intervals.unsqueeze(2), intervals.unsqueeze(1)) >= limit).tril(-1)  # (B, C, C)
    stand = real
    while True:  # after n rounds at least the n best are decided; they mostly all are after a few
        now = real & ~(in_the_way & stand.unsqueeze(1)).any(dim=2)
        if torch.equal(now, stand):
            return stand
        stand = now


def _taken(intervals: Tensor, which: Tensor) -> Tensor:
    return intervals.gather(1, which.unsqueeze(-1).expand(-1, -1, 2))
