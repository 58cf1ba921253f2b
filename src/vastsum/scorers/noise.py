"""Randomness in training that belongs to a video, not to a batch.

A layer's noise is a pure function of a key, one a video, and of the place in the tensor. So a video meets the same
noise whether it is trained alone, padded in a batch, or as one of many members of a population under
`torch.func.vmap`, on CPU and GPU alike, and the trained numbers agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from vastsum.scorers.stacking import members_first

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
        thin = dropped if x.is_cuda else _thinned
        thinned: Tensor = thin(x, self.keys, self.probability)
        return thinned


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
    bits: Tensor = _hashes(keys, list(shape[1:]))
    return bits


@torch.library.custom_op("vastsum::hashes", mutates_args=())
def _hashes(keys: Tensor, sizes: list[int]) -> Tensor:
    """(B, *sizes). An operator of our own, so that under `vmap` it still sees whole tensors and a GPU can hash them in
    one kernel: written out, a hash is some fifteen passes over memory, and attention draws for every pair of picks."""
    places = _places(keys, sizes)
    if keys.is_cuda:
        return _gpu_hashes(len(places))(*places)
    return _mixed(sum(places[1:], places[0])).bitwise_and_(0x7FFFFFFF)


@_hashes.register_vmap
def _(_: Any, in_dims: tuple[int, None], keys: Tensor, sizes: list[int]) -> tuple[Tensor, int]:
    members = keys.movedim(in_dims[0], 0)  # (K, B)
    return _hashes(members.flatten(), sizes).unflatten(0, members.shape), 0


@torch.library.custom_op("vastsum::dropped", mutates_args=())
def dropped(x: Tensor, keys: Tensor, probability: float) -> Tensor:
    """Dropout of x (B, …) float32 that remembers nothing but its keys (B,): its gradient draws anew. On a GPU that is
    one pass over memory, and drawing costs nothing beside it; elsewhere it would be drawing twice."""
    if not x.is_cuda:
        return _thinned(x, keys, probability)
    bits = [place.view(torch.float32) for place in _places(keys, list(x.shape[1:]))]  # all of one type
    return _gpu_dropout(len(bits), *_least_and_scale(probability))(x, *bits)


def _thinned(x: Tensor, keys: Tensor, probability: float) -> Tensor:
    least, scale = _least_and_scale(probability)
    return torch.where(_bits(keys, x.shape) >= least, x * scale, 0.0)


def _least_and_scale(probability: float) -> tuple[int, float]:
    """From which draw on a value is kept, and what it is multiplied with then."""
    return int(probability * 2**31), 1.0 / (1.0 - probability)


def _remember(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:  # noqa: ARG001
    _, keys, ctx.probability = inputs
    ctx.save_for_backward(keys)


def _dropped_gradient(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
    return dropped(gradient, *ctx.saved_tensors, ctx.probability), None, None


dropped.register_autograd(_dropped_gradient, setup_context=_remember)


@dropped.register_vmap
def _(
    info: Any, in_dims: tuple[int | None, int | None, None], x: Tensor, keys: Tensor, probability: float
) -> tuple[Tensor, int]:
    x, keys = members_first((x, keys), in_dims[:2], info.batch_size)
    rows = x.shape[:2]  # (K, B)
    return dropped(x.flatten(0, 1), keys.expand(rows).flatten(), probability).unflatten(0, rows), 0


def _places(keys: Tensor, sizes: list[int]) -> list[Tensor]:
    """Integers that broadcast to (B, *sizes), and whose sum is hashed."""
    n_dims = len(sizes)
    places = [keys.view(-1, *[1] * n_dims)]
    for dim, size in enumerate(sizes):
        coordinate = torch.arange(size, dtype=torch.int32, device=keys.device) * _STRIDES[dim]
        places.append(coordinate.view(-1, *[1] * (n_dims - 1 - dim)))
    return places


_GPU_MIXED = """
    x ^= x >> 16; x *= 0x7FEB352Du;
    x ^= x >> 15; x *= 0x846CA68Bu;
    x ^= x >> 16; x &= 0x7FFFFFFFu;
"""  # what `_mixed` does, and no sign


@cache
def _gpu_hashes(n_places: int) -> Callable[..., Tensor]:
    """The hash of the sum of that many tensors, which broadcast, as one kernel."""
    given = [f"p{n}" for n in range(n_places)]
    return _gpu_kernel(f"""template <typename T> T hashed({", ".join(f"T {name}" for name in given)}) {{
        unsigned x = {" + ".join(f"(unsigned){name}" for name in given)};
        {_GPU_MIXED}
        return (T)x;
    }}""")


@cache
def _gpu_dropout(n_places: int, least: int, scale: float) -> Callable[..., Tensor]:
    """Dropout by the same hash, as one kernel. Its places are integers in the bits of floats."""
    given = [f"p{n}" for n in range(n_places)]
    return _gpu_kernel(f"""template <typename T> T dropped(T value, {", ".join(f"T {name}" for name in given)}) {{
        unsigned x = {" + ".join(f"__float_as_uint({name})" for name in given)};
        {_GPU_MIXED}
        return x >= {least}u ? value * (T){scale!r} : (T)0;
    }}""")


def _gpu_kernel(code: str) -> Callable[..., Tensor]:
    kernel: Callable[..., Tensor] = torch.cuda.jiterator._create_jit_fn(code)
    return kernel


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
