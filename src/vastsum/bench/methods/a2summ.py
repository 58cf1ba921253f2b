"""A2Summ in its visual-only form: a small transformer over the picks, with heads that find keyshots.

B. He, J. Wang, J. Qiu, T. Bui, A. Shrivastava, Z. Wang, "Align and Attend: Multimodal Summarization with Dual
Contrastive Losses", CVPR 2023.

The benchmark has no text, so what pairs video with text is left out: the text stream, the alignment, both contrastive
losses and the class token that only they use. Both layers share one set of weights, as in the authors' code. The
importance of a pick is the best score of a detection that covers it, as the authors make summaries, and 0 where nothing
is detected; the published ρ/τ of 1.2 tells of as many ties.
A video longer than the 5000 positions of the table spreads over them.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.intervals import best_cover, centreness, focal_loss, masked_mean, reach_loss, reaches
from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.nn.transformer import EncoderLayer
from vastsum.bench.methods.vastsum import LearnedPositions
from vastsum.types import Kind

Detections = tuple[Tensor, Tensor, Tensor]
"""Logits (B, T) of being in a keyshot, reaches (B, T, 2) to its ends, and logits (B, T) of being in its middle."""


class A2summ(LearnedMethod):
    recipe = Recipe(
        epochs=300, batch_size=4, weight_decay=1e-5, optimizer="adam", gradient_clip=1e6, schedule="constant"
    )  # nothing is clipped
    OVERLAP = 0.4  # of two detections, from which on the worse one is dropped

    def __init__(self, kind: Kind) -> None:
        if kind == "summe":
            self.recipe = replace(self.recipe, weight_decay=1e-3)

    def build(self, feature_width: int) -> nn.Module:
        return A2summNetwork(feature_width)

    def losses(self, output: Detections, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        logits, reach, middle = output
        inside = (batch.keyshots > 0) & batch.mask
        wanted = reaches(batch.keyshots)
        kind = focal_loss(logits, batch.keyshots, batch.mask)
        place = reach_loss(reach, wanted, inside)
        centre = masked_mean(F.binary_cross_entropy_with_logits(middle, centreness(wanted), reduction="none"), inside)
        return {"total": kind + place + centre, "class": kind, "reach": place, "centre": centre}

    def importance(self, output: Detections, batch: Batch) -> Tensor:
        logits, reach, middle = output
        scores = (torch.sigmoid(logits) * torch.sigmoid(middle)).masked_fill(~batch.mask, -torch.inf)
        place = torch.arange(batch.mask.shape[1], device=batch.mask.device)
        intervals = torch.stack([place - reach[..., 0], place + reach[..., 1] + 1], dim=-1)
        return best_cover(scores, intervals, batch.mask, self.OVERLAP)


class A2summNetwork(nn.Module):
    WIDTH, HEADS, LAYERS = 128, 8, 2

    def __init__(self, feature_width: int) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(feature_width, self.WIDTH), Dropout(0.1))
        self.positions = LearnedPositions(5000, self.WIDTH)
        self.layer = EncoderLayer(
            self.WIDTH, self.HEADS, 4 * self.WIDTH, dropout=0.5, pre_norm=True, activation=nn.GELU
        )
        self.norm = nn.LayerNorm(self.WIDTH)
        self.shared = nn.Sequential(
            nn.Linear(self.WIDTH, self.WIDTH), nn.ReLU(), Dropout(0.5), nn.LayerNorm(self.WIDTH)
        )
        self.heads = nn.Linear(self.WIDTH, 4)
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Detections:
        projected = self.project(features)  # (B, T, d)
        h = projected + self.positions(mask)
        for _ in range(self.LAYERS):
            h = self.layer(h, mask)
        found = self.heads(self.shared(self.norm(projected + h)))  # (B, T, 4)
        return found[..., 0], found[..., 1:3].exp(), found[..., 3]
