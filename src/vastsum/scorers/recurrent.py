"""An LSTM that many trainings run as one program.

torch's own does not work under `torch.func.vmap`. This one goes through time once for all members of a population, and
for both ways: the products of a step are one batched product. Videos are padded; what comes after the last real pick
changes nothing.

Letters: W ways through time, B videos, T picks, d width, H hidden width; N networks at once, W for each member of a
population. The four gates lie in torch's order: input, forget, new, output.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from vastsum.scorers.recorded import Tensors, run_over_time
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
        flat = torch.baddbmm(self.bias.unsqueeze(1), x.flatten(1, 2), self.from_input.mT)
        from_input = flat.view(*x.shape[:3], -1)  # (W, B, T, 4 H)
        if start is None:
            nothing = x.new_zeros(*x.shape[:2], self.from_hidden.shape[2])
            start = nothing, nothing
        else:
            start = start[0].unsqueeze(0), start[1].unsqueeze(0)
        hidden, cell, _ = _steps(from_input, self.from_hidden, *start, torch.is_grad_enabled())
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, hidden.shape[3])
        return hidden, hidden[0].gather(1, last).squeeze(1), cell[0].gather(1, last).squeeze(1)


class _Steps(torch.autograd.Function):
    """h_t, c_t of all picks from what the input says of the gates."""

    @staticmethod
    def forward(
        from_input: Tensor, weight: Tensor, start_hidden: Tensor, start_cell: Tensor, to_learn: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(N, B, T, 4 H), (N, 4 H, H), (N, B, H) twice → h, c (N, B, T, H) and, to learn, the gates (N, B, T, 4 H)"""
        forth = _forth_to_learn if to_learn else _forth
        found, _ = run_over_time(forth, [from_input.movedim(2, 0)], [weight], [start_hidden, start_cell])
        hidden, cell, *gates = (each.movedim(0, 2) for each in found)
        return hidden, cell, gates[0] if gates else hidden.new_empty(len(weight), 0)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _, weight, start_hidden, start_cell, _ = inputs
        hidden, cell, gates = output
        ctx.mark_non_differentiable(gates)
        ctx.save_for_backward(weight, start_hidden, start_cell, hidden, cell, gates)

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor, of_cell: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of the inputs, from those of h and c."""
        weight, start_hidden, start_cell, hidden, cell, gates = ctx.saved_tensors
        cell_before = torch.cat([start_cell.unsqueeze(2), cell[:, :, :-1]], dim=2)
        over_time = [each.movedim(2, 0) for each in (of_hidden, of_cell, cell_before, cell, gates)]
        nothing = [torch.zeros_like(gates[:, :, 0]), torch.zeros_like(start_cell)]
        (found,), (first_gates, first_cell) = run_over_time(_back, over_time, [weight], nothing, backwards=True)
        of_gates = found.movedim(0, 2)  # (N, B, T, 4 H)
        hidden_before = torch.cat([start_hidden.unsqueeze(2), hidden[:, :, :-1]], dim=2)
        of_weight = of_gates.flatten(1, 2).mT @ hidden_before.flatten(1, 2)
        return of_gates, of_weight, torch.bmm(first_gates, weight), first_cell, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *inputs: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        *tensors, to_learn = inputs
        members = members_first(tensors, in_dims[:-1], info.batch_size)
        n_ways = members[0].shape[1]
        outputs = _steps(*(each.flatten(0, 1) for each in members), to_learn)
        return tuple(each.view(info.batch_size, n_ways, *each.shape[1:]) for each in outputs), (0, 0, 0)


_steps: Callable[..., tuple[Tensor, ...]] = _Steps.apply


def _forth_to_learn(over_time: Tensors, fixed: Tensors, carried: Tensors) -> tuple[Tensors, Tensors]:
    """h, c and the gates of each pick, from what the input says of them (T, N, B, 4 H), the weight (N, 4 H, H), and h
    and c before."""
    kept = list(_walk(over_time, fixed, carried))
    return [torch.stack(parts) for parts in zip(*kept, strict=True)], list(kept[-1][:2])


def _forth(over_time: Tensors, fixed: Tensors, carried: Tensors) -> tuple[Tensors, Tensors]:
    """The same without the gates, which are two thirds of it."""
    kept = [(hidden, cell) for hidden, cell, _ in _walk(over_time, fixed, carried)]
    return [torch.stack(parts) for parts in zip(*kept, strict=True)], list(kept[-1])


def _walk(over_time: Tensors, fixed: Tensors, carried: Tensors) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    (from_input,), (weight,), (hidden, cell) = over_time, fixed, carried
    step = _cell_in_one if from_input.is_cuda else _cell
    to_gates = _in_brief(weight.mT, torch.float16)  # its mantissa is TF32's, and no hidden vector is beyond its reach
    for given in from_input:
        hidden, cell, gates = step(given, _product(hidden, to_gates), cell)
        yield hidden, cell, gates


def _back(over_time: Tensors, fixed: Tensors, carried: Tensors) -> tuple[Tensors, Tensors]:
    """Gradients of what is said of the gates, from those of h and c, what `_forth_to_learn` found, and what the picks
    after these say of the gates and c."""
    (of_hidden, of_cell, *found), (weight,), (of_gates, of_next) = over_time, fixed, carried
    step = (_cell_back_in_one if of_hidden.is_cuda else _cell_back)(*found)
    to_hidden = _in_brief(weight, torch.bfloat16)  # gradients may be beyond the reach of float16
    kept = []
    for t in reversed(range(len(of_hidden))):
        of_gates, of_next = step(t, _product(of_gates, to_hidden, of_hidden[t]), of_next + of_cell[t])
        kept.append(of_gates)
    return [torch.stack(kept[::-1])], [of_gates, of_next]


def _in_brief(weight: Tensor, brief: torch.dtype) -> Tensor:
    """What a step on a GPU costs is reading its weights. Where TF32 is allowed they are read in 16 bits."""
    allowed = weight.is_cuda and weight.dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest"
    return weight.to(brief) if allowed else weight


def _product(x: Tensor, weight: Tensor, beside: Tensor | None = None) -> Tensor:
    """(N, B, …), and what is added to it, summed up in the precision of x."""
    if weight.dtype == x.dtype:
        return torch.bmm(x, weight) if beside is None else torch.baddbmm(beside, x, weight)
    product = torch.bmm(x.to(weight.dtype), weight, out_dtype=x.dtype)
    return product if beside is None else product + beside


CellBack = Callable[[int, Tensor, Tensor], tuple[Tensor, Tensor]]
"""From a pick and the gradients of its h and c, (N, B, H) each: those of its gates (N, B, 4 H) and of the c before."""


def _cell(from_input: Tensor, from_hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """h, c and the gates of one pick, from what is said of the gates (N, B, 4 H) and the c before (N, B, H)."""
    size = cell.shape[-1]
    gates = from_hidden.add_(from_input)
    new, keep, candidate, out = gates.chunk(4, dim=-1)
    gates[..., : 2 * size].sigmoid_()
    candidate.tanh_()
    out.sigmoid_()
    cell = torch.addcmul(new * candidate, keep, cell)
    return out * torch.tanh(cell), cell, gates


def _cell_back(before: Tensor, cell: Tensor, gates: Tensor) -> CellBack:
    """What needs no going through time is done at once."""
    new, keep, candidate, out = gates.chunk(4, dim=-1)
    shown = torch.tanh(cell)
    to_cell = out * (1 - shown**2)  # dh / dc of each pick; then what a gate's input changes in h or c
    to_out = shown * out * (1 - out)
    to_rest = torch.stack(
        [candidate * new * (1 - new), before * keep * (1 - keep), new * (1 - candidate**2)], dim=-2
    )  # (T, N, B, 3, H)

    def back(t: int, of_hidden: Tensor, of_cell: Tensor) -> tuple[Tensor, Tensor]:
        of_cell = torch.addcmul(of_cell, of_hidden, to_cell[t])
        rest = (of_cell.unsqueeze(-2) * to_rest[t]).flatten(-2)
        return torch.cat([rest, of_hidden * to_out[t]], dim=-1), of_cell * keep[t]

    return back


def _cell_in_one(from_input: Tensor, from_hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """`_cell` as one kernel of torch's."""
    rows = (each.flatten(0, 1) for each in (from_input, from_hidden, cell))
    hidden, cell, gates = torch.ops.aten._thnn_fused_lstm_cell(*rows)
    shape = (*from_input.shape[:2], -1)
    return hidden.view(shape), cell.view(shape), gates.view(shape)


def _cell_back_in_one(before: Tensor, cell: Tensor, gates: Tensor) -> CellBack:
    def back(t: int, of_hidden: Tensor, of_cell: Tensor) -> tuple[Tensor, Tensor]:
        shape = (*of_hidden.shape[:2], -1)
        rows = (each.flatten(0, 1) for each in (of_hidden, of_cell, before[t], cell[t], gates[t]))
        of_gates, of_before, _ = torch.ops.aten._thnn_fused_lstm_cell_backward_impl(*rows, False)
        return of_gates.view(shape), of_before.view(shape)

    return back


def reversed_in_time(x: Tensor, mask: Tensor) -> Tensor:
    """x (B, T, d) with the real picks of each video in reverse; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    source = mask.sum(dim=1, keepdim=True) - 1 - place  # (B, T), negative at padding
    return x.gather(1, torch.where(source >= 0, source, place).unsqueeze(-1).expand_as(x))
