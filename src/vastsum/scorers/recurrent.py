"""An LSTM that many trainings run as one program.

torch's own does not work under `torch.func.vmap`. This one goes through time once for all members of a population, and
for both ways: the products of a step are one batched product. Videos are padded; what comes after the last real pick
changes nothing.

Letters: W ways through time, B videos, T picks, d width, H hidden width; N networks at once, W for each member of a
population. The four gates lie in torch's order: input, forget, new, output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from vastsum.scorers.stacking import members_first

State = tuple[Tensor, Tensor]
"""Hidden and cell vectors, (B, layers, H) each."""


class Lstm(nn.Module):
    """Its output at each pick, and, if it runs one way, its state after the last real one."""

    def __init__(self, width: int, hidden: int, layers: int, *, both_ways: bool = False) -> None:
        super().__init__()
        self.both_ways = both_ways
        n_ways = 2 if both_ways else 1
        self.layers = nn.ModuleList(_Layer(each, hidden, n_ways) for each in (width, *[n_ways * hidden] * (layers - 1)))

    def forward(self, x: Tensor, mask: Tensor, start: State | None = None) -> tuple[Tensor, State]:
        """x (B, T, d), mask (B, T) → (B, T, H), or (B, T, 2 H) both ways"""
        states = []
        for n, layer in enumerate(self.layers):
            own = None if start is None else (start[0][:, n], start[1][:, n])
            given = torch.stack([x, reversed_in_time(x, mask)] if self.both_ways else [x])
            told, hidden, cell = layer(given, mask, own)  # (W, B, T, H)
            x = torch.cat([told[0], reversed_in_time(told[1], mask)], dim=-1) if self.both_ways else told[0]
            states.append((hidden, cell))
        hidden, cell = (torch.stack(parts, dim=1) for parts in zip(*states, strict=True))
        return x, (hidden, cell)


class _Layer(nn.Module):
    def __init__(self, width: int, hidden: int, n_ways: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(hidden)
        self.from_input = nn.Parameter(torch.empty(n_ways, 4 * hidden, width).uniform_(-reach, reach))
        self.from_hidden = nn.Parameter(torch.empty(n_ways, 4 * hidden, hidden).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(n_ways, 4 * hidden).uniform_(-reach, reach))

    def forward(self, x: Tensor, mask: Tensor, start: State | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden vectors at each pick (W, B, T, H), and hidden and cell vectors (B, H) of the first way after the last
        real one."""
        from_input = torch.bmm(x.flatten(1, 2), self.from_input.mT).view(*x.shape[:3], -1)  # (W, B, T, 4 H)
        if start is None:
            nothing = x.new_zeros(*x.shape[:2], self.from_hidden.shape[2])
            start = nothing, nothing
        else:
            start = start[0].unsqueeze(0), start[1].unsqueeze(0)
        hidden, cell, _ = _steps(from_input, self.from_hidden, self.bias, *start, torch.is_grad_enabled())
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, hidden.shape[3])
        return hidden, hidden[0].gather(1, last).squeeze(1), cell[0].gather(1, last).squeeze(1)


class _Steps(torch.autograd.Function):
    """h_t, c_t of all picks from what the input says of the gates."""

    @staticmethod
    def forward(
        from_input: Tensor, weight: Tensor, bias: Tensor, start_hidden: Tensor, start_cell: Tensor, to_learn: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(N, B, T, 4 H), (N, 4 H, H), (N, 4 H), (N, B, H) twice → h, c (N, B, T, H) and, to learn, the gates
        (N, B, T, 4 H)"""
        return _made_for(weight).forth(from_input, weight, bias, start_hidden, start_cell, to_learn)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, weight, _, start_hidden, start_cell, _ = inputs
        hidden, cell, gates = output
        ctx.mark_non_differentiable(gates)
        ctx.save_for_backward(weight, start_hidden, start_cell, hidden, cell, gates)

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor, of_cell: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the inputs, from those of h and c."""
        weight, start_hidden, start_cell, hidden, cell, gates = ctx.saved_tensors
        of_gates, of_start_cell = _made_for(weight).back(of_hidden, of_cell, weight, start_cell, cell, gates)
        hidden_before = torch.cat([start_hidden.unsqueeze(2), hidden[:, :, :-1]], dim=2)
        of_weight = of_gates.flatten(1, 2).mT @ hidden_before.flatten(1, 2)
        of_start_hidden = torch.bmm(of_gates[:, :, 0], weight)
        return of_gates, of_weight, of_gates.sum(dim=(1, 2)), of_start_hidden, of_start_cell, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        *tensors, to_learn = inputs
        members = members_first(tensors, in_dims[:-1], info.batch_size)
        n_ways = members[0].shape[1]
        outputs = _steps(*(each.flatten(0, 1) for each in members), to_learn)
        return tuple(each.view(info.batch_size, n_ways, *each.shape[1:]) for each in outputs), (0, 0, 0)


_steps: Callable[..., tuple[Tensor, ...]] = _Steps.apply


class _Plain:
    """Steps that run anywhere, in any precision."""

    @staticmethod
    def forth(
        from_input: Tensor, weight: Tensor, bias: Tensor, hidden: Tensor, cell: Tensor, to_learn: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        size, kept = cell.shape[-1], []
        for given in from_input.unbind(2):
            gates = torch.baddbmm(bias.unsqueeze(1), hidden, weight.mT).add_(given)
            new, keep, candidate, out = gates.chunk(4, dim=-1)
            gates[..., : 2 * size].sigmoid_()
            candidate.tanh_()
            out.sigmoid_()
            cell = torch.addcmul(new * candidate, keep, cell)
            hidden = out * torch.tanh(cell)
            kept.append((hidden, cell, gates if to_learn else hidden[..., :0]))
        hiddens, cells, all_gates = (torch.stack(parts, dim=2) for parts in zip(*kept, strict=True))
        return hiddens, cells, all_gates

    @staticmethod
    def back(
        of_hidden: Tensor, of_cell: Tensor, weight: Tensor, start_cell: Tensor, cell: Tensor, gates: Tensor
    ) -> tuple[Tensor, Tensor]:
        """What needs no going through time is done at once."""
        new, keep, candidate, out = gates.chunk(4, dim=-1)
        before = torch.cat([start_cell.unsqueeze(2), cell[:, :, :-1]], dim=2)
        shown = torch.tanh(cell)
        to_cell = out * (1 - shown**2)  # dh / dc of each pick; then what a gate's input changes in h or c
        to_out = shown * out * (1 - out)
        to_rest = torch.stack(
            [candidate * new * (1 - new), before * keep * (1 - keep), new * (1 - candidate**2)], dim=-2
        )  # (N, B, T, 3, H)
        of_gates, of_next = torch.zeros_like(gates[:, :, 0]), torch.zeros_like(start_cell)
        kept = []
        for t in reversed(range(cell.shape[2])):
            of_now = torch.baddbmm(of_hidden[:, :, t], of_gates, weight)
            of_next = torch.addcmul(of_next + of_cell[:, :, t], of_now, to_cell[:, :, t])
            rest = (of_next.unsqueeze(-2) * to_rest[:, :, t]).flatten(-2)
            of_gates = torch.cat([rest, of_now * to_out[:, :, t]], dim=-1)
            of_next = of_next * keep[:, :, t]
            kept.append(of_gates)
        return torch.stack(kept[::-1], dim=2), of_next


def _made_for(weight: Tensor) -> Any:
    """Where steps are found: kernels of our own on a GPU that may round as TF32 does."""
    allowed = weight.is_cuda and weight.dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest"
    kernels = _kernels() if allowed else None
    return kernels if kernels and kernels.serve(weight) else _Plain


@lru_cache(1)
def _kernels() -> ModuleType | None:
    """What they are written in comes with torch for NVIDIA's GPUs on Linux."""
    try:
        return import_module("vastsum.scorers.lstm_kernels")
    except ImportError:
        return None


def forget_recordings() -> None:
    """Each holds some memory of a GPU."""
    if kernels := _kernels():
        kernels.forget_recordings()


def reversed_in_time(x: Tensor, mask: Tensor) -> Tensor:
    """x (B, T, d) with the real picks of each video in reverse; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    source = mask.sum(dim=1, keepdim=True) - 1 - place  # (B, T), negative at padding
    return x.gather(1, torch.where(source >= 0, source, place).unsqueeze(-1).expand_as(x))
