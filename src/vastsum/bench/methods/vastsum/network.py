"""The hierarchical segment-context scoring network (paper, Section IV-C), in the order data flows.

Letters in shape comments: B videos, T picks, M segments, D feature width, d model width.
Batches are padded: `mask` (B, T) is True at real picks, and no padded pick changes any output at a real one.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.vastsum.ablations import CnnAttention, GatedResidual
from vastsum.bench.methods.vastsum.config import NetworkConfig
from vastsum.bench.methods.vastsum.head import HeadOutput, Link, VariationalHead
from vastsum.bench.methods.vastsum.likelihood import Likelihood
from vastsum.bench.methods.vastsum.paths import EDITED, SHARPNESS, LinearPath, NonLocalMean, Smoothing, steps, variety
from vastsum.features.relative import N_CHANNELS
from vastsum.types import FloatArray


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
            mu = torch.lerp(mu, self.nonlocal_mean(mu, visual, mask), torch.sigmoid((varied - EDITED) / SHARPNESS))
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
