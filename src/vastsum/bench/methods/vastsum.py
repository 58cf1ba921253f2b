"""VASTSum as in the paper, in the order of its Section IV; what we add is in `beyond.py`.

Letters in shape comments: B videos, T picks, M segments, U annotators, D feature width, d model width, d_z latent
width, P pairs, R perturbed solutions. Batches are padded: `mask` (B, T) is True at real picks, and no padded pick
changes anything at a real one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.beyond import (
    Additions,
    CnnAttention,
    Example,
    GatedResidual,
    LinearPath,
    NonLocalMean,
    Smoothing,
    fit_to_videos,
    sameness,
    steps,
    variety,
)
from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.noise import Dropout, Normal
from vastsum.bench.methods.nn.solving import solve
from vastsum.bench.methods.settings import Sections, require
from vastsum.errors import ConfigError
from vastsum.features.relative import N_CHANNELS
from vastsum.scoring.base import Scorer
from vastsum.scoring.windows import predict_in_windows
from vastsum.selection.decode import DEFAULT_BUDGET
from vastsum.types import FloatArray, IntArray, Kind, Prediction, Segments

# ---- settings, named after the paper's symbols ----


@dataclass(frozen=True)
class NetworkConfig(Additions):
    """Sections IV-C and IV-D. `feature_width` is set from the data."""

    feature_width: int = 1024  # D
    width: int = 256  # d
    layers: int = 3  # L, segment transformer layers
    heads: int = 8  # H
    conv_layers: int = 1  # L_c
    kernel_size: int = 9  # picks seen by one depthwise convolution
    latent_width: int = 16  # d_z
    head_width: int = 128  # hidden units of the importance head
    positions: int = 1024  # learned positions; longer videos stretch them
    temperature: float = 1.0  # T_s
    dropout: float = 0.5
    input_dropout: float = 0.8

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            "network",
            self,
            positive=("feature_width", "width", "heads", "latent_width", "head_width", "temperature", "kernel_size"),
            not_negative=("layers", "conv_layers"),
            below_one=("dropout", "input_dropout"),
            at_most={"layers": 100, "conv_layers": 100, "kernel_size": 2049},
        )
        if self.width % self.heads:
            problem = f"{self.width} is not a multiple of {self.heads} heads"
            raise ConfigError("network.width", problem, "change one of them")
        if self.kernel_size % 2 == 0:
            raise ConfigError("network.kernel_size", f"{self.kernel_size} is not odd", "use an odd number such as 9")
        if self.positions < 2:
            raise ConfigError("network.positions", f"{self.positions} is too few", "use at least 2")


@dataclass(frozen=True)
class LossConfig:
    """Section IV-F. Warm-ups are in epochs; a weight grows linearly from 0 to its value over them."""

    softmin_temperature: float = 0.05  # τ_sm
    rank_weight: float = 1.0  # λ_rank
    rank_margin: float = 0.05  # m
    rank_pairs: int = 2048  # pairs sampled a video
    rank_warmup: int = 5
    stability_weight: float = 0.05  # λ_stab
    stability_margin: float = 0.05  # m_s
    stability_noise: float = 0.02  # σ
    stability_draws: int = 8  # R
    stability_warmup: int = 10
    kl_weight: float = 1e-3  # λ_kl
    kl_warmup: int = 10
    variance_floor: float = 1e-6  # ϵ of the Gaussian likelihood

    def __post_init__(self) -> None:
        names = [f"{loss}_{part}" for loss in ("rank", "stability", "kl") for part in ("weight", "warmup")]
        require(
            "loss",
            self,
            positive=("softmin_temperature", "rank_pairs", "stability_draws", "variance_floor"),
            not_negative=(*names, "rank_margin", "stability_margin", "stability_noise"),
        )


@dataclass(frozen=True)
class Config(Sections):
    network: NetworkConfig = field(default_factory=NetworkConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    training: Recipe = field(default_factory=Recipe)


# ---- IV-C: the hierarchical segment-context scoring network, in the order data flows ----


class VastsumNetwork(nn.Module):
    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        d = config.width
        self.config = config
        self.link = Link(config.temperature, config.offset)
        self.input_dropout = Dropout(config.input_dropout)
        self.channel_dropout = Dropout(config.channel_dropout)
        self.project = nn.Linear(config.feature_width, d)
        self.project_norm = nn.LayerNorm(d)
        self.positions = LearnedPositions(config.positions, d)
        self.segment_layers = nn.ModuleList(SegmentLayer(d, config.heads, config.dropout) for _ in range(config.layers))
        self.fuse = GatedFusion(d)
        self.refine = TemporalConvolutions(d, config.conv_layers, config.kernel_size, config.dropout)
        self.cnn_attention = CnnAttention() if config.cnn_attention else None
        self.gated_residual = GatedResidual(d, config.dropout) if config.gated_residual else None
        self.head = VariationalHead(d, config.latent_width, config.head_width, config.dropout)
        self.linear = LinearPath(config.feature_width, config.linear_smoothing) if config.linear_share else None
        self.smooth = Smoothing(config.smoothing) if config.smoothing else None
        alike = (config.nonlocal_sharpness, config.nonlocal_reach, config.nonlocal_smoothing)
        self.nonlocal_mean = NonLocalMean(*alike) if config.nonlocal_sharpness else None

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor, n_segments: int | None = None) -> HeadOutput:
        """features (B, T, D), segment_ids (B, T), mask (B, T) → parameters of the importance of each pick."""
        output: HeadOutput = self.head(self.trunk(features, segment_ids, mask, n_segments))
        return output if self.training else output._replace(mu=self.scored(output.mu, features, mask))

    def predict(
        self, features: Tensor, segment_ids: Tensor, mask: Tensor, n_segments: int, likelihood: Likelihood
    ) -> tuple[Tensor, Tensor]:
        """Importance and its standard deviation (B, T)."""
        mu, std = self.head.predict(self.trunk(features, segment_ids, mask, n_segments), likelihood, self.link)
        signal, std = self.link.signal(self.scored(mu, features, mask), likelihood), self.config.deviation_scale * std
        if likelihood == "gaussian":
            return signal, std
        scale = self.config.probability_scale
        return (scale * signal).clamp(max=1.0), scale * std

    def scored(self, mu: Tensor, features: Tensor, mask: Tensor) -> Tensor:
        """The network's μ (B, T) as it counts when a video is scored; in the paper, as it is."""
        visual = self.visual(features)
        varied = variety(visual, mask)  # (B, 1)
        if self.smooth is not None:
            mu = self.smooth(mu, mask)
        if self.linear is not None:
            mu = torch.lerp(mu, self.linear(features, steps(varied), mask), self.config.linear_share)
        if self.nonlocal_mean is not None:
            mu = torch.lerp(mu, self.nonlocal_mean(mu, visual, mask), sameness(varied))
        return mu

    def kappa(self, features: FloatArray) -> float:
        """How varied one video (T, D) is, as its linear path is told."""
        x = self.visual(torch.as_tensor(features, dtype=torch.float32)[None])
        return float(steps(variety(x, torch.ones(x.shape[:2], dtype=torch.bool))))

    def visual(self, features: Tensor) -> Tensor:
        """What is seen, without relative channels: (B, T, D − C)."""
        return features[..., :-N_CHANNELS] if self.config.relative else features

    def weighed(self, features: Tensor) -> Tensor:
        """x_t (B, T, D), parts of it dropped in training; beyond the paper, channels have a weight of their own."""
        visual: Tensor = self.input_dropout(self.visual(features))
        if not self.config.relative:
            return visual
        channels = self.channel_dropout(features[..., -N_CHANNELS:])
        return torch.cat([self.config.visual_weight * visual, channels], dim=-1)

    def trunk(self, features: Tensor, segment_ids: Tensor, mask: Tensor, n_segments: int | None = None) -> Tensor:
        """Everything before the head: refined frame tokens Ĥ (B, T, d)."""
        # h⁰_t = LN(W_in x_t + b_in) + φ_t
        h = self.project_norm(self.project(self.weighed(features)))  # (B, T, d)
        h = h + self.positions(mask)
        h = h * mask.unsqueeze(-1)

        # z⁰_k = mean of h⁰_t over the picks of segment k
        n_segments = int(segment_ids.max()) + 1 if n_segments is None else n_segments
        z, occupied = pool_segments(h, segment_ids, mask, n_segments)  # (B, M, d), (B, M)

        # Z^(l+1) = U + FFN(LN(U)),  U = Z^(l) + MHA(LN(Z^(l)))
        for layer in self.segment_layers:
            z = layer(z, occupied)  # (B, M, d)

        # g_t = c_{s_t};  h̃_t = LN(h⁰_t + α_t ⊙ g_t)
        g = z.gather(1, segment_ids.unsqueeze(-1).expand(-1, -1, z.shape[-1]))  # (B, T, d)
        h = self.fuse(h, g)  # (B, T, d)

        # Ĥ = H̃ + Ψ(H̃)
        h = h + self.refine(h, mask)
        if self.cnn_attention is not None:
            h = self.cnn_attention(h, mask)
        if self.gated_residual is not None:
            h = self.gated_residual(h)
        return h


class LearnedPositions(nn.Module):
    """φ_t: one learned vector a position, for videos of any length.

    A video no longer than the table uses its first T rows, as in the paper. A longer one spreads its picks evenly over
    the whole table and interpolates between neighbouring rows, so that its end still looks like an end.
    """

    def __init__(self, n_positions: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(n_positions, width))
        nn.init.normal_(self.table, std=0.02)

    def forward(self, mask: Tensor) -> Tensor:
        last_row = self.table.shape[0] - 1
        last_pick = (mask.sum(dim=1, keepdim=True) - 1).clamp(min=1)  # (B, 1)
        stretch = (last_row / last_pick).clamp(max=1.0)
        place = torch.arange(mask.shape[1], device=mask.device) * stretch  # (B, T)
        place = place.clamp(max=last_row)
        below = place.floor().long()
        above = (below + 1).clamp(max=last_row)
        share = (place - below).unsqueeze(-1).to(self.table.dtype)
        return torch.lerp(self.table[below], self.table[above], share)  # (B, T, d)


def pool_segments(h: Tensor, segment_ids: Tensor, mask: Tensor, n_segments: int) -> tuple[Tensor, Tensor]:
    """Mean of h (B, T, d) within each segment, and which segments hold a pick at all; the others stay zero."""
    weights = mask.to(h.dtype)
    totals = h.new_zeros(h.shape[0], n_segments, h.shape[2])
    totals = totals.scatter_add(1, segment_ids.unsqueeze(-1).expand_as(h), h * weights.unsqueeze(-1))  # (B, M, d)
    counts = h.new_zeros(h.shape[0], n_segments).scatter_add(1, segment_ids, weights)  # (B, M)
    return totals / counts.clamp(min=1.0).unsqueeze(-1), counts > 0


class SegmentLayer(nn.Module):
    """One pre-norm transformer encoder layer over segment tokens."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.attention_norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.ffn_norm = nn.LayerNorm(width)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), Dropout(dropout), nn.Linear(4 * width, width))
        self.dropout = Dropout(dropout)

    def forward(self, z: Tensor, occupied: Tensor) -> Tensor:
        u = z + self.dropout(self.attend(self.attention_norm(z), occupied))  # (B, M, d)
        return u + self.dropout(self.ffn(self.ffn_norm(u)))

    def attend(self, z: Tensor, occupied: Tensor) -> Tensor:
        """Multi-head attention; segments without a pick are not attended to."""
        batch, n_segments, width = z.shape
        q, k, v = self.query_key_value(z).view(batch, n_segments, 3, self.heads, width // self.heads).unbind(2)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # (B, H, M, d/H)
        # Written out, not fused: the fused kernel does not run under vmap.
        attention = self.compare(q, k).masked_fill(~occupied[:, None, None, :], float("-inf")).softmax(dim=-1)
        mixed = attention @ v
        return self.attention_out(mixed.transpose(1, 2).reshape(batch, n_segments, width))

    def compare(self, q: Tensor, k: Tensor) -> Tensor:
        """(B, H, M, d/H) twice → logits (B, H, M, M)"""
        return q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])


class GatedFusion(nn.Module):
    """α_t = σ(W_g [h_t; g_t] + b_g);  h̃_t = LN(h_t + α_t ⊙ g_t)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, h: Tensor, g: Tensor) -> Tensor:
        alpha = torch.sigmoid(self.gate(torch.cat([h, g], dim=-1)))  # (B, T, d)
        return self.norm(h + alpha * g)


class TemporalConvolutions(nn.Module):
    """Ψ: depthwise separable convolutions over time with pointwise mixing, L_c times."""

    def __init__(self, width: int, layers: int, kernel_size: int, dropout: float) -> None:
        super().__init__()
        self.depthwise = nn.ModuleList(
            nn.Conv1d(width, width, kernel_size, padding=kernel_size // 2, groups=width) for _ in range(layers)
        )
        self.pointwise = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(layers))
        self.dropout = Dropout(dropout)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        x = h.transpose(1, 2)  # (B, d, T)
        for depthwise, pointwise in zip(self.depthwise, self.pointwise, strict=True):
            # Zeroed padding is what a convolution meets past the end of an unpadded video.
            x = depthwise(x * mask.unsqueeze(1))
            x = self.dropout(F.gelu(pointwise(x)))
        return x.transpose(1, 2)  # (B, T, d)


# ---- IV-D: the probabilistic frame-importance head ----

LOG_VARIANCE_RANGE = (-10.0, 5.0)
POSTERIOR_DRAWS = 16  # points of the latent posterior at which the head is read for its spread

Likelihood = Literal["gaussian", "bernoulli"]


def likelihood_of(kind: str) -> Likelihood:
    """Scores (tvsum) are Gaussian around μ; binary summaries (summe) are Bernoulli with p = σ(μ/T_s)."""
    return "gaussian" if kind == "tvsum" else "bernoulli"


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


class VastsumScorer:
    """Runs a VastsumNetwork on one video at a time. Errors name it by `where`: the file it came from."""

    def __init__(self, network: VastsumNetwork, likelihood: Likelihood, where: object = "the network") -> None:
        self.network, self.likelihood, self.where = network, likelihood, where

    @torch.no_grad()
    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        was_training = self.network.training
        self.network.eval()
        ids = segments.ids
        prediction = predict_in_windows(
            ids, lambda start, end: self._window(features[start:end], ids[start:end]), self.where
        )
        self.network.train(was_training)
        return replace(prediction, decoder=self.network.config.decoder)

    def _window(self, features: FloatArray, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Scores of these picks, seen by themselves."""
        device = next(self.network.parameters()).device
        x = torch.as_tensor(features, dtype=torch.float32, device=device)[None]  # (1, T, D)
        own_ids = torch.as_tensor(ids - ids[0], device=device)[None]
        mask = torch.ones_like(own_ids, dtype=torch.bool)
        mean, std = self.network.predict(x, own_ids, mask, int(own_ids[0, -1]) + 1, self.likelihood)
        return mean[0].cpu().numpy(), std[0].cpu().numpy()


# ---- IV-F: the training objectives. Each is computed within each video, (B,); what is not there is masked ----


def gaussian_nll(mu: Tensor, log_v: Tensor, scores: Tensor, annotators: Tensor, mask: Tensor, floor: float) -> Tensor:
    """L_tv: mean over annotators and picks of ½ (log v_t + (s_t^(a) − μ_t)² / (v_t + ϵ)). scores is (B, U, T)."""
    mu, log_v = mu.unsqueeze(1), log_v.unsqueeze(1)
    terms = 0.5 * (log_v + (scores - mu) ** 2 / (log_v.exp() + floor))  # (B, U, T)
    valid = annotators.unsqueeze(2) & mask.unsqueeze(1)
    return _mean_where(terms, valid, dims=(1, 2))


def annotator_bce(logits: Tensor, summaries: Tensor, mask: Tensor) -> Tensor:
    """BCE_a of each annotator (B, U), from the logits (B, T) of p_t for numerical safety. summaries is (B, U, T)."""
    logits = logits.unsqueeze(1).expand_as(summaries)
    terms = F.binary_cross_entropy_with_logits(logits, summaries, reduction="none")
    return _mean_where(terms, mask.unsqueeze(1).expand_as(terms), dims=(2,))


def softmin_bce(bce: Tensor, annotators: Tensor, tau: float) -> Tensor:
    """L_sm = −τ log Σ_a exp(−BCE_a / τ): near the best-matched annotator for small τ. bce is (B, U)."""
    exponents = (-bce / tau).masked_fill(~annotators, float("-inf"))
    return -tau * exponents.logsumexp(dim=1)


def best_matched(bce: Tensor, summaries: Tensor, annotators: Tensor) -> Tensor:
    """The summary (B, T) of the annotator with the smallest BCE."""
    best = bce.detach().masked_fill(~annotators, float("inf")).argmin(dim=1)  # (B,)
    return summaries[torch.arange(len(summaries), device=summaries.device), best]


def pairwise_hinge(q: Tensor, r: Tensor, pairs: Tensor, margin: float) -> Tensor:
    """L_rank: mean of max(0, m − (q_i − q_j)) over the pairs with r_i > r_j. pairs (B, 2, P) are indices in any order;
    each is turned the right way round, and those of equal r are left out."""
    i, j = pairs.unbind(1)
    order = torch.sign(r.gather(1, i) - r.gather(1, j))  # (B, P)
    difference = (q.gather(1, i) - q.gather(1, j)) * order
    return _mean_where(F.relu(margin - difference), order != 0, dims=(1,))


def latent_kl(latent_mean: Tensor, latent_log_variance: Tensor, mask: Tensor) -> Tensor:
    """L_kl: mean over picks of KL(N(μ_z, σ_z²) ‖ N(0, I)), summed over the latent's dimensions."""
    kl = 0.5 * (latent_mean**2 + latent_log_variance.exp() - 1 - latent_log_variance).sum(dim=-1)  # (B, T)
    return _mean_where(kl, mask, dims=(1,))


def stability_margin(scores: Tensor, base: Tensor, perturbed: Tensor, present: Tensor, margin: float) -> Tensor:
    """L_stab: unstable chosen segments above the best left-out one, unstable left-out ones below the worst chosen one.

    scores (B, M) are pooled segment scores; base (B, M) and perturbed (B, R, M) are knapsack solutions, taken as given:
    nothing is differentiated through the solver. present (B, M) marks the segments that exist. Empty sums are zero, and
    so is a term whose best or worst segment does not exist (everything chosen, or nothing).
    """
    share = perturbed.to(scores.dtype).mean(dim=1)  # (B, M)
    unstable = (share > 0) & (share < 1) & present
    chosen, left_out = base & present, ~base & present
    best_left_out = scores.masked_fill(~left_out, float("-inf")).amax(dim=1, keepdim=True)  # (B, 1)
    worst_chosen = scores.masked_fill(~chosen, float("inf")).amin(dim=1, keepdim=True)
    above = F.relu(margin - (scores - best_left_out))
    below = F.relu(margin - (worst_chosen - scores))
    up = _mean_where(above, unstable & chosen & left_out.any(dim=1, keepdim=True), dims=(1,))
    down = _mean_where(below, unstable & left_out & chosen.any(dim=1, keepdim=True), dims=(1,))
    return up + down


def warmed_up(weight: float, epoch: int, warmup: int) -> float:
    """λ(e): linear from 0 at epoch 0 to `weight` at epoch `warmup`, and constant from there on."""
    return weight if warmup == 0 else weight * min(1.0, epoch / warmup)


def _mean_where(terms: Tensor, valid: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Mean over `dims` of the valid terms; zero where there are none. Invalid terms may be infinite."""
    total = torch.where(valid, terms, 0.0).sum(dim=dims)
    return total / valid.sum(dim=dims).clamp(min=1)


# ---- IV-F: the overall objective, weighed for the current epoch ----

FEWEST = 0.05  # share of people below which a logit would run away


class VastsumMethod(LearnedMethod):
    stack = 4

    def __init__(self, config: Config, budget: float = DEFAULT_BUDGET) -> None:
        self.config, self.budget, self.recipe = config, budget, config.training
        self.link = Link(config.network.temperature, config.network.offset)
        self.decoder = config.network.decoder

    @property
    def trained_by(self) -> dict[str, Any]:
        """The settings of the network and of the losses count as well."""
        settings = self.config.to_dict()
        own = {f"{part}.{name}": value for part in ("network", "loss") for name, value in settings[part].items()}
        del own["network.feature_width"]  # set from the data
        return super().trained_by | own

    def build(self, feature_width: int) -> VastsumNetwork:
        return VastsumNetwork(replace(self.config.network, feature_width=feature_width))

    def start(self, network: nn.Module, videos: Sequence[tuple[FloatArray, FloatArray, Kind]]) -> None:
        """Beyond the paper: the path beside the network is a closed form of what μ should be."""
        own = cast(VastsumNetwork, network)
        if own.linear is not None:
            examples = [Example(x, own.kappa(x), self.wanted(people, kind)) for x, people, kind in videos]
            fit_to_videos(own.linear, own.config, examples)

    def wanted(self, annotations: FloatArray, kind: Kind) -> FloatArray:
        """What μ (T,) should be, from annotations (U, T): the mean score, or the logit of how many took the frame."""
        mean = annotations.mean(axis=0)
        if kind == "tvsum":
            return mean
        share = np.clip(mean, FEWEST, 1 - FEWEST)
        return self.link.offset + self.link.temperature * np.log(share / (1 - share))

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        return batch.features, batch.segment_ids, batch.mask, batch.n_segments

    def importance(self, output: HeadOutput, batch: Batch) -> Tensor:
        """μ̃, what the decoder consumes."""
        return torch.where(_scored(batch), output.mu, torch.sigmoid(self.link.logit(output.mu)))

    def scorer(self, network: nn.Module, kind: Kind) -> Scorer:
        return VastsumScorer(cast(VastsumNetwork, network), likelihood_of(kind))

    def losses(self, output: HeadOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        c = self.config.loss
        main, order = self._likelihood(output, batch)
        signal = self.importance(output, batch)
        nothing = torch.zeros_like(main)

        rank_weight = warmed_up(c.rank_weight, moment.epoch, c.rank_warmup)
        stability_weight = warmed_up(c.stability_weight, moment.epoch, c.stability_warmup)
        kl_weight = warmed_up(c.kl_weight, moment.epoch, c.kl_warmup)
        pairs = self._pairs(batch, moment)
        rank = pairwise_hinge(signal, order, pairs, c.rank_margin) if rank_weight else nothing
        stability = self._stability(signal, batch, moment) if stability_weight else nothing
        kl = latent_kl(output.latent_mean, output.latent_log_variance, batch.mask)
        total = main + rank_weight * rank + stability_weight * stability + kl_weight * kl
        return {"total": total, "main": main, "rank": rank, "stability": stability, "kl": kl}

    def _likelihood(self, output: HeadOutput, batch: Batch) -> tuple[Tensor, Tensor]:
        """The main loss (B,) and what the ranking loss orders picks by (B, T), each by the video's kind."""
        c, scored = self.config.loss, _scored(batch)
        mean_score = batch.annotations.sum(dim=1) / batch.annotators.sum(dim=1, keepdim=True)
        gaussian = gaussian_nll(
            output.mu, output.log_v, batch.annotations, batch.annotators, batch.mask, c.variance_floor
        )
        if "summe" not in batch.kinds:
            return gaussian, mean_score
        bce = annotator_bce(self.link.logit(output.mu), batch.annotations, batch.mask)
        softmin = softmin_bce(bce, batch.annotators, c.softmin_temperature)
        matched = best_matched(bce, batch.annotations, batch.annotators)
        return torch.where(scored[:, 0], gaussian, softmin), torch.where(scored, mean_score, matched)

    def _pairs(self, batch: Batch, moment: Moment) -> Tensor:
        """Index pairs (B, 2, P) drawn uniformly among the real picks of each video."""
        shape = (2, self.config.loss.rank_pairs)
        drawn = [
            rng.integers(0, len(segments.picks), shape)
            for rng, segments in zip(moment.rngs, batch.segments, strict=True)
        ]
        return torch.from_numpy(np.stack(drawn)).to(batch.mask.device)

    def _stability(self, signal: Tensor, batch: Batch, moment: Moment) -> Tensor:
        scores = pool_scores(signal, batch)  # (B, M)
        base, perturbed = self._solve(scores.detach(), batch, moment)
        return stability_margin(scores, base, perturbed, batch.present, self.config.loss.stability_margin)

    def _solve(self, scores: Tensor, batch: Batch, moment: Moment) -> tuple[Tensor, Tensor]:
        """Knapsack solutions of the scores (B, M) and of R perturbed copies (B, R, M), R + 1 at once for each video."""
        n_solutions = self.config.loss.stability_draws + 1
        shape = (len(batch), n_solutions, batch.n_segments)
        noise, lengths = np.zeros(shape, np.float32), np.zeros(shape, np.int64)
        capacities = np.array([int(self.budget * segments.n_frames) for segments in batch.segments])
        lengths += capacities[:, None, None] + 1  # a segment that does not exist fits nowhere
        for row, (segments, rng) in enumerate(zip(batch.segments, moment.rngs, strict=True)):
            noise[row, 1:, : len(segments)] = rng.standard_normal((n_solutions - 1, len(segments)))
            lengths[row, :, : len(segments)] = segments.lengths
        noise_there, lengths_there, capacities_there = (
            torch.from_numpy(array).to(scores.device) for array in (noise, lengths, capacities.repeat(n_solutions))
        )
        values = scores[:, None] + self.config.loss.stability_noise * noise_there
        solutions = solve(values.flatten(0, 1), lengths_there.flatten(0, 1), capacities_there).view(shape)
        return solutions[:, 0], solutions[:, 1:]


def _scored(batch: Batch) -> Tensor:
    """(B, 1): the videos that people gave scores, not summaries."""
    return torch.tensor([[kind == "tvsum"] for kind in batch.kinds], device=batch.mask.device)


def pool_scores(signal: Tensor, batch: Batch) -> Tensor:
    """s_k (B, M): the decoding signal averaged within each segment; one without picks has the signal in force there."""
    pooled, occupied = pool_segments(signal.unsqueeze(-1), batch.segment_ids, batch.mask, batch.n_segments)
    return torch.where(occupied, pooled.squeeze(-1), signal.gather(1, batch.first_picks))
