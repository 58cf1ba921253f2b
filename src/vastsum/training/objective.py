"""The overall objective: likelihood, ranking, stability and KL, weighed for the current epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vastsum.scorers.vastsum import LossConfig, losses
from vastsum.scorers.vastsum.head import HeadOutput, Link
from vastsum.scorers.vastsum.likelihood import likelihood_of
from vastsum.scorers.vastsum.network import pool_segments
from vastsum.selection import knapsack
from vastsum.selection.decode import DEFAULT_BUDGET
from vastsum.training.batches import Batch


@dataclass(frozen=True)
class Terms:
    """The parts of the objective before their weights, and the weighted sum."""

    total: Tensor
    main: Tensor
    rank: Tensor
    stability: Tensor
    kl: Tensor


class Objective:
    def __init__(self, config: LossConfig, link: Link, budget: float = DEFAULT_BUDGET) -> None:
        self.config, self.link, self.budget = config, link, budget

    def __call__(self, output: HeadOutput, batch: Batch, epoch: int, rng: np.random.Generator) -> Terms:
        """`rng` draws the ranking pairs and the score perturbations."""
        c = self.config
        signal = self.link.signal(output.mu, likelihood_of(batch.kind))
        if batch.kind == "tvsum":
            main = losses.gaussian_nll(
                output.mu, output.log_v, batch.annotations, batch.annotators, batch.mask, c.variance_floor
            )
            order = batch.annotations.sum(dim=1) / batch.annotators.sum(dim=1, keepdim=True)  # r_t: mean score
        else:
            bce = losses.annotator_bce(self.link.logit(output.mu), batch.annotations, batch.mask)
            main = losses.softmin_bce(bce, batch.annotators, c.softmin_temperature)
            order = losses.best_matched(bce, batch.annotations, batch.annotators)

        rank_weight = losses.warmed_up(c.rank_weight, epoch, c.rank_warmup)
        stability_weight = losses.warmed_up(c.stability_weight, epoch, c.stability_warmup)
        kl_weight = losses.warmed_up(c.kl_weight, epoch, c.kl_warmup)
        nothing = main.new_zeros(())
        rank = losses.pairwise_hinge(signal, order, self._pairs(batch, rng), c.rank_margin) if rank_weight else nothing
        stability = self._stability(signal, batch, rng) if stability_weight else nothing
        kl = losses.latent_kl(output.latent_mean, output.latent_log_variance, batch.mask)
        total = main + rank_weight * rank + stability_weight * stability + kl_weight * kl
        return Terms(total, main, rank, stability, kl)

    def _pairs(self, batch: Batch, rng: np.random.Generator) -> Tensor:
        """Index pairs (B, 2, P) drawn uniformly among the real picks of each video."""
        pairs = [rng.integers(0, len(segments.picks), (2, self.config.rank_pairs)) for segments in batch.segments]
        return torch.from_numpy(np.stack(pairs)).to(batch.mask.device)

    def _stability(self, signal: Tensor, batch: Batch, rng: np.random.Generator) -> Tensor:
        scores = pool_scores(signal, batch)  # (B, M)
        base, perturbed = self._solve(scores.detach().cpu().numpy().astype(np.float64), batch, rng)
        return losses.stability_margin(
            scores, base.to(scores.device), perturbed.to(scores.device), batch.present, self.config.stability_margin
        )

    def _solve(self, scores: np.ndarray, batch: Batch, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Knapsack solutions of the scores (B, M) and of R perturbed copies (B, R, M), R + 1 at once for each video."""
        solutions = np.zeros((len(batch), self.config.stability_draws + 1, batch.n_segments), bool)
        for row, segments in enumerate(batch.segments):
            noise = rng.standard_normal((self.config.stability_draws + 1, len(segments)))
            noise[0] = 0.0
            values = scores[row, : len(segments)] + self.config.stability_noise * noise
            capacity = int(self.budget * segments.n_frames)
            solutions[row, :, : len(segments)] = knapsack(values, segments.lengths, capacity)
        return torch.from_numpy(solutions[:, 0]), torch.from_numpy(solutions[:, 1:])


def pool_scores(signal: Tensor, batch: Batch) -> Tensor:
    """s_k (B, M): the decoding signal averaged within each segment; one without picks has the signal in force there."""
    pooled, occupied = pool_segments(signal.unsqueeze(-1), batch.segment_ids, batch.mask, batch.n_segments)
    return torch.where(occupied, pooled.squeeze(-1), signal.gather(1, batch.first_picks))
