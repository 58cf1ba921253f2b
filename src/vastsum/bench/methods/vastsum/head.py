"""The probabilistic frame-importance head (paper, Section IV-D)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from vastsum.bench.methods.nn.noise import Dropout, Normal
from vastsum.bench.methods.vastsum.likelihood import Likelihood

LOG_VARIANCE_RANGE = (-10.0, 5.0)
POSTERIOR_DRAWS = 16  # points of the latent posterior at which the head is read for its spread


class HeadOutput(NamedTuple):
    """All (B, T), but for the latent parameters, which are (B, T, d_z)."""

    mu: Tensor  # importance logit
    log_v: Tensor  # log observation variance
    latent_mean: Tensor
    latent_log_variance: Tensor


class Link(NamedTuple):
    """How a logit becomes the probability that a summary takes the frame: p = σ((μ − offset) / T_s).

    The paper has no offset. One model for both kinds of annotation needs it: there μ is importance on a scale of 0 to
    1, and the offset is the importance from which people put a frame into a summary.
    """

    temperature: float
    offset: float = 0.0

    def logit(self, mu: Tensor) -> Tensor:
        return (mu - self.offset) / self.temperature

    def signal(self, mu: Tensor, likelihood: Likelihood) -> Tensor:
        """μ̃, what the decoder consumes: μ for scores, p for binary summaries."""
        return mu if likelihood == "gaussian" else torch.sigmoid(self.logit(mu))


class VariationalHead(nn.Module):
    """q(z_t | ĥ_t) = N(μ_z, σ_z²); μ_t and log v_t are read off [ĥ_t; z_t] by a small MLP."""

    draws: Tensor

    def __init__(self, width: int, latent_width: int, hidden_width: int, dropout: float) -> None:
        super().__init__()
        self.latent_mean = nn.Linear(width, latent_width)
        self.latent_log_variance = nn.Linear(width, latent_width)
        self.hidden = nn.Sequential(nn.Linear(width + latent_width, hidden_width), nn.GELU(), Dropout(dropout))
        self.epsilon = Normal()
        self.mu = nn.Linear(hidden_width, 1)
        self.log_v = nn.Linear(hidden_width, 1)
        self.register_buffer("draws", _antithetic_draws(POSTERIOR_DRAWS, latent_width), persistent=False)

    def forward(self, h: Tensor) -> HeadOutput:
        """Sample z in training, take its posterior mean at inference. h is (B, T, d)."""
        mean, log_variance = self.posterior(h)
        z = mean + torch.exp(0.5 * log_variance) * self.epsilon(mean.shape) if self.training else mean
        mu, log_v = self.read(h, z)
        return HeadOutput(mu, log_v, mean, log_variance)

    def posterior(self, h: Tensor) -> tuple[Tensor, Tensor]:
        return self.latent_mean(h), self.latent_log_variance(h).clamp(*LOG_VARIANCE_RANGE)  # (B, T, d_z) each

    def read(self, h: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.hidden(torch.cat([h, z], dim=-1))
        return self.mu(hidden).squeeze(-1), self.log_v(hidden).squeeze(-1).clamp(*LOG_VARIANCE_RANGE)  # (B, T) each

    def predict(self, h: Tensor, likelihood: Likelihood, link: Link) -> tuple[Tensor, Tensor]:
        """μ at the posterior mean and the standard deviation of the importance (B, T), from one pass of the trunk.

        The variance is the spread of the decoding signal (μ for scores, p for binary summaries) under the posterior,
        read at a fixed set of its points, plus the observation variance v where there is one: binary supervision never
        trains v.
        """
        mean, log_variance = self.posterior(h)
        spread = torch.exp(0.5 * log_variance)
        mu, log_v = self.read(h, mean)
        signal = link.signal(mu, likelihood)
        total = torch.zeros_like(mu)
        for draw in self.draws:
            sampled, _ = self.read(h, mean + spread * draw)
            total = total + (link.signal(sampled, likelihood) - signal) ** 2
        variance = total / len(self.draws)
        if likelihood == "gaussian":
            variance = variance + torch.exp(log_v)
        return mu, torch.sqrt(variance)


def _antithetic_draws(n: int, width: int) -> Tensor:
    """Fixed standard normal points in ± pairs, so that inference is deterministic and their mean is exactly zero."""
    half = torch.randn(n // 2, width, generator=torch.Generator().manual_seed(0))
    return torch.cat([half, -half])
