"""Pieces that several methods share. All of them work under `torch.func.vmap`, so attention is written out."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vastsum.bench.methods.nn.noise import Dropout
from vastsum.errors import ConfigError


def masked_softmax(logits: Tensor, allowed: Tensor) -> Tensor:
    """Softmax over the last dimension among what is allowed. Where nothing is, weights are even rather than NaN."""
    return logits.masked_fill(~allowed, torch.finfo(logits.dtype).min).softmax(dim=-1)


class Attention(nn.Module):
    """Multi-head scaled dot-product attention of x (B, T, d) to itself, or to a context (B, S, d).

    What is mixed is what was attended to, unless other values (B, S, d) are given.
    """

    def __init__(self, width: int, heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        super().__init__()
        if width % heads:
            remedy = f"use features of a width that {heads} divides"
            raise ConfigError("attention", f"{heads} heads cannot share a width of {width}", remedy)
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=bias) for _ in range(3))
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x: Tensor, mask: Tensor, context: Tensor | None = None, values: Tensor | None = None) -> Tensor:
        """`mask` (B, S) is true at the real places of what is attended to."""
        context = x if context is None else context
        values = context if values is None else values
        q, k, v = (
            layer(given).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, given in ((self.query, x), (self.key, context), (self.value, values))
        )  # (B, H, T or S, d/H)
        logits = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])  # (B, H, T, S)
        weights = self.dropout(masked_softmax(logits, mask[:, None, None, :]))
        return self.out((weights @ v).transpose(1, 2).flatten(2))


def sinusoids(positions: Tensor, width: int, columns: int | None = None) -> Tensor:
    """The transformer's encoding of positions (…): sin(p / 10000^(2i/width)) in column 2i, its cosine in column 2i + 1.

    There are `width` columns, unless it is said how many.
    """
    column = torch.arange(columns or width, device=positions.device)
    angles = positions.unsqueeze(-1) * 10000.0 ** (-(column - column % 2) / width)
    return torch.where(column % 2 == 0, torch.sin(angles), torch.cos(angles))  # (…, columns)


def xavier_for_relu(network: nn.Module, bias: float = 0.1) -> None:
    """Glorot's uniform weights with the gain of a ReLU, and small positive biases, in every linear layer."""
    for layer in network.modules():
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight, gain=math.sqrt(2.0))
            if layer.bias is not None:
                nn.init.constant_(layer.bias, bias)
