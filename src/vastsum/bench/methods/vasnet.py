"""VASNet: soft self-attention over all frames, then a two-layer regressor.

J. Fajtl, H. S. Sokeh, V. Argyriou, D. Monekosso, P. Remagnino, "Summarizing Videos with Attention", ACCV Workshops
2018.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Recipe
from vastsum.bench.methods.nn.noise import Dropout


class Vasnet(LearnedMethod):
    recipe = Recipe(
        epochs=300, batch_size=1, learning_rate=5e-5, weight_decay=1e-5, optimizer="adam", schedule="constant"
    )

    def build(self, feature_width: int) -> nn.Module:
        return VasnetNetwork(feature_width)


class VasnetNetwork(nn.Module):
    SCALE = 0.06  # of the attention's logits, as the authors set it
    DROPOUT = 0.5

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.mix = nn.Linear(width, width, bias=False)
        self.attention_dropout = Dropout(self.DROPOUT)
        self.context_dropout = Dropout(self.DROPOUT)
        self.context_norm = nn.LayerNorm(width)
        self.hidden = nn.Linear(width, width)
        self.hidden_dropout = Dropout(self.DROPOUT)
        self.hidden_norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        for layer in (self.query, self.key, self.value, self.mix, self.hidden, self.score):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → importance (B, T) in (0, 1)."""
        logits = self.SCALE * self.query(features) @ self.key(features).transpose(1, 2)  # (B, T, T)
        attention = logits.masked_fill(~mask.unsqueeze(1), float("-inf")).softmax(dim=-1)
        context = self.mix(self.attention_dropout(attention) @ self.value(features))  # (B, T, D)
        h = self.context_norm(self.context_dropout(context + features))
        h = self.hidden_norm(self.hidden_dropout(torch.relu(self.hidden(h))))
        return torch.sigmoid(self.score(h)).squeeze(-1)  # (B, T)
