"""Knapsacks for the stability loss, where the scores are: many problems of many videos at once."""

from __future__ import annotations

import torch
from torch import Tensor

from vastsum.selection import knapsack


def solve(values: Tensor, weights: Tensor, capacities: Tensor) -> Tensor:
    """The best set (P, M) of each of P problems with values and weights (P, M) and a capacity (P,)."""
    if values.device.type != "cpu":
        return _dynamic_program(values, weights, capacities)
    return torch.from_numpy(knapsack(values.double().numpy(), weights.numpy(), capacities.numpy()))


def _dynamic_program(values: Tensor, weights: Tensor, capacities: Tensor) -> Tensor:
    """best[p, c] is the highest value within capacity c: an item is a few passes over all problems and capacities.

    `vastsum.selection.knapsack` settles most items by bounds and solves the rest a problem at a time: fast on a CPU,
    but a GPU would wait for it. As there, an item is taken only where that is strictly better than leaving it, the
    last item decides first, and where nothing has a positive value, the best item that fits is taken.
    """
    n_problems, n_items = values.shape
    most = int(capacities.max())
    spare = int(
        weights.clamp(max=most + 1).max()
    )  # room before capacity 0, where no value is: too heavy an item lands there
    best = torch.cat([values.new_full((n_problems, spare), -torch.inf), values.new_zeros(n_problems, most + 1)], dim=1)
    places = torch.arange(spare, spare + most + 1, device=values.device)
    takes = torch.empty(n_items, n_problems, most + 1, dtype=torch.bool, device=values.device)
    shifts = weights.clamp(max=spare)
    for item in range(n_items):
        candidate = best.gather(1, places - shifts[:, item, None]).add_(values[:, item, None])
        torch.gt(candidate, best[:, spare:], out=takes[item])
        torch.maximum(candidate, best[:, spare:], out=best[:, spare:])

    taken = torch.zeros_like(values, dtype=torch.bool)
    room = capacities[:, None].clone()
    for item in range(n_items - 1, -1, -1):
        taken[:, item, None] = takes[item].gather(1, room)
        room -= weights[:, item, None] * taken[:, item, None]
    fits = weights <= capacities[:, None]
    best_alone = torch.where(fits, values, -torch.inf).argmax(dim=1, keepdim=True)
    fallback = torch.zeros_like(taken).scatter_(1, best_alone, True) & fits
    return torch.where(taken.any(dim=1, keepdim=True), taken, fallback)
