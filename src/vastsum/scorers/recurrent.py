"""An LSTM that many trainings run as one program.

torch's own does not work under `torch.func.vmap`. This one goes through time once for all members of a population: the
products of a step are one batched product. Videos are padded; what comes after the last real pick changes nothing.

Letters: K members, B videos, T picks, d width, H hidden width. The four gates lie in the order output, input, forget,
new, so that those of one kind are neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

State = tuple[Tensor, Tensor]
"""Hidden and cell vectors, (B, layers, H) each."""


class Lstm(nn.Module):
    """Its output at each pick, and, if it runs one way, its state after the last real one."""

    def __init__(self, width: int, hidden: int, layers: int, *, both_ways: bool = False) -> None:
        super().__init__()
        n_ways = 2 if both_ways else 1
        widths = [width, *[n_ways * hidden] * (layers - 1)]
        self.forth = nn.ModuleList(_Layer(each, hidden) for each in widths)
        self.back = nn.ModuleList(_Layer(each, hidden) for each in widths) if both_ways else None

    def forward(self, x: Tensor, mask: Tensor, start: State | None = None) -> tuple[Tensor, State]:
        """x (B, T, d), mask (B, T) → (B, T, H), or (B, T, 2 H) both ways"""
        states = []
        for n, layer in enumerate(self.forth):
            own = None if start is None else (start[0][:, n], start[1][:, n])
            told, hidden, cell = layer(x, mask, own)
            if self.back is not None:
                reverse, _, _ = self.back[n](reversed_in_time(x, mask), mask)
                told = torch.cat([told, reversed_in_time(reverse, mask)], dim=-1)
            x = told
            states.append((hidden, cell))
        hidden, cell = (torch.stack(parts, dim=1) for parts in zip(*states, strict=True))
        return x, (hidden, cell)


class _Layer(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        reach = 1 / math.sqrt(hidden)
        self.from_input = nn.Parameter(torch.empty(4 * hidden, width).uniform_(-reach, reach))
        self.from_hidden = nn.Parameter(torch.empty(4 * hidden, hidden).uniform_(-reach, reach))
        self.bias = nn.Parameter(torch.empty(4 * hidden).uniform_(-reach, reach))

    def forward(
        self, x: Tensor, mask: Tensor, start: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Hidden vectors at each pick (B, T, H), and hidden and cell vectors (B, H) after the last real one."""
        from_input = nn.functional.linear(x, self.from_input, self.bias)  # (B, T, 4 H)
        if start is None:
            nothing = x.new_zeros(len(x), self.from_hidden.shape[1])
            start = nothing, nothing
        hidden, cell, *_ = _steps(from_input, self.from_hidden, *start)
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, hidden.shape[2])
        return hidden, hidden.gather(1, last).squeeze(1), cell.gather(1, last).squeeze(1)


class _Steps(torch.autograd.Function):
    """h_t, c_t of all picks from what the input says of the gates. Works for K members as for one: tensors then have
    one dimension more in front."""

    @staticmethod
    def forward(
        from_input: Tensor, weight: Tensor, start_hidden: Tensor, start_cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(…, B, T, 4 H), (…, 4 H, H), (…, B, H) twice → h, c (…, B, T, H) and the gates (…, B, T, 4 H), for later"""
        size, to_gates = start_hidden.shape[-1], weight.transpose(-1, -2)
        hidden, cell = start_hidden, start_cell
        kept: list[tuple[Tensor, Tensor, Tensor]] = []
        for given in from_input.unbind(-2):
            gates = torch.matmul(hidden, to_gates).add_(given)
            gates[..., : 3 * size].sigmoid_()
            gates[..., 3 * size :].tanh_()
            out, new, keep, candidate = gates.chunk(4, dim=-1)
            cell = torch.addcmul(new * candidate, keep, cell)
            hidden = out * torch.tanh(cell)
            kept.append((hidden, cell, gates))
        all_hidden, all_cell, all_gates = (torch.stack(parts, dim=-2) for parts in zip(*kept, strict=True))
        return all_hidden, all_cell, all_gates

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: tuple[Tensor, ...]) -> None:
        _, weight, start_hidden, start_cell = inputs
        hidden, cell, gates = output
        ctx.mark_non_differentiable(gates)
        ctx.save_for_backward(weight, start_hidden, start_cell, hidden, cell, gates)

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor, of_cell: Tensor, _: Tensor) -> tuple[Tensor, ...]:
        """Gradients of the four inputs, from those of h and c. What needs no going through time is done at once."""
        weight, start_hidden, start_cell, hidden, cell, gates = ctx.saved_tensors
        out, new, keep, candidate = gates.chunk(4, dim=-1)
        shown = torch.tanh(cell)
        before = torch.cat([start_cell.unsqueeze(-2), cell[..., :-1, :]], dim=-2)
        to_cell = out * (1 - shown**2)  # dh / dc of each pick; then what a gate's input changes in h or c
        to_out = shown * out * (1 - out)
        to_rest = torch.stack(
            [candidate * new * (1 - new), before * keep * (1 - keep), new * (1 - candidate**2)], dim=-2
        )  # (…, B, T, 3, H)
        later_gates = torch.zeros_like(gates[..., 0, :])
        later_cell = torch.zeros_like(start_cell)
        found = []
        for t in reversed(range(hidden.shape[-2])):
            at_hidden = torch.matmul(later_gates, weight).add_(of_hidden[..., t, :])
            at_cell = torch.addcmul(later_cell + of_cell[..., t, :], at_hidden, to_cell[..., t, :])
            rest = (at_cell.unsqueeze(-2) * to_rest[..., t, :, :]).flatten(-2)
            later_gates = torch.cat([at_hidden * to_out[..., t, :], rest], dim=-1)
            later_cell = at_cell * keep[..., t, :]
            found.append(later_gates)
        of_gates = torch.stack(found[::-1], dim=-2)  # (…, B, T, 4 H)
        earlier = torch.cat([start_hidden.unsqueeze(-2), hidden[..., :-1, :]], dim=-2)
        of_weight = of_gates.flatten(-3, -2).transpose(-1, -2) @ earlier.flatten(-3, -2)
        return of_gates, of_weight, torch.matmul(later_gates, weight), later_cell

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Tensor) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        members = [
            each.expand(info.batch_size, *each.shape) if place is None else each.movedim(place, 0)
            for each, place in zip(inputs, in_dims, strict=True)
        ]
        return _steps(*members), (0, 0, 0)


_steps: Callable[..., tuple[Tensor, ...]] = _Steps.apply


def reversed_in_time(x: Tensor, mask: Tensor) -> Tensor:
    """x (B, T, d) with the real picks of each video in reverse; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    source = mask.sum(dim=1, keepdim=True) - 1 - place  # (B, T), negative at padding
    return x.gather(1, torch.where(source >= 0, source, place).unsqueeze(-1).expand_as(x))
