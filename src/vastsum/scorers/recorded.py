"""Programs that go through time step by step, on a GPU: recorded for a few steps, then replayed.

A step is a few small kernels, and Python takes longer to launch them than the GPU to run them. A CUDA graph of a
stretch of steps is launched at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor

Tensors = list[Tensor]
Program = Callable[[Tensors, Tensors, Tensors], tuple[Tensors, Tensors]]
"""From tensors over time (T, N, B, …), those that stay, and what is carried from step to step: what is found at each
step (T, N, B, …), and what is carried on. Sizes, program and whether TF32 is allowed are all that it may depend on."""

STRETCH = 32  # steps
N_RECORDED = 32  # recordings kept, one for each program and size: each holds memory


def run_over_time(
    program: Program, over_time: Tensors, fixed: Tensors, carried: Tensors, *, backwards: bool = False
) -> tuple[Tensors, Tensors]:
    """On a GPU, stretch by stretch, the last one filled up with zeros. So a program that goes forwards must not be
    asked what is carried on from there; one that goes backwards comes from there, with nothing."""
    if not over_time[0].is_cuda:
        return program(over_time, fixed, carried)
    return in_stretches(program, over_time, fixed, carried, backwards=backwards)


def in_stretches(
    program: Program, over_time: Tensors, fixed: Tensors, carried: Tensors, *, backwards: bool
) -> tuple[Tensors, Tensors]:
    n_steps = len(over_time[0])
    firsts = range(0, n_steps, STRETCH)
    sizes = [tuple((STRETCH, *each.shape[1:]) for each in over_time), *(_sizes(part) for part in (fixed, carried))]
    precision = torch.get_float32_matmul_precision()
    recorded = _recorded(program, *sizes, over_time[0].device, over_time[0].dtype, precision)
    recorded.set(fixed, carried)
    # Along time for each row, as whoever reads it wants it: so it is laid down once.
    found = [each.new_empty(*each.shape[1:3], n_steps, *each.shape[3:]).movedim(2, 0) for each in recorded.found]
    for first in reversed(firsts) if backwards else firsts:
        stretch = slice(first, min(first + STRETCH, n_steps))
        recorded.run([each[stretch] for each in over_time])
        for whole, part in zip(found, recorded.found, strict=True):
            whole[stretch] = part[: stretch.stop - first]
    return found, [each.clone() for each in recorded.carried]


class _Recorded:
    """A program for one stretch, with places of its own for what it is given and what it finds."""

    def __init__(self, program: Program, over_time: Tensors, fixed: Tensors, carried: Tensors) -> None:
        self.over_time, self.fixed, self.carried = over_time, fixed, carried
        self.found: Tensors = []
        aside: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # once for libraries to set themselves up, which cannot be recorded
            program(over_time, fixed, carried)
        torch.cuda.current_stream().wait_stream(aside)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.found, last = program(over_time, fixed, carried)
            for own, now in zip(carried, last, strict=True):
                own.copy_(now)

    def set(self, fixed: Tensors, carried: Tensors) -> None:
        for own, given in zip((*self.fixed, *self.carried), (*fixed, *carried), strict=True):
            own.copy_(given)

    def run(self, over_time: Tensors) -> None:
        for own, given in zip(self.over_time, over_time, strict=True):
            own[: len(given)] = given
            own[len(given) :].zero_()
        self.graph.replay()


Sizes = tuple[tuple[int, ...], ...]


@lru_cache(N_RECORDED)
def _recorded(
    program: Program,
    over_time: Sizes,
    fixed: Sizes,
    carried: Sizes,
    device: torch.device,
    dtype: torch.dtype,
    precision: str,  # noqa: ARG001 (recordings of one are not those of another)
) -> _Recorded:
    places = ([torch.zeros(size, device=device, dtype=dtype) for size in part] for part in (over_time, fixed, carried))
    return _Recorded(program, *places)


def forget_recordings() -> None:
    _recorded.cache_clear()


def _sizes(tensors: Tensors) -> Sizes:
    return tuple(tuple(each.shape) for each in tensors)
