"""What VASTSum has beyond the paper: a linear path beside the network, and smoothing in time.

A ridge on single frames ranks TVSum's frames as well as the network does, and errs elsewhere. So the two are averaged.
The linear path is a closed form of the training videos: gradients never touch it, and the network learns as if it were
alone. Both join when a video is scored.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F


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
