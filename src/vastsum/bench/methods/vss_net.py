"""VSS-Net: a graph of picks that are near in time or alike, guided by what the video as a whole is about.

Y. Zhang, Y. Liu, W. Kang, R. Tao, "VSS-Net: Visual Semantic Self-Mining Network for Video Summarization", IEEE
Transactions on Circuits and Systems for Video Technology 34(4), 2024.

Written from the abstract, without the full text: it names the parts and what each is for, and the equations are our
plainest reading. The context graph has edges to picks close in time, to those of the same segment and to the most alike
ones, first the near then the alike. The semantics encoder starts from the mean of the video and looks again, closer
each time, at the picks most like what it has. The interaction layer lets every pick take from the semantics as much as
a gate allows. Sizes are ours; the loss and the recipe are VASNet's.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Recipe
from vastsum.bench.methods.nn.layers import masked_softmax
from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.vastsum import GatedFusion

WIDTH, DROPOUT = 256, 0.5


class VssNet(LearnedMethod):
    recipe = Recipe(
        epochs=300, batch_size=1, learning_rate=5e-5, weight_decay=1e-5, optimizer="adam", schedule="constant"
    )

    def build(self, feature_width: int) -> nn.Module:
        return VssNetwork(feature_width)


class VssNetwork(nn.Module):
    NEAR = 4  # picks to either side
    ALIKE = 16  # picks, itself among them

    def __init__(self, feature_width: int) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(feature_width, WIDTH), nn.LayerNorm(WIDTH), Dropout(DROPOUT))
        self.near, self.alike = GraphLayer(), GraphLayer()
        self.semantics = SemanticsEncoder()
        self.interact = GatedFusion(WIDTH)
        self.score = nn.Sequential(
            nn.Linear(WIDTH, WIDTH), nn.ReLU(), Dropout(DROPOUT), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1)
        )

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → importance (B, T) in (0, 1)."""
        x = self.project(features)  # (B, T, d)
        h = self.near(x, self.near_edges(segment_ids, mask))
        h = self.alike(h, self.alike_edges(features, mask))
        whole = self.semantics(x, mask)  # (B, d)
        h = self.interact(h, whole.unsqueeze(1).expand_as(h))
        return torch.sigmoid(self.score(h)).squeeze(-1)

    def near_edges(self, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """(B, T, T): picks close in time, and those of one segment."""
        place = torch.arange(mask.shape[1], device=mask.device)
        close = (place[:, None] - place).abs() <= self.NEAR
        together = segment_ids.unsqueeze(2) == segment_ids.unsqueeze(1)
        return (close | together) & mask.unsqueeze(1)

    def alike_edges(self, features: Tensor, mask: Tensor) -> Tensor:
        """(B, T, T): the picks with the highest cosine to each."""
        unit = nn.functional.normalize(features, dim=-1)
        cosine = (unit @ unit.transpose(1, 2)).masked_fill(~mask.unsqueeze(1), -torch.inf)
        last = cosine.topk(min(self.ALIKE, mask.shape[1]), dim=-1).values[..., -1:]
        return (cosine >= last) & mask.unsqueeze(1)


class GraphLayer(nn.Module):
    """Every node takes from its neighbours, by attention among them."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.dropout = Dropout(DROPOUT)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        logits = self.query(x) @ self.key(x).transpose(1, 2) / math.sqrt(WIDTH)  # (B, T, T)
        message = torch.relu(masked_softmax(logits, edges) @ self.value(x))
        h: Tensor = self.norm(x + self.dropout(message))
        return h


class SemanticsEncoder(nn.Module):
    LOOKS = 3

    def __init__(self) -> None:
        super().__init__()
        self.query = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(self.LOOKS))
        self.norm = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(self.LOOKS))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, d) → one vector a video (B, d)."""
        weights = mask.to(x.dtype).unsqueeze(-1)  # (B, T, 1)
        whole = (x * weights).sum(dim=1) / weights.sum(dim=1)
        for query, norm in zip(self.query, self.norm, strict=True):
            logits = (x @ query(whole).unsqueeze(-1)).squeeze(-1) / math.sqrt(WIDTH)  # (B, T)
            attention = masked_softmax(logits, mask)
            whole = norm(whole + (attention.unsqueeze(1) @ x).squeeze(1))
        return whole
