"""What VASTSum has beyond the paper: paths from single frames beside the network, and means over frames of the video.

A ridge on single frames, linear or of a kernel, ranks TVSum's frames as well as the network does, and errs elsewhere.
So they are averaged. Such a path is a closed form of the training videos: gradients never touch it, and the network
learns as if it were alone. It joins when a video is scored.

What people say of a shot they may say of the next one like it. So scores are then averaged, over time and over the
frames of the video that look alike.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.scorers.kernel_ridge import KernelRidge


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


class KernelPath(nn.Module):
    """The weights of the landmarks that a frame is like, as `KernelRidge` has them, smoothed in time.

    There is always the same number of landmarks, so that networks can be stacked; those not needed weigh nothing. They
    are features of training frames: whoever passes such a network on passes them on too.
    """

    landmarks: Tensor
    landmark_videos: Tensor
    weight: Tensor
    bias: Tensor
    sharpness: Tensor
    video_sharpness: Tensor

    def __init__(self, feature_width: int, n_landmarks: int, smoothing: float) -> None:
        super().__init__()
        for name in ("landmarks", "landmark_videos"):
            self.register_buffer(name, torch.zeros(n_landmarks, feature_width))
        self.register_buffer("weight", torch.zeros(n_landmarks))
        for name in ("bias", "sharpness", "video_sharpness"):
            self.register_buffer(name, torch.zeros(()))
        self.smooth = Smoothing(smoothing)

    def take(self, fitted: KernelRidge) -> None:
        n_landmarks = len(fitted.weights)
        self.weight.zero_()
        self.landmarks[:n_landmarks] = torch.from_numpy(fitted.landmarks)
        self.landmark_videos[:n_landmarks] = torch.from_numpy(fitted.landmark_videos)
        self.weight[:n_landmarks] = torch.from_numpy(fitted.weights)
        self.bias.fill_(fitted.target_mean)
        self.sharpness.fill_(fitted.sharpness)
        self.video_sharpness.fill_(fitted.video_sharpness)

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → (B, T)"""
        video = (features * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)  # (B, D)
        apart = self.sharpness * _squared_distances(features, self.landmarks)  # (B, T, M)
        apart = apart + self.video_sharpness * _squared_distances(video, self.landmark_videos).unsqueeze(1)
        smoothed: Tensor = self.smooth(torch.exp(-apart) @ self.weight + self.bias, mask)
        return smoothed


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
