"""PGL-SUM: attention over the whole video and over each quarter of it, both knowing absolute positions.

E. Apostolidis, G. Balaouras, V. Mezaris, I. Patras, "Combining Global and Local Attention with Positional Encoding for
Video Summarization", IEEE ISM 2021.

The authors train on all videos at once, and clip the norm of the summed gradient at 5: that of the mean, with SumMe's
20 videos, at 0.25. In their code the last key of a part with an odd number of picks has no positional encoding;
here every key has one.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.bench.methods.learned import LearnedMethod, Recipe
from vastsum.bench.methods.nn.layers import masked_softmax, sinusoids, xavier_for_relu
from vastsum.bench.methods.nn.noise import Dropout

ALL_VIDEOS = 1000


class PglSum(LearnedMethod):
    recipe = Recipe(
        epochs=200,
        batch_size=ALL_VIDEOS,
        learning_rate=5e-5,
        weight_decay=1e-5,
        optimizer="adam",
        gradient_clip=0.25,
        schedule="constant",
    )

    def build(self, feature_width: int) -> nn.Module:
        return PglSumNetwork(feature_width)


class PglSumNetwork(nn.Module):
    GLOBAL_HEADS, LOCAL_HEADS, PARTS = 8, 4, 4
    DROPOUT = 0.5

    def __init__(self, width: int) -> None:
        super().__init__()
        self.global_attention = PartAttention(width, 1, self.GLOBAL_HEADS, width // self.GLOBAL_HEADS)
        local_width = max(1, width // self.PARTS // self.LOCAL_HEADS)
        self.local_attention = PartAttention(width, self.PARTS, self.LOCAL_HEADS, local_width)
        self.context_dropout, self.hidden_dropout = Dropout(self.DROPOUT), Dropout(self.DROPOUT)
        self.context_norm, self.hidden_norm = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.hidden, self.score = nn.Linear(width, width), nn.Linear(width, 1)
        xavier_for_relu(self)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → importance (B, T) in (0, 1)."""
        attended = [
            F.normalize(attend(features, mask), dim=-1) for attend in (self.global_attention, self.local_attention)
        ]
        h = self.context_norm(self.context_dropout(attended[0] + attended[1] + features))  # (B, T, D)
        h = self.hidden_norm(self.hidden_dropout(torch.relu(self.hidden(h))))
        return torch.sigmoid(self.score(h)).squeeze(-1)  # (B, T)


class PartAttention(nn.Module):
    """The video cut into N equal parts, each attending to itself with weights of its own.

    Logits are not scaled, and the encoding of the query's place is added to them: its entry j to the logit of key j.
    """

    DROPOUT = 0.5

    def __init__(self, width: int, parts: int, heads: int, head_width: int) -> None:
        super().__init__()
        self.width, self.parts, self.heads = width, parts, heads
        self.query, self.key, self.value = (
            nn.Parameter(torch.empty(parts, width, heads * head_width)) for _ in range(3)
        )
        self.out = nn.Parameter(torch.empty(parts, heads * head_width, width))
        self.dropout = Dropout(self.DROPOUT)
        for weight, fan_out in (
            (self.query, head_width),
            (self.key, head_width),
            (self.value, head_width),
            (self.out, width),
        ):
            limit = math.sqrt(2.0) * math.sqrt(6.0 / (weight.shape[1] + fan_out))  # Glorot's, a head at a time
            nn.init.uniform_(weight, -limit, limit)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """x (B, T, D) → (B, T, D)."""
        n_batch, n_picks, width = x.shape
        n_real = mask.sum(dim=1, keepdim=True)  # (B, 1)
        size = (n_real + self.parts - 1) // self.parts  # picks of a part, where the video is not padded
        slots = -(-n_picks // self.parts)  # S: room for the largest

        # Lay each part out as a row of S slots.
        slot = torch.arange(slots, device=x.device)
        pick = torch.arange(self.parts, device=x.device)[:, None] * size[..., None] + slot  # (B, N, S)
        filled = (slot < size[..., None]) & (pick < n_real[..., None])
        index = pick.clamp(max=n_picks - 1).flatten(1).unsqueeze(-1).expand(-1, -1, width)
        rows = x.gather(1, index).view(n_batch, self.parts, slots, width)  # (B, N, S, D)

        mixed = self.attend(rows, filled).flatten(1, 2)  # (B, N·S, D)

        # And take each pick back from its slot.
        pick = torch.arange(n_picks, device=x.device)
        part = (pick // size).clamp(max=self.parts - 1)  # (B, T)
        place = (part * slots + pick - part * size).clamp(max=self.parts * slots - 1)
        return mixed.gather(1, place.unsqueeze(-1).expand(-1, -1, width))

    def attend(self, rows: Tensor, filled: Tensor) -> Tensor:
        q, k, v = (
            torch.einsum("bnsd,ndh->bnsh", rows, weight).view(*rows.shape[:3], self.heads, -1).transpose(2, 3)
            for weight in (self.query, self.key, self.value)
        )  # (B, N, H, S, w)
        n_slots = rows.shape[2]
        positions = sinusoids(torch.arange(n_slots, device=rows.device), self.width, n_slots)  # (S, S)
        logits = q @ k.transpose(3, 4) + positions  # (B, N, H, S, S)
        weights = self.dropout(masked_softmax(logits, filled[:, :, None, None, :]))
        mixed = (weights @ v).transpose(2, 3).flatten(3)  # (B, N, S, H·w)
        return torch.einsum("bnsh,nhd->bnsd", mixed, self.out)
