"""The ONNX operators that our networks use, in torch: one function an operator.

A function takes the operator's inputs in ONNX's order (None where one is left out) and its attributes by name, with the
defaults of opset 13 to 20. `@operator` says which inputs torch wants as plain numbers (shapes, axes, bounds), and which
values of an attribute are understood if not all; an attribute that the function does not take changes nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from onnx import TensorProto
from torch import Tensor
from torch.nn import functional as F

REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}
DTYPES: dict[int, torch.dtype] = {
    TensorProto.FLOAT: torch.float32,
    TensorProto.DOUBLE: torch.float64,
    TensorProto.FLOAT16: torch.float16,
    TensorProto.UINT8: torch.uint8,
    TensorProto.INT32: torch.int32,
    TensorProto.INT64: torch.int64,
    TensorProto.BOOL: torch.bool,
}

Sizes = list[int] | tuple[int, ...]


class Operator(NamedTuple):
    run: Callable[..., Tensor]
    plain: Collection[int] = ()  # inputs that come as numbers or lists of them
    values: Mapping[str, Collection[Any] | None] = {}  # of attributes; None are all


NAMESAKES: dict[str, Callable[..., Tensor]] = {
    "Add": torch.add,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Greater": torch.gt,
    "Less": torch.lt,
    "MatMul": torch.matmul,
    "Mul": torch.mul,
    "Neg": torch.neg,
    "Not": torch.logical_not,
    "Pow": torch.pow,
    "Reciprocal": torch.reciprocal,
    "Relu": torch.relu,
    "Sigmoid": torch.sigmoid,
    "Sqrt": torch.sqrt,
    "Sub": torch.sub,
    "Where": torch.where,
}
OPERATORS = {name: Operator(function) for name, function in NAMESAKES.items()}


def operator(
    name: str, *, plain: Collection[int] = (), values: Mapping[str, Collection[Any] | None] = {}
) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    def register(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        OPERATORS[name] = Operator(function, plain, values)
        return function

    return register


# Arithmetic


@operator("Clip", plain=[1, 2])
def clip(x: Tensor, low: float | list[float] | None = None, high: float | list[float] | None = None) -> Tensor:
    low, high = (bound[0] if isinstance(bound, list) else bound for bound in (low, high))
    return x if low is None and high is None else x.clamp(low, high)


@operator("Div")
def divide(a: Tensor, b: Tensor) -> Tensor:
    return torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")


@operator("Gelu")
def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
    return F.gelu(x, approximate=approximate)


@operator("Gemm")
def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
) -> Tensor:
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return product if c is None else product + beta * c


@operator("Min")
def minimum(*tensors: Tensor) -> Tensor:
    return functools.reduce(torch.minimum, tensors)


@operator("ReduceSum", plain=[1])
def reduce_sum(x: Tensor, axes: list[int] | None = None, *, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Tensor:
    if not axes and noop_with_empty_axes:
        return x
    return x.sum(dim=axes or list(range(x.ndim)), keepdim=bool(keepdims), dtype=x.dtype)


@operator("Softmax")
def softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    return x.softmax(dim=axis)


@operator("LayerNormalization", values={"stash_type": None})
def layer_normalization(
    x: Tensor, scale: Tensor, bias: Tensor | None = None, *, axis: int = -1, epsilon: float = 1e-5
) -> Tensor:
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


# Convolution and pooling. `pads` are all begins, then all ends.


@operator("Conv", values={"auto_pad": ["NOTSET"], "kernel_shape": None})
def conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    ones, zeros = [1] * (x.ndim - 2), [0] * (x.ndim - 2)
    x, padding = _pad(x, pads, 0.0)
    return torch.convolution(x, weight, bias, strides or ones, padding, dilations or ones, False, zeros, group)


@operator("MaxPool", values={"auto_pad": ["NOTSET"], "storage_order": None})
def max_pool(
    x: Tensor,  # (B, C, H, W)
    *,
    kernel_shape: list[int],
    ceil_mode: int = 0,
    dilations: Sizes = (1, 1),
    pads: Sequence[int] | None = None,
    strides: Sizes = (1, 1),
) -> Tensor:
    x, padding = _pad(x, pads, -math.inf)
    return F.max_pool2d(x, kernel_shape, strides, padding, dilations, bool(ceil_mode))


def _pad(x: Tensor, pads: Sequence[int] | None, value: float) -> tuple[Tensor, list[int]]:
    """What is left to the operator itself: it can pad both sides alike, and does so without a copy."""
    n = x.ndim - 2
    begins, ends = (list(pads[:n]), list(pads[n:])) if pads else ([0] * n, [0] * n)
    if begins == ends:
        return x, begins
    last_side_first = [side for pair in zip(reversed(begins), reversed(ends), strict=True) for side in pair]
    return F.pad(x, last_side_first, value=value), [0] * n


@operator("GlobalAveragePool")
def global_average_pool(x: Tensor) -> Tensor:
    return x.mean(dim=list(range(2, x.ndim)), keepdim=True)


# Shapes


@operator("Shape")
def shape(x: Tensor, *, start: int = 0, end: int | None = None) -> Tensor:
    return torch.tensor(x.shape[start:end], dtype=torch.int64)  # stays on the host, where shapes are asked for


@operator("Cast", values={"to": DTYPES, "saturate": None})
def cast(x: Tensor, *, to: int) -> Tensor:
    return x.to(DTYPES[to])


@operator("Concat")
def concat(*tensors: Tensor, axis: int) -> Tensor:
    return torch.cat(tensors, dim=axis)


@operator("ConstantOfShape", plain=[0])
def constant_of_shape(sizes: list[int], *, value: Tensor | None = None) -> Tensor:
    return torch.zeros(sizes) if value is None else value.reshape(()).expand(sizes)


@operator("Expand", plain=[1])
def expand(x: Tensor, sizes: list[int]) -> Tensor:
    return x.expand(torch.broadcast_shapes(x.shape, sizes))  # type: ignore[no-untyped-call]


@operator("Flatten")
def flatten(x: Tensor, *, axis: int = 1) -> Tensor:
    return x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))


@operator("Range")
def arange(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    return torch.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype, device=start.device)


@operator("Reshape", plain=[1])
def reshape(x: Tensor, sizes: list[int], *, allowzero: int = 0) -> Tensor:
    return x.reshape([size or (0 if allowzero else x.shape[side]) for side, size in enumerate(sizes)])


@operator("Squeeze", plain=[1])
def squeeze(x: Tensor, axes: list[int] | None = None) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(tuple(axes))


@operator("Unsqueeze", plain=[1])
def unsqueeze(x: Tensor, axes: list[int]) -> Tensor:
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        x = x.unsqueeze(axis)
    return x


@operator("Transpose")
def transpose(x: Tensor, *, perm: Sequence[int] | None = None) -> Tensor:
    return x.permute(tuple(reversed(range(x.ndim))) if perm is None else tuple(perm))


# Picking


@operator("Slice", plain=[1, 2, 3, 4])
def slices(
    x: Tensor, starts: list[int], ends: list[int], axes: list[int] | None = None, steps: list[int] | None = None
) -> Tensor:
    taken = [slice(None)] * x.ndim
    axes, steps = axes or list(range(len(starts))), steps or [1] * len(starts)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        taken[axis] = slice(start, end, step)
    return x[tuple(taken)]


@operator("GatherElements")
def gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    return x.gather(axis, _from_the_front(indices, x.shape[axis]))


@operator("GatherND", values={"batch_dims": [0]})
def gather_nd(x: Tensor, indices: Tensor) -> Tensor:
    return x[indices.unbind(-1)]


@operator("ScatterElements", values={"reduction": ["none", *REDUCTIONS]})
def scatter_elements(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
    indices = _from_the_front(indices, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, indices, updates)
    return x.scatter_reduce(axis, indices, updates, REDUCTIONS[reduction])


def _from_the_front(indices: Tensor, n: int) -> Tensor:
    return torch.where(indices < 0, indices + n, indices)
