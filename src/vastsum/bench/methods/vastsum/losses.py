"""The training objectives (paper, Section IV-F), each for a padded batch.

Shapes: B videos, U annotators, T picks, M segments, P pairs, R perturbed solutions. Every loss is computed
within each video and returned as (B,); padded picks, absent annotators and absent segments are masked.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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
