"""SSPVS without its text: one transformer encoder asked several times, each time shown what it found important before.

H. Li, Q. Ke, M. Gong, T. Drummond, "Progressive Video Summarization via Multimodal Self-supervised Learning", WACV
2023.

The benchmark has no text, and the authors' corpus of videos with text is not part of it. So there is no self-supervised
stage before training and no text added to the first pass: the encoder starts from fresh weights, where the published
numbers stand on pretrained ones. At the authors' learning rate for SumMe, 1e-4, fresh weights collapse there within an
epoch or two: each stage multiplies the scores by less than one, and all of them end at zero. Here it is a fifth of
that. The class token, which the pretraining reads, stays as one more place to attend to.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.intervals import masked_mean
from vastsum.bench.methods.nn.layers import sinusoids
from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.nn.transformer import EncoderLayer
from vastsum.types import Kind


class Sspvs(LearnedMethod):
    recipe = Recipe(
        epochs=40,
        batch_size=4,
        learning_rate=5e-5,
        weight_decay=0.0,
        optimizer="adam",
        gradient_clip=1e6,  # none
        schedule="constant",
    )
    stages = 4

    def __init__(self, kind: Kind) -> None:
        if kind == "summe":
            self.stages = 3
            # The authors' epoch of SumMe goes four times over the videos.
            self.recipe = replace(self.recipe, epochs=160, batch_size=2, learning_rate=2e-5)

    def build(self, feature_width: int) -> nn.Module:
        return SspvsNetwork(feature_width, self.stages)

    def losses(self, output: Tensor, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        return {"total": masked_mean((output - stretched(batch.targets, batch.mask)) ** 2, batch.mask)}

    def importance(self, output: Tensor, batch: Batch) -> Tensor:
        return output


class SspvsNetwork(nn.Module):
    HEADS, LAYERS, DROPOUT = 8, 3, 0.1
    POSITION_WEIGHT = 0.1

    def __init__(self, width: int, stages: int) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, width))
        self.input_dropout = Dropout(self.DROPOUT)
        self.encoder = nn.ModuleList(
            EncoderLayer(width, self.HEADS, 4 * width, self.DROPOUT) for _ in range(self.LAYERS)
        )
        self.scores = nn.ModuleList(nn.Sequential(Dropout(0.1), nn.Linear(width, 1)) for _ in range(stages))

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → importance (B, T): the product of what every stage says."""
        importance = torch.ones_like(features[..., :1])  # (B, T, 1)
        for score in self.scores:
            stage = torch.sigmoid(score(self.encode(features, mask) + features))
            features = features * (1 + stage)
            importance = importance * stage
        return importance.squeeze(-1)

    def encode(self, features: Tensor, mask: Tensor) -> Tensor:
        token = self.token.expand(len(features), 1, -1)
        x = torch.cat([token, features], dim=1)  # (B, 1 + T, D)
        seen = torch.cat([torch.ones_like(mask[:, :1]), mask], dim=1)
        places = torch.arange(x.shape[1], device=x.device)
        x = self.input_dropout(x + self.POSITION_WEIGHT * sinusoids(places, x.shape[-1]))
        for layer in self.encoder:
            x = layer(x, seen)
        return x[:, 1:]


def stretched(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores (B, T), each video's moved and stretched to reach from 0 to 1."""
    low = torch.where(mask, scores, torch.inf).amin(dim=1, keepdim=True)
    high = torch.where(mask, scores, -torch.inf).amax(dim=1, keepdim=True)
    return (scores - low) / (high - low).clamp(min=1e-8)
