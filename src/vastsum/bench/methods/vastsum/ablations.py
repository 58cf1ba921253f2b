"""Add-ons that the paper tried and left out (Table IV, "architecture add-ons")."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.nn.noise import Dropout


class GatedResidual(nn.Module):
    """h + σ(W_g LN(h)) ⊙ FFN(LN(h)): a frame-wise feed-forward block that a gate lets in."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.gate = nn.Linear(width, width)
        self.ffn = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), Dropout(dropout), nn.Linear(2 * width, width))

    def forward(self, h: Tensor) -> Tensor:
        x = self.norm(h)  # (B, T, d)
        return h + torch.sigmoid(self.gate(x)) * self.ffn(x)


class CnnAttention(nn.Module):
    """The frame tokens as a one-channel T×d picture; a small CNN turns it into an attention map over time and width.

    After CSTA, which runs an ImageNet backbone over that picture. This one is light: two 3×3 convolutions, a softmax
    over time, and the attended tokens added back.
    """

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        picture_mask = mask[:, None, :, None]
        picture = h.unsqueeze(1) * picture_mask  # (B, 1, T, d)
        hidden = F.gelu(self.first(picture)) * picture_mask
        logits = self.second(hidden).masked_fill(~picture_mask, float("-inf"))
        n_picks = mask.sum(dim=1)[:, None, None]
        attention = logits.softmax(dim=2).squeeze(1) * n_picks  # (B, T, d), mean 1 over real picks
        return h + attention * h
