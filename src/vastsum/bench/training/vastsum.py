"""VASTSum as a method: the paper's network with its overall objective, weighed for the current epoch.

It stands here rather than beside its network because the stability loss asks the knapsack, and selection lies below
the scorers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Moment
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.vastsum import losses
from vastsum.bench.methods.vastsum.head import HeadOutput, Link
from vastsum.bench.methods.vastsum.likelihood import likelihood_of
from vastsum.bench.methods.vastsum.network import VastsumNetwork, pool_segments
from vastsum.bench.methods.vastsum.paths import Example, fit_linear_path
from vastsum.bench.methods.vastsum.scorer import VastsumScorer
from vastsum.bench.training.config import Config
from vastsum.bench.training.solving import solve
from vastsum.features.relative import N_CHANNELS
from vastsum.scoring.base import Scorer
from vastsum.selection.decode import DEFAULT_BUDGET
from vastsum.types import FloatArray, Kind

FEWEST = 0.05  # share of people below which a logit would run away


class VastsumMethod(LearnedMethod):
    cpu_stack = 4

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
        return VastsumNetwork(self.config.with_settings({"network.feature_width": feature_width}, "data").network)

    def start(self, network: nn.Module, videos: Sequence[tuple[FloatArray, FloatArray, Kind]]) -> None:
        """The path beside the network is a closed form of what μ should be: the mean score, or the logit of how many
        took the frame."""
        own = cast(VastsumNetwork, network)
        if own.linear is None:
            return
        examples = [
            Example(features, own.kappa(features), self.wanted(annotations, kind))
            for features, annotations, kind in videos
        ]
        scale = np.ones(own.config.feature_width)
        scale[-N_CHANNELS:] = own.config.channel_weight if own.config.relative else 1.0
        weight, bias = fit_linear_path(examples, scale, own.config.linear_penalty)
        own.linear.weight.copy_(torch.from_numpy(weight))
        own.linear.bias.fill_(bias)

    def wanted(self, annotations: FloatArray, kind: Kind) -> FloatArray:
        """What μ (T,) should be, from annotations (U, T)."""
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

        rank_weight = losses.warmed_up(c.rank_weight, moment.epoch, c.rank_warmup)
        stability_weight = losses.warmed_up(c.stability_weight, moment.epoch, c.stability_warmup)
        kl_weight = losses.warmed_up(c.kl_weight, moment.epoch, c.kl_warmup)
        pairs = self._pairs(batch, moment)
        rank = losses.pairwise_hinge(signal, order, pairs, c.rank_margin) if rank_weight else nothing
        stability = self._stability(signal, batch, moment) if stability_weight else nothing
        kl = losses.latent_kl(output.latent_mean, output.latent_log_variance, batch.mask)
        total = main + rank_weight * rank + stability_weight * stability + kl_weight * kl
        return {"total": total, "main": main, "rank": rank, "stability": stability, "kl": kl}

    def _likelihood(self, output: HeadOutput, batch: Batch) -> tuple[Tensor, Tensor]:
        """The main loss (B,) and what the ranking loss orders picks by (B, T), each by the video's kind."""
        c, scored = self.config.loss, _scored(batch)
        mean_score = batch.annotations.sum(dim=1) / batch.annotators.sum(dim=1, keepdim=True)
        gaussian = losses.gaussian_nll(
            output.mu, output.log_v, batch.annotations, batch.annotators, batch.mask, c.variance_floor
        )
        if "summe" not in batch.kinds:
            return gaussian, mean_score
        bce = losses.annotator_bce(self.link.logit(output.mu), batch.annotations, batch.mask)
        softmin = losses.softmin_bce(bce, batch.annotators, c.softmin_temperature)
        matched = losses.best_matched(bce, batch.annotations, batch.annotators)
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
        return losses.stability_margin(scores, base, perturbed, batch.present, self.config.loss.stability_margin)

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
