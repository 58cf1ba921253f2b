"""PGL-SUM's attention of a part to itself, against one part after another."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vastsum.bench.methods.pgl_sum import PartAttention


def attend_part_by_part(attention: PartAttention, x: np.ndarray) -> np.ndarray:
    size = -(-len(x) // attention.parts)
    query, key, value, out = (
        weight.detach().double().numpy() for weight in (attention.query, attention.key, attention.value, attention.out)
    )
    found = np.zeros_like(x)
    for part in range(attention.parts):
        rows = x[part * size : (part + 1) * size]
        n = len(rows)
        if n == 0:
            continue
        positions = np.zeros((n, n))
        for row in range(n):
            for column in range(n):
                angle = row / 10000 ** (2 * (column // 2) / attention.width)
                positions[row, column] = np.cos(angle) if column % 2 else np.sin(angle)
        heads = []
        for q, k, v in zip(*(np.split(w[part], attention.heads, axis=1) for w in (query, key, value)), strict=True):
            logits = (rows @ q) @ (rows @ k).T + positions
            weights = np.exp(logits - logits.max(axis=1, keepdims=True))
            heads.append(weights / weights.sum(axis=1, keepdims=True) @ (rows @ v))
        found[part * size : (part + 1) * size] = np.concatenate(heads, axis=1) @ out[part]
    return found


@pytest.mark.parametrize(("parts", "n_picks"), [(1, 9), (4, 1), (4, 5), (4, 8), (4, 23)])
def test_each_part_attends_to_itself_with_its_own_weights(parts: int, n_picks: int) -> None:
    torch.manual_seed(0)
    attention = PartAttention(width=12, parts=parts, heads=2, head_width=3).eval()
    padded = torch.randn(2, 26, 12)
    mask = torch.arange(26)[None] < torch.tensor([[n_picks], [26]])
    found = attention(padded, mask).detach()
    for row, length in enumerate((n_picks, 26)):
        expected = attend_part_by_part(attention, padded[row, :length].double().numpy())
        np.testing.assert_allclose(found[row, :length], expected, atol=1e-5)
