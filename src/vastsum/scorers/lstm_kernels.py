"""An LSTM's steps through time on a GPU: each is one kernel, and a stretch of them is launched at once.

The product of a step is small and waits for the step before. By torch's own kernels it is written to memory and read
again on its way to the gates; here it stays on the chip. And Python takes longer to launch a kernel than the GPU to run
it, so a stretch of launches is recorded as a CUDA graph, one for each size. Where the tensors lie its kernels read when
they run: nothing is copied in or out.

Weights and what goes from step to step have 16 bits, sums 32. Forth that is float16, whose mantissa is TF32's: no
hidden vector is beyond its reach. Gradients may be, so back it is bfloat16. Letters are those of `recurrent`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

FORTH, BACK = torch.float16, torch.bfloat16
STRETCH = 32  # steps; even, because what is carried on changes places at each
N_RECORDED = 64  # recordings kept, one for each kernel and size
ALIGNED = 64  # hidden widths must be a multiple of it
SHARED_MEMORY = 96 * 1024  # bytes that a block needs at most


def serve(weight: Tensor) -> bool:
    """Whether such a weight (N, 4 H, H) can be multiplied by these kernels where it lies."""
    properties = torch.cuda.get_device_properties(weight.device)
    room = getattr(properties, "shared_memory_per_block_optin", 0)  # torch tells it of NVIDIA's GPUs only
    return properties.major >= 8 and room >= SHARED_MEMORY and weight.shape[2] % ALIGNED == 0


def forth(
    from_input: Tensor, weight: Tensor, bias: Tensor, start_hidden: Tensor, start_cell: Tensor, to_learn: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(N, B, T, 4 H), (N, 4 H, H), (N, 4 H), (N, B, H) twice → h, c (N, B, T, H) and, to learn, the gates
    (N, B, T, 4 H)"""
    *sizes, n_steps, _ = from_input.shape
    width = weight.shape[2]
    hidden, cell = (from_input.new_empty(*sizes, n_steps, width) for _ in range(2))
    gates = from_input.new_empty(*sizes, n_steps, 4 * width if to_learn else 0)
    stretch = _stretch(_forth, *sizes, width, weight.device)
    stretch.start(weight, start_hidden, start_cell)
    stretch.run([from_input.contiguous(), bias.contiguous(), hidden, cell, gates], n_steps)
    return hidden, cell, gates


def back(
    of_hidden: Tensor, of_cell: Tensor, weight: Tensor, start_cell: Tensor, cell: Tensor, gates: Tensor
) -> tuple[Tensor, Tensor]:
    """From the gradients of h and c (N, B, T, H), and what `forth` found: those of the gates (N, B, T, 4 H), and of the
    first c (N, B, H)."""
    *sizes, n_steps, width = cell.shape
    of_gates = torch.empty_like(gates, memory_format=torch.contiguous_format)
    given = [each.contiguous() for each in (of_hidden, of_cell, start_cell, cell, gates)]
    stretch = _stretch(_back, *sizes, width, weight.device)
    stretch.start(weight, 0.0, 0.0)
    stretch.run([*given, of_gates], n_steps)
    return of_gates, stretch.cell.clone()


class _Stretch:
    """Steps of a kernel for B rows of each of N networks, recorded."""

    def __init__(self, kernel: Any, n_networks: int, n_rows: int, width: int, device: torch.device) -> None:
        carried, brief = (width, FORTH) if kernel is _forth else (4 * width, BACK)
        self.carried = torch.zeros(2, n_networks, n_rows, carried, dtype=brief, device=device)  # to a step, and from it
        self.cell = torch.zeros(n_networks, n_rows, width, device=device)  # c forth, its gradient back
        self.weight = torch.zeros(n_networks, 4 * width, width, dtype=brief, device=device)
        self.places = torch.zeros(7, dtype=torch.int64, device=device)  # the number of steps, and where tensors lie
        self.clock = torch.zeros(1, dtype=torch.int32, device=device)
        block = (_forth_block if kernel is _forth else _back_block)(n_rows)
        grid = (width // block["UNITS"], triton.cdiv(n_rows, block["ROWS"]), n_networks)
        self._step = partial(kernel[grid], n_rows=n_rows, H=width, **block)
        self._replay = _recorded(self._launch)

    def start(self, weight: Tensor, carried: Tensor | float, cell: Tensor | float) -> None:
        self.weight[:], self.carried[0], self.cell[:] = weight, carried, cell

    def run(self, tensors: Sequence[Tensor], n_steps: int) -> None:
        places = torch.tensor([n_steps, *(each.data_ptr() for each in tensors)])
        self.places[: len(places)].copy_(places, non_blocking=True)
        self.clock.zero_()
        for _ in range(0, n_steps, STRETCH):
            self._replay()

    def _launch(self) -> None:
        for step in range(STRETCH):
            carried = self.carried[step % 2], self.carried[(step + 1) % 2]
            self._step(self.places, self.clock, self.weight, *carried, self.cell, step)
        self.clock += STRETCH


def _recorded(launch: Callable[[], None]) -> Callable[[], None]:
    """The same launches, all at once."""
    launch()  # of no steps: so the kernel is compiled, which cannot be recorded
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        launch()
    return graph.replay


_stretch = lru_cache(N_RECORDED)(_Stretch)


def forget_recordings() -> None:
    _stretch.cache_clear()


def _forth_block(n_rows: int) -> dict[str, int]:
    """What a block finds, and how: as was fastest for 13 networks of 512 units on an H200."""
    rows = _rows(n_rows)
    if rows == 32:
        return {"ROWS": rows, "UNITS": 64, "DEPTH": 64, "num_warps": 8, "num_stages": 3, "maxnreg": 128}
    # No more registers than leave room for three blocks on a processor.
    return {"ROWS": rows, "UNITS": 32, "DEPTH": 64, "num_warps": 4, "num_stages": 3, "maxnreg": 168}


def _back_block(n_rows: int) -> dict[str, int]:
    rows = _rows(n_rows)
    return {"ROWS": rows, "UNITS": 32 if rows == 64 else 64, "DEPTH": 128, "num_warps": 4, "num_stages": 4}


def _rows(n_rows: int) -> int:
    """Tensor cores take 16 of them at least."""
    return int(min(64, max(16, triton.next_power_of_2(n_rows))))


@triton.jit(do_not_specialize=["step", "n_rows"])
def _forth(
    places, clock, weight, before, after, state, step, n_rows,
    H: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    from_input, bias, gates = _place(places + 1), _place(places + 2), _place(places + 5)
    hidden, cell = _place(places + 3), _place(places + 4)
    n_steps, t = tl.load(places), tl.load(clock) + step
    n, row, unit, real = _own(n_rows, ROWS, UNITS)
    real &= t < n_steps
    at = row * n_steps + t
    depth = tl.arange(0, DEPTH)

    new, keep, candidate, out = _load_gates(from_input + at * 4 * H + unit, real, H)
    h_part = before + row * H + depth[None, :]  # (ROWS, DEPTH)
    w_part = weight + n * 4 * H * H + unit * H + depth[:, None]  # (DEPTH, UNITS), of the first gate
    for _ in range(H // DEPTH):
        h = tl.load(h_part, mask=real, other=0.0)
        new, keep = tl.dot(h, tl.load(w_part), new), tl.dot(h, tl.load(w_part + H * H), keep)
        candidate = tl.dot(h, tl.load(w_part + 2 * H * H), candidate)
        out = tl.dot(h, tl.load(w_part + 3 * H * H), out)
        h_part += DEPTH
        w_part += DEPTH
    b_new, b_keep, b_candidate, b_out = _load_gates(bias + n * 4 * H + unit, (unit >= 0) & (t < n_steps), H)
    new, keep, out = tl.sigmoid(new + b_new), tl.sigmoid(keep + b_keep), tl.sigmoid(out + b_out)
    candidate = _tanh(candidate + b_candidate)
    c = keep * tl.load(state + row * H + unit, mask=real, other=0.0) + new * candidate
    h = out * _tanh(c)
    tl.store(state + row * H + unit, c, mask=real)
    tl.store(after + row * H + unit, h.to(after.dtype.element_ty), mask=real)
    tl.store(hidden + at * H + unit, h, mask=real)
    tl.store(cell + at * H + unit, c, mask=real)
    if tl.load(places + 5) != 0:
        _store_gates(gates + at * 4 * H + unit, new, keep, candidate, out, real, H)


@triton.jit(do_not_specialize=["step", "n_rows"])
def _back(
    places, clock, weight, before, after, state, step, n_rows,
    H: tl.constexpr, ROWS: tl.constexpr, UNITS: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    of_hidden, of_cell, start_cell = _place(places + 1), _place(places + 2), _place(places + 3)
    cell, gates, of_gates = _place(places + 4), _place(places + 5), _place(places + 6)
    n_steps = tl.load(places)
    t = n_steps - 1 - tl.load(clock) - step
    n, row, unit, real = _own(n_rows, ROWS, UNITS)
    real &= t >= 0
    at = row * n_steps + t
    depth = tl.arange(0, DEPTH)

    of_h = tl.load(of_hidden + at * H + unit, mask=real, other=0.0)
    said_part = before + row * 4 * H + depth[None, :]  # (ROWS, DEPTH), what the next pick says of its gates
    w_part = weight + n * 4 * H * H + depth[:, None] * H + unit  # (DEPTH, UNITS)
    for _ in range(4 * H // DEPTH):
        of_h = tl.dot(tl.load(said_part, mask=real, other=0.0), tl.load(w_part), of_h)
        said_part += DEPTH
        w_part += DEPTH * H

    new, keep, candidate, out = _load_gates(gates + at * 4 * H + unit, real, H)
    shown = _tanh(tl.load(cell + at * H + unit, mask=real, other=0.0))
    c_before = tl.load(cell + (at - 1) * H + unit, mask=real & (t > 0), other=0.0)
    c_before += tl.load(start_cell + row * H + unit, mask=real & (t == 0), other=0.0)
    of_c = tl.load(state + row * H + unit, mask=real, other=0.0)
    of_c += tl.load(of_cell + at * H + unit, mask=real, other=0.0) + of_h * out * (1 - shown * shown)
    tl.store(state + row * H + unit, of_c * keep, mask=real)
    new, keep, candidate, out = (
        of_c * candidate * new * (1 - new),
        of_c * c_before * keep * (1 - keep),
        of_c * new * (1 - candidate * candidate),
        of_h * shown * out * (1 - out),
    )
    _store_gates(of_gates + at * 4 * H + unit, new, keep, candidate, out, real, H)
    _store_gates(after + row * 4 * H + unit, new, keep, candidate, out, real, H)


@triton.jit
def _own(n_rows, ROWS: tl.constexpr, UNITS: tl.constexpr):
    """A block's network, its rows (ROWS, 1) among those of all, its units (1, UNITS), and which rows there are."""
    n = tl.program_id(2).to(tl.int64)
    row = (tl.program_id(1) * ROWS + tl.arange(0, ROWS))[:, None]
    unit = (tl.program_id(0) * UNITS + tl.arange(0, UNITS))[None, :]
    return n, n * n_rows + row, unit, row < n_rows


@triton.jit
def _load_gates(place, real, H: tl.constexpr):
    new, keep = tl.load(place, mask=real, other=0.0), tl.load(place + H, mask=real, other=0.0)
    return new, keep, tl.load(place + 2 * H, mask=real, other=0.0), tl.load(place + 3 * H, mask=real, other=0.0)


@triton.jit
def _store_gates(place, new, keep, candidate, out, real, H: tl.constexpr):
    kind: tl.constexpr = place.dtype.element_ty
    tl.store(place, new.to(kind), mask=real)
    tl.store(place + H, keep.to(kind), mask=real)
    tl.store(place + 2 * H, candidate.to(kind), mask=real)
    tl.store(place + 3 * H, out.to(kind), mask=real)


@triton.jit
def _place(place):
    """Where a tensor lies. It is said to be aligned, so that four numbers are read at a time."""
    return tl.multiple_of(tl.load(place).to(tl.pointer_type(tl.float32)), 16)


@triton.jit
def _tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1
