"""How the two kinds of annotation are modelled."""

from __future__ import annotations

from typing import Literal

Likelihood = Literal["gaussian", "bernoulli"]


def likelihood_of(kind: str) -> Likelihood:
    """Scores (tvsum) are Gaussian around μ; binary summaries (summe) are Bernoulli with p = σ(μ/T_s)."""
    return "gaussian" if kind == "tvsum" else "bernoulli"
