"""CLIP-It: picks look for themselves in what is said of the video, and a transformer scores them.

M. Narasimhan, A. Rohrbach, T. Darrell, "CLIP-It! Language-Guided Video Summarization", NeurIPS 2021.

It reads text, which benchmark files do not have. It runs on a file whose `features` hold both: for each pick CLIP's
embedding of the frame and, beside it, CLIP's embedding of the same width of the caption in force there. Departures: the
captions of all picks are attended to, where the authors take seven of a video; the frame-scoring transformer is its
encoder alone; the diversity of a summary is measured with scores for weights, so that it can be learnt from; and the
three losses weigh the same. Weights of the losses, learning rate, weight decay and epochs were not checked against the
paper's text.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.intervals import masked_mean
from vastsum.bench.methods.nn.layers import Attention, sinusoids
from vastsum.bench.methods.nn.transformer import EncoderLayer
from vastsum.errors import ConfigError


class ClipItOutput(NamedTuple):
    logits: Tensor  # (B, T)
    made: Tensor  # (B, T, D/2) the frames' embeddings, made anew


class ClipIt(LearnedMethod):
    """`width` is the transformer's."""

    recipe = Recipe(
        epochs=20, batch_size=1, learning_rate=1e-4, weight_decay=1e-3, optimizer="adam", schedule="constant"
    )

    def __init__(self, width: int = 512) -> None:
        self.width = width

    def build(self, feature_width: int) -> nn.Module:
        if feature_width % 2:
            raise ConfigError(
                "clip-it:text",
                f"features of width {feature_width} cannot hold two embeddings of the same width",
                "give a file whose features hold the frame's and, beside it, the caption's",
            )
        return ClipItNetwork(feature_width // 2, self.width)

    def losses(self, output: ClipItOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        frames = F.normalize(batch.features[..., : output.made.shape[-1]], dim=-1)
        kind = balanced_bce(output.logits, batch)
        alike = weighted_similarity(torch.sigmoid(output.logits) * batch.mask, frames)
        anew = masked_mean(((output.made - frames) ** 2).sum(dim=-1), batch.mask)
        return {"total": kind + alike + anew, "class": kind, "similarity": alike, "reconstruction": anew}

    def importance(self, output: ClipItOutput, batch: Batch) -> Tensor:
        return torch.sigmoid(output.logits)


class ClipItNetwork(nn.Module):
    GUIDE_HEADS, HEADS, LAYERS, DROPOUT = 4, 8, 6, 0.1

    def __init__(self, embedding: int, width: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.frames, self.captions = nn.Linear(embedding, width), nn.Linear(embedding, width)
        self.guide = Attention(width, self.GUIDE_HEADS)
        self.encoder = nn.ModuleList(
            EncoderLayer(width, self.HEADS, 4 * width, self.DROPOUT) for _ in range(self.LAYERS)
        )
        self.score = nn.Linear(width, 1)
        self.anew = nn.Linear(width, embedding)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> ClipItOutput:
        frames = self.frames(features[..., : self.embedding])  # (B, T, d)
        captions = self.captions(features[..., self.embedding :])
        h = frames + self.guide(frames, mask, captions)
        h = math.sqrt(h.shape[2]) * h + sinusoids(torch.arange(h.shape[1], device=h.device), h.shape[2])
        for layer in self.encoder:
            h = layer(h, mask)
        return ClipItOutput(self.score(h).squeeze(-1), self.anew(h))


def balanced_bce(logits: Tensor, batch: Batch) -> Tensor:
    """(B,) binary cross-entropy to the keyshots, in which both classes of a video count the same."""
    loss = F.binary_cross_entropy_with_logits(logits, batch.keyshots, reduction="none")
    chosen = batch.keyshots > 0
    return 0.5 * (masked_mean(loss, chosen & batch.mask) + masked_mean(loss, ~chosen & batch.mask))


def weighted_similarity(weights: Tensor, unit: Tensor) -> Tensor:
    """(B,) mean cosine of two different picks, drawn by weights (B, T), of unit vectors (B, T, d)."""
    together = (weights.unsqueeze(-1) * unit).sum(dim=1)  # (B, d)
    own = (weights**2).sum(dim=1)
    return ((together**2).sum(dim=1) - own) / (weights.sum(dim=1) ** 2 - own).clamp(min=1e-8)
