"""SUM-GAN: pick the frames from which the video can be made anew so well that a discriminator is fooled.

B. Mahasseni, M. Lam, S. Todorovic, "Unsupervised Video Summarization with Adversarial LSTM Networks", CVPR 2017.

It sees no annotation. Each pass serves three losses: selector and encoder make the reconstruction close (in the
discriminator's eyes), the code normal and the summary short; the decoder makes it close and believed; the discriminator
tells originals from what was made of the summary and of picks weighed at random. Departures: features are halved in
width by a linear layer and all LSTMs have that width (the paper's have up to 2048); the decoder is fed nothing; encoder
and decoder are not trained beforehand; a step takes eight videos, of like length. Number of epochs, rates, clipping and
the share to select are those of J. Cho's reimplementation (github.com/j-min/Adversarial_Video_Summary); they and the
details of the losses were not checked against the paper's text.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.learned import LearnedMethod, Moment, Phase, Recipe
from vastsum.bench.methods.nn.adversarial import (
    Decoder,
    Discriminator,
    Encoder,
    Sampler,
    Selector,
    off_length,
    prior_divergence,
)
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.noise import Uniform


class Play(NamedTuple):
    """What the parts of the network did in training."""

    code_mean: Tensor  # (B, layers, d)
    code_log_variance: Tensor
    distance: Tensor  # (B,) squared, of the original and the one made anew, as the discriminator sees them
    original: Tensor  # (B,) logits of being an original: of the original itself,
    summary: Tensor  # of what was made of the summary,
    random: Tensor  # and of what was made of picks weighed at random


class SumGanOutput(NamedTuple):
    scores: Tensor  # (B, T)
    play: Play | tuple[()]  # empty but in training; None could not be stacked


class SumGan(LearnedMethod):
    recipe = Recipe(
        epochs=50,
        batch_size=8,
        learning_rate=1e-4,
        weight_decay=0.0,
        optimizer="adam",
        gradient_clip=5.0,
        schedule="constant",
    )
    phases = {  # noqa: RUF012
        "summarizer": Phase(("compress.", "selector.", "encoder.")),
        "decoder": Phase(("decoder.",)),
        "discriminator": Phase(("discriminator.",), slowed=0.1),
    }
    like_lengths = True
    LENGTH = 0.3  # the share of the video to select

    def build(self, feature_width: int) -> nn.Module:
        return SumGanNetwork(feature_width)

    def losses(self, output: SumGanOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        play = output.play
        assert isinstance(play, Play), "losses are asked for in training"
        believed = F.logsigmoid(-play.summary) + F.logsigmoid(-play.random)  # log(1 − D): falls as D is fooled
        if moment.phase == "summarizer":
            prior = prior_divergence(play.code_mean, play.code_log_variance)
            length = off_length(output.scores, batch.mask, self.LENGTH)
            return {"total": play.distance + prior + length, "distance": play.distance, "prior": prior}
        if moment.phase == "decoder":
            return {"total": play.distance + believed, "fooling": believed}
        caught = -F.logsigmoid(play.original) - believed
        return {"total": caught, "discrimination": caught}

    def importance(self, output: SumGanOutput, batch: Batch) -> Tensor:
        return output.scores


class SumGanNetwork(nn.Module):
    def __init__(self, feature_width: int) -> None:
        super().__init__()
        width = feature_width // 2
        self.compress = nn.Linear(feature_width, width)
        self.selector, self.encoder, self.decoder = Selector(width), Encoder(width), Decoder(width)
        self.discriminator = Discriminator(width)
        self.summary_code, self.random_code, self.random_scores = Sampler(), Sampler(), Uniform()

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> SumGanOutput:
        x = self.compress(features)  # (B, T, d)
        scores = self.selector(x, mask)  # (B, T)
        if not self.training:
            return SumGanOutput(scores, ())
        # Video, summary and random picks go through each LSTM together: its steps take as long for three as for one.
        weights = torch.cat([scores, self.random_scores(scores.shape)]).unsqueeze(-1)
        twice = torch.cat([mask, mask])
        means, log_variances, cell = self.encoder(torch.cat([x, x]) * weights, twice)
        (mean, random_mean), (log_variance, random_log_variance) = means.chunk(2), log_variances.chunk(2)
        codes = [self.summary_code(mean, log_variance), self.random_code(random_mean, random_log_variance)]
        made = self.decoder(torch.cat(codes), cell, twice)
        views, logits = self.discriminator(torch.cat([x, made]), torch.cat([mask, twice]))
        (seen, seen_made, _), (original, summary, random) = views.chunk(3), logits.chunk(3)
        distance = ((seen - seen_made) ** 2).sum(dim=1)
        return SumGanOutput(scores, Play(mean, log_variance, distance, original, summary, random))
