"""CLIP-It's parts, against loops; and what it says of features that cannot hold text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vastsum.bench.methods.clip_it import ClipIt, weighted_similarity
from vastsum.errors import ConfigError


def test_similarity_is_the_mean_over_pairs_of_different_picks() -> None:
    rng = np.random.default_rng(0)
    unit = rng.standard_normal((1, 6, 4))
    unit /= np.linalg.norm(unit, axis=-1, keepdims=True)
    weights = rng.random((1, 6))
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j]
    shares = np.array([weights[0, i] * weights[0, j] for i, j in pairs])
    cosines = np.array([unit[0, i] @ unit[0, j] for i, j in pairs])
    found = weighted_similarity(torch.tensor(weights), torch.tensor(unit))
    np.testing.assert_allclose(found, [(shares * cosines).sum() / shares.sum()])


def test_features_of_odd_width_cannot_hold_two_embeddings() -> None:
    with pytest.raises(ConfigError, match="two embeddings of the same width"):
        ClipIt().build(1025)


def test_what_is_said_changes_what_is_important() -> None:
    torch.manual_seed(0)
    network = ClipIt(width=32).build(16).eval()
    features, ids, mask = torch.randn(1, 5, 16), torch.zeros(1, 5, dtype=torch.long), torch.ones(1, 5, dtype=torch.bool)
    other = torch.cat([features[..., :8], torch.randn(1, 5, 8)], dim=-1)
    with torch.no_grad():
        assert not torch.allclose(network(features, ids, mask).logits, network(other, ids, mask).logits)
