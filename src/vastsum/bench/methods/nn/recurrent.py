"""An LSTM that many trainings run as one program.

torch's own does not work under `torch.func.vmap`. This one goes through time for both ways at once. Videos are padded;
what comes after the last real pick changes nothing.

Letters: W ways through time, B videos, T picks, d width, H hidden width. The four gates lie in torch's order: input,
forget, new, output.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

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
        n_ways, n_videos, n_picks, _ = x.shape
        from_input = torch.baddbmm(self.bias.unsqueeze(1), x.flatten(1, 2), self.from_input.mT)
        if start is None:
            hidden = cell = x.new_zeros(n_ways, n_videos, self.from_hidden.shape[2])
        else:
            hidden, cell = start[0].unsqueeze(0), start[1].unsqueeze(0)
        hiddens, cells = [], []
        for given in from_input.view(n_ways, n_videos, n_picks, -1).unbind(2):  # (W, B, 4 H)
            new, keep, candidate, out = torch.baddbmm(given, hidden, self.from_hidden.mT).chunk(4, dim=-1)
            cell = torch.sigmoid(keep) * cell + torch.sigmoid(new) * torch.tanh(candidate)
            hidden = torch.sigmoid(out) * torch.tanh(cell)
            hiddens.append(hidden)
            cells.append(cell)
        told = torch.stack(hiddens, dim=2)
        last = (mask.sum(dim=1) - 1).view(-1, 1, 1).expand(-1, 1, told.shape[3])
        return told, told[0].gather(1, last).squeeze(1), torch.stack(cells, dim=2)[0].gather(1, last).squeeze(1)


def reversed_in_time(x: Tensor, mask: Tensor) -> Tensor:
    """x (B, T, d) with the real picks of each video in reverse; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    source = mask.sum(dim=1, keepdim=True) - 1 - place  # (B, T), negative at padding
    return x.gather(1, torch.where(source >= 0, source, place).unsqueeze(-1).expand_as(x))
