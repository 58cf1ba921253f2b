"""DMASum: attention whose weights are a mixture of softmaxes and whose queries have queried each other first.

J. Wang, Y. Bai, Y. Long, B. Hu, Z. Chai, Y. Guan, X. Wei, "Query Twice: Dual Mixture Attention Meta Learning for Video
Summarization", ACM Multimedia 2020.

A softmax over products of queries and keys is of low rank; a mixture of several is not (Yang et al., "Breaking the
Softmax Bottleneck", ICLR 2018). Written from the abstract and from that paper, without the full text. So these are our
reading: the second query is attention among the queries; four softmaxes are mixed, by weights that depend on the pick;
visual attention looks at features and sequential attention at what it made of them with positions added; the regressor
and the recipe are VASNet's. The single-frame meta learning rule, which takes a gradient step within a step, is left
out: this is the network trained plainly.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Recipe
from vastsum.bench.methods.nn.layers import masked_softmax, sinusoids
from vastsum.bench.methods.nn.noise import Dropout


class Dmasum(LearnedMethod):
    recipe = Recipe(
        epochs=300, batch_size=1, learning_rate=5e-5, weight_decay=1e-5, optimizer="adam", schedule="constant"
    )

    def build(self, feature_width: int) -> nn.Module:
        return DmasumNetwork(feature_width)


class DmasumNetwork(nn.Module):
    DROPOUT = 0.5

    def __init__(self, width: int) -> None:
        super().__init__()
        self.visual, self.sequential = (MixtureOfAttention(width, self.DROPOUT) for _ in range(2))
        self.visual_norm, self.sequential_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.score = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), Dropout(self.DROPOUT), nn.LayerNorm(width), nn.Linear(width, 1)
        )

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → importance (B, T) in (0, 1)."""
        h = self.visual_norm(features + self.visual(features, mask))  # (B, T, D)
        placed = h + sinusoids(torch.arange(h.shape[1], device=h.device), h.shape[2])
        h = self.sequential_norm(h + self.sequential(placed, mask))
        return torch.sigmoid(self.score(h)).squeeze(-1)


class MixtureOfAttention(nn.Module):
    SOFTMAXES = 4

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.parts = nn.Linear(width, self.SOFTMAXES * width)
        self.shares = nn.Linear(width, self.SOFTMAXES)
        self.dropout = Dropout(dropout)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        scale = 1 / math.sqrt(x.shape[-1])
        seen = mask.unsqueeze(1)  # (B, 1, T)
        q, k = self.query(x), scale * self.key(x)  # (B, T, D)
        q = q + masked_softmax(scale * q @ q.transpose(1, 2), seen) @ q  # the second query
        parts = torch.tanh(self.parts(q)).view(len(q), -1, q.shape[-1])  # (B, T K, D)
        attention = masked_softmax(parts @ k.transpose(1, 2), seen)  # (B, T K, T)
        shares = self.shares(q).softmax(dim=-1).unsqueeze(-1)  # (B, T, K, 1)
        mixed = (shares * attention.view(*q.shape[:2], self.SOFTMAXES, -1)).sum(dim=2)  # (B, T, T)
        return self.dropout(self.out(mixed @ self.value(x)))
