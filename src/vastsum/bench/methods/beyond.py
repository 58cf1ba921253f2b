"""What VASTSum has beyond the paper: a linear path beside the network, and means over like frames of the video; and the
add-ons that the paper tried and left out.

A linear model of how single frames stand in their video ranks footage of another kind better than the network does, and
the network ranks footage of the same kind better. So they are averaged. The path is a closed form of the training
videos: gradients never touch it, and the network learns as if it were alone. It joins when a video is scored.

Both ask how varied the video is. Raw footage of one scene (SumMe: about 0.4) and edited videos of many scenes (TVSum:
about 0.52) are not alike in what people choose: in an edited video like frames get like scores, in raw footage a moment
counts more than what it shows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.settings import require
from vastsum.features.relative import N_CHANNELS
from vastsum.types import MAX_LENGTH_POWER, MAX_SHARPNESS, Decoder, FloatArray

MIDDLE, SCALE, FURTHEST = 0.5, 0.15, 2.0  # variety that counts as neither, one step from it, and the most steps
EDITED, SHARPNESS = 0.45, 0.025  # variety from which like frames share their scores, and how soon they all do


@dataclass(frozen=True)
class Additions:
    """Settings of all that is not in the paper's model. By default none of it is there."""

    relative: bool = False  # the last inputs are relative channels, the others are centred
    visual_weight: float = 1.0  # of the others beside the channels, in the network
    channel_dropout: float = 0.0
    offset: float = 0.0  # the importance at which a summary takes a frame as often as not: p = σ((μ − offset) / T_s)
    linear_share: float = 0.0  # how much of μ is the linear path's when a video is scored
    linear_smoothing: float = 3.0  # of the linear path over time, in picks
    linear_penalty: float = 0.01  # λ of the linear path's ridge, a video
    linear_directions: int = 0  # principal directions of what is seen that the linear path keeps; 0: all
    channel_weight: float = 0.33  # of the channels beside the others, in the linear path
    smoothing: float = 0.0  # of the network's μ over time when a video is scored, in picks
    nonlocal_sharpness: float = 0.0  # of the mean over like frames when a video is scored; 0: none
    nonlocal_reach: float = 120.0  # how far apart they may be, in picks
    nonlocal_smoothing: float = 1.0  # of that mean over time, in picks
    deviation_scale: float = 1.0  # times the standard deviation when a video is scored
    probability_scale: float = 1.0  # times p when a video is scored; the knapsack sees no difference
    sharpness: float = 0.0  # the temperature before the knapsack, exp(sharpness · z); 0: none
    length_power: float = 0.0  # a segment's value is its mean times its length to this power
    gated_residual: bool = False  # the paper's ablation: + gated residual modules
    cnn_attention: bool = False  # the paper's ablation: + CSTA-style attention block

    def __post_init__(self) -> None:
        widths = ("linear_smoothing", "smoothing", "nonlocal_smoothing")
        require(
            "network",
            self,
            positive=("linear_penalty", "nonlocal_reach", "deviation_scale", "probability_scale"),
            not_negative=("visual_weight", "linear_share", "linear_directions", "channel_weight", "nonlocal_sharpness",
                          *widths, "sharpness", "length_power"),
            below_one=("channel_dropout",),
            at_most={"linear_share": 1.0, **dict.fromkeys(widths, 2048.0), "sharpness": MAX_SHARPNESS,
                     "length_power": MAX_LENGTH_POWER},
        )  # fmt: skip

    @property
    def decoder(self) -> Decoder:
        return Decoder(self.sharpness, self.length_power)


def variety(x: Tensor, mask: Tensor) -> Tensor:
    """Mean squared distance of a video's frames from their mean, (B, 1): for vectors of length one, 0 if all are alike
    and near 1 if no two are. x is (B, T, D), mask (B, T)."""
    real, count = mask.to(x.dtype).unsqueeze(-1), mask.sum(dim=1, keepdim=True)
    mean = (x * real).sum(dim=1, keepdim=True) / count.unsqueeze(-1)
    return (((x - mean) * real) ** 2).sum(dim=(1, 2)).unsqueeze(-1) / count


def steps(found: Tensor) -> Tensor:
    """κ: how far a variety is from the middle, in steps."""
    return ((found - MIDDLE) / SCALE).clamp(-FURTHEST, FURTHEST)


def sameness(found: Tensor) -> Tensor:
    """The share of the mean over like frames in a video's scores: 0 in raw footage, 1 in an edited video."""
    return torch.sigmoid((found - EDITED) / SHARPNESS)


class LinearPath(nn.Module):
    """(w₀ + κ w₁) · x_t + b, smoothed in time: weights that depend on how varied the video is, set from outside."""

    weight: Tensor
    bias: Tensor

    def __init__(self, feature_width: int, smoothing: float) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(2, feature_width))
        self.register_buffer("bias", torch.zeros(()))
        self.smooth = Smoothing(smoothing)

    def forward(self, features: Tensor, kappa: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D), kappa (B, 1), mask (B, T) → (B, T)"""
        smoothed: Tensor = self.smooth(
            features @ self.weight[0] + kappa * (features @ self.weight[1]) + self.bias, mask
        )
        return smoothed


class Example(NamedTuple):
    """A video to fit the linear path to."""

    x: FloatArray  # (T, D)
    kappa: float
    y: FloatArray  # (T,) what single frames should score


def fit_linear_path(videos: Sequence[Example], scale: FloatArray, penalty: float) -> tuple[FloatArray, float]:
    """Weights (2, D) and bias: ridge regression within videos, on x and κ x.

    Every video says as much as any other: its scores are brought to deviation 1 and its frames to weight 1. Inputs
    count by `scale` (D,). The result is then scaled as a whole by least squares.
    """
    grams, targets = np.zeros((3, len(scale), len(scale))), np.zeros((2, len(scale)))
    for x, kappa, y in videos:
        centred = (x - x.mean(axis=0)) * scale
        wanted = (y - y.mean()) / max(float(y.std()), 1e-6)
        gram, target = centred.T @ centred / len(y), centred.T @ wanted / len(y)
        for power in range(3):
            grams[power] += kappa**power * gram
        targets += np.outer([1.0, kappa], target)
    ridge = np.block([[grams[0], grams[1]], [grams[1], grams[2]]])
    ridge[np.diag_indices_from(ridge)] += len(videos) * penalty
    weights = scale * np.linalg.solve(ridge, targets.ravel()).reshape(2, -1)
    fitted = [(x - x.mean(axis=0)) @ (weights[0] + kappa * weights[1]) for x, kappa, _ in videos]
    given = np.concatenate([y - y.mean() for _, _, y in videos])
    found = np.concatenate(fitted)
    weights *= float(found @ given) / max(float(found @ found), 1e-12)
    bias = [y.mean() - x.mean(axis=0) @ (weights[0] + kappa * weights[1]) for x, kappa, y in videos]
    return weights, float(np.mean(bias))


def fit_to_videos(path: LinearPath, config: Additions, videos: Sequence[Example]) -> None:
    """Set the path's weights. Channels, where there are any, count by a weight of their own. Few videos say little of
    many features, so of what is seen only the directions in which these videos vary most may count."""
    n_channels = N_CHANNELS if config.relative else 0
    n_visual = path.weight.shape[1] - n_channels
    kept = principal_directions([x[:, :n_visual] for x, *_ in videos], config.linear_directions or n_visual)
    basis = np.zeros((n_visual + n_channels, kept.shape[1] + n_channels))  # (D, K + C)
    basis[:n_visual, : kept.shape[1]], basis[n_visual:, kept.shape[1] :] = kept, np.eye(n_channels)
    scale = np.concatenate([np.ones(kept.shape[1]), np.full(n_channels, config.channel_weight)])
    reduced = [video._replace(x=video.x @ basis) for video in videos]
    weight, bias = fit_linear_path(reduced, scale, config.linear_penalty)
    path.weight.copy_(torch.from_numpy(weight @ basis.T))
    path.bias.fill_(bias)


def principal_directions(videos: Sequence[FloatArray], n: int) -> FloatArray:
    """The n directions (D, n) in which frames (T, D) differ most within their videos. Every video counts the same."""
    width = videos[0].shape[1]
    if n >= width:
        return np.eye(width)
    scatter = np.zeros((width, width))
    for x in videos:
        centred = x - x.mean(axis=0, dtype=np.float64)
        scatter += centred.T @ centred / len(x)
    directions: FloatArray = np.linalg.eigh(scatter)[1][:, -n:]
    return directions


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(…, n, D), (…, m, D) → (…, n, m)"""
    apart = (a**2).sum(dim=-1, keepdim=True) + (b**2).sum(dim=-1).unsqueeze(-2) - 2 * a @ b.transpose(-1, -2)
    return apart.clamp(min=0.0)


class NonLocalMean(nn.Module):
    """The mean score of the frames that look like this one and are not too far, smoothed in time.

    After A. Buades, B. Coll, J.-M. Morel, "A Non-Local Algorithm for Image Denoising", CVPR 2005. `sharpness` is how
    fast likeness falls, over the mean squared distance of two frames of the video; `reach` is a standard deviation in
    picks.
    """

    def __init__(self, sharpness: float, reach: float, smoothing: float) -> None:
        super().__init__()
        self.sharpness, self.reach = sharpness, reach
        self.smooth = Smoothing(smoothing)

    def forward(self, scores: Tensor, features: Tensor, mask: Tensor) -> Tensor:
        """scores (B, T), features (B, T, D), mask (B, T) → (B, T)"""
        real, count = mask.to(scores.dtype), mask.sum(dim=1).view(-1, 1, 1)
        x = features * real.unsqueeze(-1)  # (B, T, D)
        x = (x - x.sum(dim=1, keepdim=True) / count) * real.unsqueeze(-1)  # about the mean frame: distances round less
        unit = 2 * (x**2).sum(dim=(1, 2), keepdim=True) / count  # (B, 1, 1)
        place = torch.arange(scores.shape[1], device=scores.device) / self.reach
        apart = self.sharpness * _squared_distances(x, x) / unit.clamp(min=1e-12)  # (B, T, T)
        weight = torch.exp(-apart - 0.5 * (place.unsqueeze(1) - place) ** 2) * real.unsqueeze(1)
        mean = (weight @ scores.unsqueeze(-1)).squeeze(-1) / weight.sum(dim=2).clamp(min=1e-6)
        smoothed: Tensor = self.smooth(mean, mask)
        return smoothed


class Smoothing(nn.Module):
    """A Gaussian over time, `width` picks its standard deviation, cut off at four of them and at the video's ends."""

    kernel: Tensor

    def __init__(self, width: float) -> None:
        super().__init__()
        reach = math.ceil(4 * width)
        distance = torch.arange(-reach, reach + 1)
        kernel = torch.exp(-0.5 * (distance / width) ** 2) if width else torch.ones(1)
        self.register_buffer("kernel", kernel / kernel.sum(), persistent=False)

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        """scores (B, T), mask (B, T) → (B, T)"""
        real = mask.to(scores.dtype)
        return self._over_time(scores * real) / self._over_time(real).clamp(min=1e-6)

    def _over_time(self, x: Tensor) -> Tensor:
        return F.conv1d(x.unsqueeze(1), self.kernel[None, None], padding=len(self.kernel) // 2).squeeze(1)


# ---- what the paper tried and left out (Table IV, "architecture add-ons") ----


class GatedResidual(nn.Module):
    """h + σ(W_g LN(h)) ⊙ FFN(LN(h)): a frame-wise feed-forward block that a gate lets in."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, width)
        self.ffn = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), Dropout(dropout), nn.Linear(2 * width, width))

    def forward(self, h: Tensor) -> Tensor:
        x = self.norm(h)  # (B, T, d)
        return h + torch.sigmoid(self.gate(x)) * self.ffn(x)


class CnnAttention(nn.Module):
    """The frame tokens as a one-channel T×d picture; a small CNN turns it into an attention map over time and width.

    After CSTA, which runs an ImageNet backbone over that picture. This one is light: two 3×3 convolutions, a softmax
    over time, and the attended tokens added back.
    """

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        picture_mask = mask[:, None, :, None]
        picture = h.unsqueeze(1) * picture_mask  # (B, 1, T, d)
        hidden = F.gelu(self.first(picture)) * picture_mask
        logits = self.second(hidden).masked_fill(~picture_mask, float("-inf"))
        n_picks = mask.sum(dim=1)[:, None, None]
        attention = logits.softmax(dim=2).squeeze(1) * n_picks  # (B, T, d), mean 1 over real picks
        return h + attention * h
