"""Randomness in training that belongs to a video, not to a batch.

A layer's noise is a pure function of a key, one a video, and of the place in the tensor. So a video meets the same
noise whether it is trained alone, padded in a batch, or as one of many members of a population under
`torch.func.vmap`, on CPU and GPU alike, and the trained numbers agree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

# Odd constants with well-spread bits: they turn coordinates and layer numbers into integers far apart.
_STRIDES = (0x3C6EF372, 0x1B873593, 0x2C1B3C6D, 0x27D4EB2F)
_LAYER_STRIDE = 0x1E3779B9


class Noise(nn.Module):
    """A layer that draws in training. Its keys, one a video of the batch, are set anew for every pass."""

    keys: Tensor  # (B,)

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, dtype=torch.int32), persistent=False)


class Dropout(Noise):
    """Inverted dropout of x (B, …)."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.probability == 0.0:
            return x
        least = int(self.probability * 2**31)
        return torch.where(_bits(self.keys, x.shape) >= least, x * (1.0 / (1.0 - self.probability)), 0.0)


class Normal(Noise):
    """Standard normal numbers of a shape (B, …)."""

    def forward(self, shape: torch.Size) -> Tensor:
        radius = torch.sqrt(-2.0 * torch.log(_unit(_bits(self.keys, shape))))  # Box and Muller's method
        angle = 2.0 * math.pi * _unit(_bits(_mixed(self.keys + 1), shape))
        return radius * torch.cos(angle)


class Uniform(Noise):
    """Numbers uniform on (0, 1), of a shape (B, …)."""

    def forward(self, shape: torch.Size) -> Tensor:
        return _unit(_bits(self.keys, shape))


def noise_layers(network: nn.Module) -> list[str]:
    """The names of the layers that draw, in order: the n-th is given layer number n."""
    return [name for name, module in network.named_modules() if isinstance(module, Noise)]


def layer_keys(layers: list[str], keys: Tensor) -> Mapping[str, Tensor]:
    """Buffers for `torch.func.functional_call`: what each layer's keys are where the videos' keys are `keys` (…, B)."""
    places = torch.arange(len(layers), dtype=torch.int32, device=keys.device) * _LAYER_STRIDE  # products wrap around
    mixed = _mixed(keys + places.view(-1, *[1] * keys.dim()))  # (layers, …, B)
    return {f"{name}.keys": own for name, own in zip(layers, mixed, strict=True)}


def _bits(keys: Tensor, shape: torch.Size) -> Tensor:
    """Uniform integers in [0, 2³¹) of `shape` (B, …): a hash of the key and of each coordinate, so that the size of
    the tensor, and with it padding, plays no part."""
    sizes = shape[1:]
    place = keys.view(-1, *[1] * len(sizes))
    for dim, size in enumerate(sizes):
        coordinate = torch.arange(size, dtype=torch.int32, device=keys.device) * _STRIDES[dim]
        place = place + coordinate.view(-1, *[1] * (len(sizes) - 1 - dim))
    return _mixed(place).bitwise_and_(0x7FFFFFFF)


def _unit(bits: Tensor) -> Tensor:
    return (bits.float() + 0.5) * 2.0**-31


def _mixed(x: Tensor) -> Tensor:
    """An integer hash on 32 bits (xor-shift and multiply, constants of Wellons' lowbias32); products wrap around."""
    x = (x ^ _high(x, 16)).mul_(0x7FEB352D)
    x = x.bitwise_xor_(_high(x, 15)).mul_(_wrapped(0x846CA68B))
    return x.bitwise_xor_(_high(x, 16))


def _high(x: Tensor, shift: int) -> Tensor:
    """The upper bits, shifted down as if `x` had no sign."""
    return (x >> shift).bitwise_and_((1 << (32 - shift)) - 1)


def _wrapped(number: int) -> int:
    """The signed 32-bit integer with the same bits."""
    return (number + 2**31) % 2**32 - 2**31
