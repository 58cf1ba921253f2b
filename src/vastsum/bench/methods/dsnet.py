"""DSNet: a summary as detection on the timeline, from anchors (AB) or from every pick (AF).

W. Zhu, J. Lu, J. Li, J. Zhou, "DSNet: A Flexible Detect-to-Summarize Network for Video Summarization", IEEE
Transactions on Image Processing 30, 2021.

Both forms stand on the authors' default, multi-head attention, and learn the keyshots of the mean annotation. What is
detected are intervals [left, right) in units of picks. Of those that overlap too much the best alone is kept, and a
pick is as important as the best kept interval that covers it. Two things are ours: an anchor-based training video in
which no anchor fits any keyshot teaches nothing (the authors' loss is not a number there), and intervals are compared
with all kept before in one batched loop over videos.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.intervals import best_cover, centreness, masked_mean, overlap, reach_loss, reaches
from vastsum.bench.methods.nn.layers import Attention, xavier_for_relu
from vastsum.bench.methods.nn.noise import Dropout

RECIPE = Recipe(
    epochs=300,
    batch_size=1,
    learning_rate=5e-5,
    weight_decay=1e-5,
    optimizer="adam",
    gradient_clip=1e6,  # none
    schedule="constant",
)
HEADS, HIDDEN, DROPOUT = 8, 128, 0.5
OVERLAP_LIMIT = 0.5  # intersection over union at which the worse of two intervals is dropped


class AnchorBased(LearnedMethod):
    """Four anchors a pick, each told how well it fits a keyshot and how to move and stretch to fit it better."""

    recipe = RECIPE
    POSITIVE, INCOMPLETE = 0.6, 0.3  # overlap with a keyshot above which an anchor fits, and below which it fails
    NEGATIVES, INCOMPLETES = 2, 1  # drawn for each anchor that fits: beside all keyshots, and on the edge of one

    def build(self, feature_width: int) -> nn.Module:
        return AnchorBasedNetwork(feature_width)

    def losses(self, output: AnchorOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        anchors = _anchors(output.logits)  # (T, A, 2)
        keyshots, real = _runs(batch)  # (B, R, 2), (B, R)
        overlaps = overlap(anchors[None, :, :, None], keyshots[:, None, None]) * real[:, None, None]  # (B, T, A, R)
        best, which = overlaps.max(dim=-1)  # (B, T, A)
        on_video = batch.mask.unsqueeze(-1).expand_as(best)

        fits = (best > self.POSITIVE) & on_video
        n_fits = fits.sum(dim=(1, 2))
        lots = _lots(batch, moment, best.shape[2]).to(best.device)
        fails = _drawn(lots, (best == 0) & on_video, self.NEGATIVES * n_fits)
        fails |= _drawn(lots, (best > 0) & (best <= self.INCOMPLETE) & on_video, self.INCOMPLETES * n_fits)
        found = -masked_mean(F.logsigmoid(output.logits), fits)
        rejected = -masked_mean(F.logsigmoid(-output.logits), fails)
        classification = 0.5 * (found + rejected)

        index = which.flatten(1).unsqueeze(-1).expand(-1, -1, 2)
        target = _offsets(keyshots.gather(1, index).view(*best.shape, 2), anchors)  # (B, T, A, 2)
        distance = F.smooth_l1_loss(output.offsets, target, reduction="none").mean(dim=-1)
        location = masked_mean(distance, fits)
        return {"total": classification + location, "classification": classification, "location": location}

    def importance(self, output: AnchorOutput, batch: Batch) -> Tensor:
        centre, width = _centre_width(_anchors(output.logits))
        centre = centre + output.offsets[..., 0] * width
        width = width * output.offsets[..., 1].exp()
        intervals = torch.stack([centre - width / 2, centre + width / 2], dim=-1)  # (B, T, A, 2)
        scores = output.logits.sigmoid().masked_fill(~batch.mask.unsqueeze(-1), -torch.inf)
        return best_cover(scores.flatten(1), intervals.flatten(1, 2), batch.mask, OVERLAP_LIMIT)


class AnchorFree(LearnedMethod):
    """Each pick says whether it lies in a keyshot, how far the ends are, and how central it is."""

    recipe = RECIPE
    FOCUS = 2.0  # of the focal loss; the weights α of the classes cancel as the authors sum them

    def build(self, feature_width: int) -> nn.Module:
        return AnchorFreeNetwork(feature_width)

    def losses(self, output: PickOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        chosen = (batch.keyshots > 0) & batch.mask
        n_chosen = chosen.sum(dim=1).clamp(min=1)
        logits = torch.where(chosen, output.logits, -output.logits)
        focal = -((1 - logits.sigmoid()) ** self.FOCUS) * F.logsigmoid(logits)
        classification = torch.where(batch.mask, focal, 0.0).sum(dim=1) / n_chosen

        to_ends = reaches(chosen.to(output.logits.dtype))  # (B, T, 2)
        location = reach_loss(output.to_ends, to_ends, chosen)

        centred = F.binary_cross_entropy_with_logits(output.centrality, centreness(to_ends), reduction="none")
        centre = masked_mean(centred, chosen)
        taught = chosen.any(dim=1)
        terms = {"classification": classification, "location": location, "centre": centre}
        terms = {name: torch.where(taught, term, 0.0) for name, term in terms.items()}
        return {"total": sum(terms.values(), torch.zeros_like(location)), **terms}

    def importance(self, output: PickOutput, batch: Batch) -> Tensor:
        scores = output.logits.sigmoid() * output.centrality.sigmoid()
        scores = scores.masked_fill(~batch.mask, 0.0)
        scores = scores / (scores.amax(dim=1, keepdim=True) + 1e-8)
        pick = torch.arange(scores.shape[1], device=scores.device)
        left, right = output.to_ends.unbind(-1)
        intervals = torch.stack([pick - left, pick + right + 1], dim=-1)  # (B, T, 2)
        return best_cover(scores.masked_fill(~batch.mask, -torch.inf), intervals, batch.mask, OVERLAP_LIMIT)


class AnchorOutput(NamedTuple):
    logits: Tensor  # (B, T, A)
    offsets: Tensor  # (B, T, A, 2) of the centre, in widths, and of the logarithm of the width


class PickOutput(NamedTuple):
    logits: Tensor  # (B, T)
    to_ends: Tensor  # (B, T, 2) picks to the first and to the last of the interval
    centrality: Tensor  # (B, T) as a logit


class Trunk(nn.Module):
    """Features and what attention makes of them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attention = Attention(width, HEADS, DROPOUT, bias=False)
        self.dropout = Dropout(DROPOUT)
        self.norm = nn.LayerNorm(width)

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        h: Tensor = self.norm(self.dropout(self.attention(features, mask)) + features)
        return h  # (B, T, D)


class AnchorBasedNetwork(nn.Module):
    WIDTHS = (4, 8, 16, 32)

    def __init__(self, width: int) -> None:
        super().__init__()
        self.trunk = Trunk(width)
        self.narrow = nn.Linear(width, HIDDEN)
        self.hidden = nn.Sequential(nn.Tanh(), Dropout(DROPOUT), nn.LayerNorm(HIDDEN))
        self.score, self.offsets = nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, 2)
        xavier_for_relu(self)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> AnchorOutput:
        h = self.trunk(features, mask) * mask.unsqueeze(-1)  # (B, T, D)
        # The mean within each anchor; what lies beyond either end of the video counts as zero. The linear layer that
        # the authors put after it goes before it, all but its bias: the same in an eighth of the memory.
        narrow = F.linear(h, self.narrow.weight).transpose(1, 2)  # (B, 128, T)
        pooled = [F.avg_pool1d(narrow, width, stride=1, padding=width // 2)[..., :-1] for width in self.WIDTHS]
        h = self.hidden(torch.stack(pooled, dim=-1).permute(0, 2, 3, 1) + self.narrow.bias)  # (B, T, A, 128)
        return AnchorOutput(self.score(h).squeeze(-1), self.offsets(h))


class AnchorFreeNetwork(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.trunk = Trunk(width)
        self.hidden = nn.Sequential(nn.Linear(width, HIDDEN), nn.ReLU(), Dropout(DROPOUT), nn.LayerNorm(HIDDEN))
        self.score, self.to_ends, self.centrality = nn.Linear(HIDDEN, 1), nn.Linear(HIDDEN, 2), nn.Linear(HIDDEN, 1)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> PickOutput:
        h = self.hidden(self.trunk(features, mask))  # (B, T, 128)
        return PickOutput(self.score(h).squeeze(-1), self.to_ends(h).exp(), self.centrality(h).squeeze(-1))


def _anchors(logits: Tensor) -> Tensor:
    """(T, A, 2): intervals of each width around each pick."""
    pick = torch.arange(logits.shape[1], device=logits.device)[:, None]
    half = torch.tensor(AnchorBasedNetwork.WIDTHS, device=logits.device) / 2
    return torch.stack([pick - half, pick + half], dim=-1)


def _centre_width(intervals: Tensor) -> tuple[Tensor, Tensor]:
    return intervals.mean(dim=-1), intervals[..., 1] - intervals[..., 0]


def _offsets(intervals: Tensor, anchors: Tensor) -> Tensor:
    """How an anchor has to move, in its widths, and stretch, as a logarithm, to become the interval."""
    (centre, width), (anchor_centre, anchor_width) = _centre_width(intervals), _centre_width(anchors)
    return torch.stack([(centre - anchor_centre) / anchor_width, torch.log(width.clamp(min=1) / anchor_width)], dim=-1)


def _runs(batch: Batch) -> tuple[Tensor, Tensor]:
    """The keyshots as intervals (B, R, 2) of consecutive picks, and which of them are real (B, R)."""
    chosen = (batch.keyshots > 0) & batch.mask
    number = (
        F.pad(chosen, (1, 0))[:, :-1].logical_not().logical_and(chosen).cumsum(dim=1)
    )  # (B, T), from 1 in the first
    n_runs = int(number.max().clamp(min=1))
    index = torch.where(chosen, number, 0)  # what is not chosen goes to run 0, which is dropped
    pick = torch.arange(chosen.shape[1], device=chosen.device).expand_as(chosen).to(batch.features.dtype)
    nothing = torch.zeros(len(chosen), n_runs + 1, device=chosen.device, dtype=pick.dtype)
    left = nothing.scatter_reduce(1, index, pick, "amin", include_self=False)
    right = nothing.scatter_reduce(1, index, pick + 1, "amax", include_self=False)
    runs = torch.stack([left, right], dim=-1)[:, 1:]
    return runs, runs[..., 1] > runs[..., 0]


def _lots(batch: Batch, moment: Moment, n_anchors: int) -> Tensor:
    """A random number for each anchor (B, T, A), from the video's own generator."""
    lots = np.ones((*batch.mask.shape, n_anchors), np.float32)
    for row, (rng, segments) in enumerate(zip(moment.rngs, batch.segments, strict=True)):
        n_picks = len(segments.picks)
        lots[row, :n_picks] = rng.random((n_picks, n_anchors), np.float32)
    return torch.from_numpy(lots)


def _drawn(lots: Tensor, candidates: Tensor, counts: Tensor) -> Tensor:
    """As many candidates of each video as `counts` (B,) says, or all there are: those with the smallest lots."""
    order = torch.where(candidates, lots, 2.0).flatten(1).argsort(dim=1).argsort(dim=1)
    return (order < counts[:, None]).view_as(candidates) & candidates
