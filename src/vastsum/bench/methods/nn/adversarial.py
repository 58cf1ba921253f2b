"""What summarisers share that learn without annotation: a summary is good if the video can be told from it.

A selector weighs the picks, an encoder and a decoder make the video anew from what it kept, and a discriminator tries
to tell the two apart. All are LSTMs of two layers.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vastsum.bench.methods.nn.noise import Normal
from vastsum.bench.methods.nn.recurrent import Lstm, reversed_in_time

LAYERS = 2


class Selector(nn.Module):
    """How much of each pick (B, T) goes into the summary, in (0, 1)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both_ways = Lstm(width, width, LAYERS, both_ways=True)
        self.score = nn.Linear(2 * width, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.sigmoid(self.score(self.both_ways(x, mask)[0])).squeeze(-1)


class Encoder(nn.Module):
    """A video as a normal distribution of hidden vectors, (B, layers, d) each, and the cell vectors beside them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Lstm(width, width, LAYERS)
        self.mean, self.variance = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden, cell = self.recurrent(x, mask)[1]
        log_variance = torch.log(nn.functional.softplus(self.variance(hidden)) + 1e-8)
        return self.mean(hidden), log_variance, cell


class Decoder(nn.Module):
    """A video anew, told from its end to its start.

    It runs on from the code with nothing fed in, where the authors feed back what it said before. That is one call
    for all picks instead of one for each.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Lstm(1, width, LAYERS)

    def forward(self, code: Tensor, cell: Tensor, mask: Tensor) -> Tensor:
        nothing = torch.zeros(*mask.shape, 1, device=mask.device)
        told, _ = self.recurrent(nothing, mask, (code, cell))  # (B, T, d)
        return reversed_in_time(told, mask)


class Discriminator(nn.Module):
    """What it makes of a video (B, d), and the logit (B,) of it being an original."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Lstm(width, width, LAYERS)
        self.original = nn.Linear(width, 1)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.recurrent(x, mask)[1][0][:, -1]
        return hidden, self.original(hidden).squeeze(-1)


class Sampler(nn.Module):
    """A code drawn from the encoder's distribution. Several versions of one video, in a row, meet the same noise."""

    def __init__(self) -> None:
        super().__init__()
        self.normal = Normal()

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        noise = self.normal(mean.shape)  # of the videos themselves, (B, layers, d)
        return mean + torch.exp(0.5 * log_variance) * noise.repeat_interleave(len(mean) // len(noise), dim=0)


def prior_divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """(B,) KL divergence of the encoder's distribution from the standard normal one."""
    return 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance).sum(dim=(1, 2))


def off_length(scores: Tensor, mask: Tensor, wanted: float) -> Tensor:
    """(B,) how far the mean score is from the share of the video that a summary should have."""
    mean = torch.where(mask, scores, 0.0).sum(dim=1) / mask.sum(dim=1)
    return (mean - wanted).abs()
