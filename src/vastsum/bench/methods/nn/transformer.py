"""The transformer's encoder layer, for the methods that are made of it."""

from __future__ import annotations

from torch import Tensor, nn

from vastsum.bench.methods.nn.layers import Attention
from vastsum.bench.methods.nn.noise import Dropout


class EncoderLayer(nn.Module):
    """Attention and a feed-forward part, each with a residual; normalised after it, or before where `pre_norm`."""

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        dropout: float,
        *,
        pre_norm: bool = False,
        activation: type[nn.Module] = nn.ReLU,
    ) -> None:
        super().__init__()
        self.pre_norm = pre_norm
        self.attention = Attention(width, heads, dropout)
        self.attention_norm = nn.LayerNorm(width)
        self.attention_dropout = Dropout(dropout)
        self.ffn = nn.Sequential(
            nn.Linear(width, hidden), activation(), Dropout(dropout), nn.Linear(hidden, width), Dropout(dropout)
        )
        self.ffn_norm = nn.LayerNorm(width)

    def forward(self, x: Tensor, mask: Tensor, positions: Tensor | None = None) -> Tensor:
        """`positions` (B, T, d) take part in who attends to whom, not in what is mixed."""
        if self.pre_norm:
            x = x + self._attend(self.attention_norm(x), mask, positions)
            return x + self.ffn(self.ffn_norm(x))
        x = self.attention_norm(x + self._attend(x, mask, positions))
        return self.ffn_norm(x + self.ffn(x))

    def _attend(self, x: Tensor, mask: Tensor, positions: Tensor | None) -> Tensor:
        placed = x if positions is None else x + positions
        mixed: Tensor = self.attention_dropout(self.attention(placed, mask, values=x))
        return mixed
