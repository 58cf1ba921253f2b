"""What VASTSum has beyond the paper: when a video is scored, its scores are averaged, over time and over the frames
that look alike. What people say of a shot they may say of the next one like it. Nothing here is trained.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.scorers.vastsum.config import NetworkConfig


class Means(nn.Module):
    """The network's μ as it counts when a video is scored; in the paper, as it is."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.over_time = Smoothing(config.smoothing) if config.smoothing else None
        alike = (config.nonlocal_sharpness, config.nonlocal_reach, config.nonlocal_smoothing)
        self.over_like_frames = NonLocalMean(*alike) if config.nonlocal_sharpness else None

    def forward(self, mu: Tensor, features: Tensor, mask: Tensor) -> Tensor:
        """μ (B, T), features (B, T, D), mask (B, T) → (B, T)"""
        if self.over_time is not None:
            mu = self.over_time(mu, mask)
        if self.over_like_frames is not None:
            mu = self.over_like_frames(mu, features, mask)
        return mu


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


def _squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """(…, n, D), (…, m, D) → (…, n, m)"""
    apart = (a**2).sum(dim=-1, keepdim=True) + (b**2).sum(dim=-1).unsqueeze(-2) - 2 * a @ b.transpose(-1, -2)
    return apart.clamp(min=0.0)
