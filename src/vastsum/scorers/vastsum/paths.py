"""What VASTSum has beyond the paper: a linear path beside the network, and means over like frames of the video.

A linear model of how single frames stand in their video ranks footage of another kind better than the network does, and
the network ranks footage of the same kind better. So they are averaged. The path is a closed form of the training
videos: gradients never touch it, and the network learns as if it were alone. It joins when a video is scored.

What people say of a shot they may say of the next one like it. So the network's scores are averaged, over time and over
the frames of the video that look alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.types import FloatArray


class LinearPath(nn.Module):
    """w · x_t + b, smoothed in time; weights are set from outside."""

    weight: Tensor
    bias: Tensor

    def __init__(self, feature_width: int, smoothing: float) -> None:
        super().__init__()
        self.register_buffer("weight", torch.zeros(feature_width))
        self.register_buffer("bias", torch.zeros(()))
        self.smooth = Smoothing(smoothing)

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → (B, T)"""
        smoothed: Tensor = self.smooth(features @ self.weight + self.bias, mask)
        return smoothed


def first_component(videos: Sequence[tuple[FloatArray, FloatArray]], scale: FloatArray) -> tuple[FloatArray, float]:
    """Weights (D,) and bias from what single frames are, x (T, D), to what they should score, y (T,).

    One component of partial least squares: each weight says how its input goes with the score within videos, and all
    are scaled by least squares. Every video says as much as any other. No weight makes up for another, as in a ridge:
    that fits the next video of the same kind better, and footage of another kind worse. Inputs count by `scale` (D,).
    """
    centred = [((x - x.mean(axis=0)).astype(np.float64), y - y.mean()) for x, y in videos]
    weights = scale**2 * sum(x.T @ y / (len(y) * max(float(y.std()), 1e-6)) for x, y in centred)  # (D,)
    fitted = np.concatenate([x @ weights for x, _ in centred])
    weights *= float(fitted @ np.concatenate([y for _, y in centred])) / max(float(fitted @ fitted), 1e-12)
    return weights, float(np.mean([y.mean() - x.mean(axis=0) @ weights for x, y in videos]))


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
