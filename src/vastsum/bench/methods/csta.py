"""CSTA: the features of a video as a picture, of which a convolutional network makes the attention map.

J. Son, J. Park, K. Kim, "CSTA: CNN-based Spatiotemporal Attention for Video Summarization", CVPR 2024.

The network that draws the map is GoogLeNet (C. Szegedy et al., CVPR 2015), with batch normalisation, as torchvision
has it. The authors start it from ImageNet weights; here it starts from chance, unless torchvision's weights are given
as a safetensors file: its own is a pickle, and those are not opened here. Positions are sinusoids, the authors' choice.
Statistics of a picture belong to one video: padding is cut off, and the networks of a population cannot be stacked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from vastsum.bench.methods.learned import LearnedMethod, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.layers import sinusoids, xavier_for_relu
from vastsum.bench.methods.nn.noise import Dropout
from vastsum.errors import CheckpointError

Weights = Mapping[str, NDArray[Any]]
"""Of GoogLeNet's convolutions, under torchvision's names."""


class Csta(LearnedMethod):
    """`weights` are what GoogLeNet starts from; `thinner` divides its channels, to try things out."""

    recipe = Recipe(
        epochs=100,
        batch_size=1,
        learning_rate=1e-3,
        weight_decay=1e-7,
        optimizer="adam",
        gradient_clip=1e6,  # none
        schedule="constant",
    )
    stack = 0

    def __init__(self, weights: Weights | None = None, thinner: int = 1) -> None:
        self.weights, self.thinner = weights, thinner

    @property
    def trained_by(self) -> dict[str, Any]:
        return super().trained_by | ({} if self.weights is None else {"weights": _fingerprint(self.weights)})

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        return (*super().inputs(batch), [len(segments.picks) for segments in batch.segments])

    def build(self, feature_width: int) -> nn.Module:
        network = CstaNetwork(feature_width, self.thinner)
        if self.weights is not None:
            own = {name: torch.tensor(weight) for name, weight in self.weights.items()}
            network.cnn.load_state_dict(own, strict=False)  # all but how many batches were seen
        return network


class CstaNetwork(nn.Module):
    MAP_DROPOUT, HIDDEN_DROPOUT = 0.6, 0.5
    COLOURS = 3

    def __init__(self, feature_width: int, thinner: int = 1) -> None:
        super().__init__()
        self.cnn = GoogLeNet(thinner)
        width = self.cnn.width  # W: that of the picture too, since map and picture are added
        self.summary_token = nn.Parameter(torch.zeros(self.COLOURS, 1, feature_width))
        self.key, self.value = nn.Linear(feature_width, width), nn.Linear(feature_width, width)
        self.map_norm = nn.BatchNorm2d(1)
        self.temporal_dropout, self.spatial_dropout = Dropout(self.MAP_DROPOUT), Dropout(self.MAP_DROPOUT)
        self.regressor = nn.Sequential(
            nn.Linear(width, width),
            nn.ReLU(),
            Dropout(self.HIDDEN_DROPOUT),
            nn.LayerNorm(width, eps=1e-6),
            nn.Linear(width, 1),
        )
        xavier_for_relu(self.regressor)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor, n_picks: Sequence[int]) -> Tensor:
        """features (B, T, D), of which `n_picks` are real in each video → importance (B, T) in (0, 1)."""
        maps = [
            self.attention_map(video[:n_real]) for video, n_real in zip(features, n_picks, strict=True)
        ]  # (1 + T_b, W) each
        temporal = self.temporal_dropout(pad_sequence([x.softmax(dim=0) for x in maps], batch_first=True))
        spatial = self.spatial_dropout(pad_sequence([x.softmax(dim=1) for x in maps], batch_first=True))

        token = self.summary_token[0].expand(len(features), -1, -1)
        value = self.value(torch.cat([token, features], dim=1))[:, : temporal.shape[1]]  # (B, 1 + T, W)
        attended = value * temporal + value * spatial
        # The authors' adaptive pooling from 1 + T rows to T, which lets the token in, is the mean of neighbours.
        attended = (attended[:, :-1] + attended[:, 1:]) / 2  # (B, T, W)
        scores = torch.sigmoid(self.regressor(attended)).squeeze(-1)
        return F.pad(scores, (0, mask.shape[1] - scores.shape[1]))

    def attention_map(self, video: Tensor) -> Tensor:
        """One video (T, D), the token before it, painted in three like colours → (1 + T, W)."""
        picture = torch.cat([self.summary_token, video.expand(self.COLOURS, -1, -1)], dim=1)  # (3, 1 + T, D)
        key = self.key(picture)  # (3, 1 + T, W)
        rows = key.shape[1]
        drawn = F.adaptive_avg_pool2d(self.cnn(key.unsqueeze(0)), (rows, 1))[0, :, :, 0].T  # (1 + T, W)
        mapped: Tensor = self.map_norm((drawn + key[0])[None, None])[0, 0]
        return mapped + sinusoids(torch.arange(rows, device=video.device), mapped.shape[1])


INCEPTIONS = {
    "inception3a": (64, 96, 128, 16, 32, 32),
    "inception3b": (128, 128, 192, 32, 96, 64),
    "inception4a": (192, 96, 208, 16, 48, 64),
    "inception4b": (160, 112, 224, 24, 64, 64),
    "inception4c": (128, 128, 256, 24, 64, 64),
    "inception4d": (112, 144, 288, 32, 64, 64),
    "inception4e": (256, 160, 320, 32, 128, 128),
    "inception5a": (256, 160, 320, 32, 128, 128),
    "inception5b": (384, 192, 384, 48, 128, 128),
}
"""Channels of the four branches of each block, those with two layers twice."""

POOLS = {"conv1": 3, "conv3": 3, "inception3b": 3, "inception4e": 2}
"""Layers after which the picture is halved, and the side of the window that does it."""


class GoogLeNet(nn.Module):
    """Its convolutions alone, (1, 3, H, W) → (1, 1024, H/32, W/32). Names are torchvision's, so that weights fit."""

    def __init__(self, thinner: int = 1) -> None:
        super().__init__()
        self.conv1 = Convolution(3, 64 // thinner, 7, stride=2)
        self.conv2 = Convolution(64 // thinner, 64 // thinner, 1)
        self.conv3 = Convolution(64 // thinner, 192 // thinner, 3)
        channels = 192 // thinner
        for name, widths in INCEPTIONS.items():
            inception = Inception(channels, *(max(1, width // thinner) for width in widths))
            self.add_module(name, inception)
            channels = inception.width
        self.width = channels

    def forward(self, x: Tensor) -> Tensor:
        x = x.contiguous(memory_format=torch.channels_last)  # as convolutions like it best
        for name, layer in self.named_children():
            x = layer(x)
            if name in POOLS:
                x = _pooled(x, POOLS[name])
        return x


class Inception(nn.Module):
    """Four views of the same place, side by side: itself, two neighbourhoods, and the strongest neighbour."""

    def __init__(self, channels: int, point: int, near_in: int, near: int, far_in: int, far: int, pool: int) -> None:
        super().__init__()
        self.width = point + near + far + pool
        self.branch1 = Convolution(channels, point, 1)
        self.branch2 = nn.Sequential(Convolution(channels, near_in, 1), Convolution(near_in, near, 3))
        # 5 × 5 in the paper; the weights that everyone uses are of 3 × 3.
        self.branch3 = nn.Sequential(Convolution(channels, far_in, 1), Convolution(far_in, far, 3))
        self.branch4 = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), Convolution(channels, pool, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], dim=1)


class Convolution(nn.Module):
    def __init__(self, channels_in: int, channels_out: int, size: int, stride: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, size, stride, padding=size // 2, bias=False)
        self.bn = nn.BatchNorm2d(channels_out, eps=1e-3)

    def forward(self, x: Tensor) -> Tensor:
        # Not called as a layer, which counts its batches: on a GPU that is a kernel more for each.
        bn, training = self.bn, self.training
        return torch.relu(
            F.batch_norm(self.conv(x), bn.running_mean, bn.running_var, bn.weight, bn.bias, training, eps=bn.eps)
        )


def _pooled(x: Tensor, size: int) -> Tensor:
    """Halve the picture, however small it has become: very short videos are low pictures."""
    return F.max_pool2d(x, [min(size, side) for side in x.shape[2:]], stride=2, ceil_mode=True)


def read_imagenet(path: Path, thinner: int = 1) -> Weights:
    """From a file of torchvision's GoogLeNet; its classifiers have no place here."""

    def refused(reason: str) -> CheckpointError:
        problem = f"does not hold GoogLeNet's weights ({reason})"
        return CheckpointError(path, problem, "give torchvision's, saved as .safetensors")

    try:
        found = load_file(path)
    except (OSError, SafetensorError) as error:
        raise refused((str(error).splitlines() or [type(error).__name__])[0]) from error
    with torch.device("meta"):
        wanted = {name: weight.shape for name, weight in GoogLeNet(thinner).state_dict().items() if weight.ndim}
    for name, shape in wanted.items():
        if name not in found:
            raise refused(f"{name} is missing")
        if found[name].shape != shape:
            raise refused(f"{name} is {tuple(found[name].shape)}, not {tuple(shape)}")
    return {name: found[name].float().numpy() for name in wanted}


def _fingerprint(weights: Weights) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(weights.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(weight).tobytes())
    return digest.hexdigest()[:16]
