"""What summarisers share that learn without annotation: a summary is good if the video can be told from it.

A selector weighs the picks, an encoder and a decoder make the video anew from what it kept, and a discriminator tries
to tell the two apart. All are LSTMs of two layers, run over padded videos as if each were alone.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from vastsum.scorers.noise import Normal

LAYERS = 2
State = tuple[Tensor, Tensor]
"""An LSTM's hidden and cell vectors, (layers, B, d) each."""


class Recurrent(nn.Module):
    """An LSTM over padded videos: its output at each pick, and its state after the last real one."""

    def __init__(self, width: int, hidden: int, bidirectional: bool = False) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, hidden, LAYERS, batch_first=True, bidirectional=bidirectional)

    def forward(self, x: Tensor, mask: Tensor, start: State | None = None) -> tuple[Tensor, State]:
        packed = pack_padded_sequence(x, mask.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, state = self.lstm(packed, start)
        return pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])[0], state


class Selector(nn.Module):
    """How much of each pick (B, T) goes into the summary, in (0, 1)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both_ways = Recurrent(width, width, bidirectional=True)
        self.score = nn.Linear(2 * width, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return torch.sigmoid(self.score(self.both_ways(x, mask)[0])).squeeze(-1)


class Encoder(nn.Module):
    """A video as a normal distribution of hidden vectors, (B, layers, d) each, and the cell vectors beside them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Recurrent(width, width)
        self.mean, self.variance = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        hidden, cell = self.recurrent(x, mask)[1]
        hidden = hidden.transpose(0, 1)
        log_variance = torch.log(nn.functional.softplus(self.variance(hidden)) + 1e-8)
        return self.mean(hidden), log_variance, cell


class Decoder(nn.Module):
    """A video anew, told from its end to its start.

    It runs on from the code with nothing fed in, where the authors feed back what it said before. That is one call
    for all picks instead of one for each.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Recurrent(1, width)

    def forward(self, code: Tensor, cell: Tensor, mask: Tensor) -> Tensor:
        nothing = torch.zeros(*mask.shape, 1, device=mask.device)
        told, _ = self.recurrent(nothing, mask, (code.transpose(0, 1).contiguous(), cell))  # (B, T, d)
        return reversed_in_time(told, mask)


class Discriminator(nn.Module):
    """What it makes of a video (B, d), and the logit (B,) of it being an original."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.recurrent = Recurrent(width, width)
        self.original = nn.Linear(width, 1)

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.recurrent(x, mask)[1][0][-1]
        return hidden, self.original(hidden).squeeze(-1)


class Sampler(nn.Module):
    """A code drawn from the encoder's distribution. Several versions of one video, in a row, meet the same noise."""

    def __init__(self) -> None:
        super().__init__()
        self.normal = Normal()

    def forward(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        noise = self.normal(mean.shape)  # of the videos themselves, (B, layers, d)
        return mean + torch.exp(0.5 * log_variance) * noise.repeat_interleave(len(mean) // len(noise), dim=0)


def reversed_in_time(x: Tensor, mask: Tensor) -> Tensor:
    """x (B, T, d) with the real picks of each video in reverse; padding stays behind them."""
    place = torch.arange(mask.shape[1], device=mask.device)
    source = mask.sum(dim=1, keepdim=True) - 1 - place  # (B, T), negative at padding
    return x.gather(1, torch.where(source >= 0, source, place).unsqueeze(-1).expand_as(x))


def prior_divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """(B,) KL divergence of the encoder's distribution from the standard normal one."""
    return 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance).sum(dim=(1, 2))


def off_length(scores: Tensor, mask: Tensor, wanted: float) -> Tensor:
    """(B,) how far the mean score is from the share of the video that a summary should have."""
    mean = torch.where(mask, scores, 0.0).sum(dim=1) / mask.sum(dim=1)
    return (mean - wanted).abs()
