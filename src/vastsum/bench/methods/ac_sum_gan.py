"""AC-SUM-GAN: an actor chooses the fragments of the summary, rewarded where the video can be made anew from them.

E. Apostolidis, E. Adamantidou, A. I. Metsai, V. Mezaris, I. Patras, "AC-SUM-GAN: Connecting Actor-Critic and Generative
Adversarial Networks for Unsupervised Video Summarization", IEEE Transactions on Circuits and Systems for Video
Technology 31(8), 2021.

It sees no annotation. A video is 60 fragments; the actor chooses 9 times, knowing the selector's mean score of each and
which are taken, and a critic learns what to expect. Chosen fragments are scored up, the others down. As the authors do
it, the selector learns from the length of the summary alone. In evaluation the likeliest fragment not yet taken is
chosen, where the authors draw: a prediction should not depend on chance. Further departures: the decoder is fed
nothing; all parts learn from one pass, where the authors run the video anew for each; and the share of the video to
select is their default, not tuned for each split. Videos of fewer than 60 picks have empty fragments, which cannot be
chosen.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Moment, Phase, Recipe
from vastsum.bench.methods.nn.adversarial import (
    Decoder,
    Discriminator,
    Encoder,
    Sampler,
    Selector,
    off_length,
    prior_divergence,
)
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.layers import masked_softmax
from vastsum.bench.methods.nn.noise import Uniform

FRAGMENTS = 60
CHOICES = 9  # 15 % of the fragments


class Episode(NamedTuple):
    """Nine choices: S = 9."""

    weights: Tensor  # (B, S, fragments) of the scores, after each choice
    log_probability: Tensor  # (B, S) of what was chosen
    entropy: Tensor  # (B, S)
    value: Tensor  # (B, S) what the critic expects
    fresh: Tensor  # (B, S) whether the fragment was not chosen before


class Play(NamedTuple):
    """What the parts of the network did in training."""

    code_mean: Tensor  # (B, layers, d)
    code_log_variance: Tensor
    distance: Tensor  # (B,) of the original and the one made anew, as the discriminator sees them
    original: Tensor  # (B,) probability of being an original: of the original itself,
    summary: Tensor  # and of what was made of the summary
    scores: Tensor  # (B, T) of the selector, before anything was chosen
    episode: Episode
    rewards: Tensor  # (B, S)


class AcSumGanOutput(NamedTuple):
    importance: Tensor  # (B, T)
    play: Play | tuple[()]  # empty but in training; None could not be stacked


class AcSumGan(LearnedMethod):
    recipe = Recipe(
        epochs=100,
        batch_size=40,
        learning_rate=1e-4,
        weight_decay=0.0,
        optimizer="adam",
        gradient_clip=5.0,
        schedule="constant",
    )
    phases = {  # noqa: RUF012
        "encoder": Phase(("encoder.",)),
        "decoder": Phase(("decoder.",)),
        "discriminator": Phase(("discriminator.", "compress."), slowed=0.1),
        "actor": Phase(("actor.", "selector.", "compress.")),
        "critic": Phase(("critic.",)),
    }
    LENGTH = 0.5  # the mean score to aim for
    DISCOUNT = 0.99
    CURIOSITY = 0.1  # the weight of the actor's mean entropy

    def build(self, feature_width: int) -> nn.Module:
        return AcSumGanNetwork(feature_width)

    def losses(self, output: AcSumGanOutput, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        play = output.play
        assert isinstance(play, Play), "losses are asked for in training"
        if moment.phase == "encoder":
            prior = prior_divergence(play.code_mean, play.code_log_variance)
            return {"total": play.distance + prior, "distance": play.distance, "prior": prior}
        if moment.phase == "decoder":
            return {"total": play.distance + (1 - play.summary) ** 2}
        if moment.phase == "discriminator":
            caught = (1 - play.original) ** 2 + play.summary**2
            return {"total": caught, "discrimination": caught}
        surprise = self.returns(play.rewards) - play.episode.value  # (B, S)
        if moment.phase == "critic":
            return {"total": (surprise**2).mean(dim=1)}
        gain = (play.episode.log_probability * surprise.detach()).mean(dim=1)
        curiosity = self.CURIOSITY * play.episode.entropy.mean(dim=1)
        length = off_length(play.scores, batch.mask, self.LENGTH)
        return {"total": length - gain - curiosity, "reward": play.rewards.mean(dim=1), "length": length}

    def importance(self, output: AcSumGanOutput, batch: Batch) -> Tensor:
        return output.importance

    def returns(self, rewards: Tensor) -> Tensor:
        """(B, S): the reward of each choice and, discounted, of those after it."""
        later = torch.zeros_like(rewards[:, 0])
        found = []
        for reward in reversed(rewards.unbind(dim=1)):
            later = reward + self.DISCOUNT * later
            found.append(later)
        return torch.stack(found[::-1], dim=1)


class AcSumGanNetwork(nn.Module):
    def __init__(self, feature_width: int) -> None:
        super().__init__()
        width = feature_width // 2
        self.compress = nn.Linear(feature_width, width)
        self.selector, self.encoder, self.decoder = Selector(width), Encoder(width), Decoder(width)
        self.discriminator = Discriminator(width)
        self.actor = perceptron(FRAGMENTS, 512, 1024, 512, FRAGMENTS)
        self.critic = perceptron(FRAGMENTS, 512, 1024, 512, 256, 1)
        self.lots, self.code, self.reward_code = Uniform(), Sampler(), Sampler()

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> AcSumGanOutput:
        x = self.compress(features)  # (B, T, d)
        scores = self.selector(x, mask)  # (B, T)
        fragment = fragments(mask)  # (B, T)
        episode = self.act(scores.detach(), fragment, mask)
        importance = scores * episode.weights[:, -1].gather(1, fragment)
        if not self.training:
            return AcSumGanOutput(importance, ())
        # No part learns by way of the summary what comes before it, so a gradient ends there.
        mean, log_variance, made = self.remade((x * importance.unsqueeze(-1)).detach(), mask, self.code)
        # Both together: the steps of an LSTM take as long for two videos as for one.
        views, logits = self.discriminator(torch.cat([x, made]), mask.repeat(2, 1))
        (seen, seen_made), (original, summary) = views.chunk(2), logits.chunk(2)
        play = Play(
            mean,
            log_variance,
            distance(seen, seen_made),
            torch.sigmoid(original),
            torch.sigmoid(summary),
            scores,
            episode,
            self.rewards(x, scores, fragment, mask, episode, seen),
        )
        return AcSumGanOutput(importance, play)

    def act(self, scores: Tensor, fragment: Tensor, mask: Tensor) -> Episode:
        state, occupied = fragment_means(scores, fragment, mask)  # (B, fragments)
        lots = self.lots(torch.Size((len(state), CHOICES)))
        weights = torch.full_like(state, 1 - CHOICES / FRAGMENTS)
        taken = torch.zeros_like(occupied)
        steps = []
        for step in range(CHOICES):
            probability = masked_softmax(self.actor(state), occupied)
            choice = self.choose(probability, lots[:, step], occupied & ~taken)  # (B, 1)
            fresh = ~taken.gather(1, choice)
            count = taken.sum(dim=1, keepdim=True)
            raised = 1 + (CHOICES - count) / (FRAGMENTS - count)
            chosen = nn.functional.one_hot(choice.squeeze(1), FRAGMENTS).bool()
            weights = torch.where(chosen & fresh, raised, weights)
            log_probability = torch.log(probability.clamp(min=1e-12))
            entropy = -(probability * log_probability).sum(dim=1)
            value = self.critic(state).squeeze(-1)
            steps.append((weights, log_probability.gather(1, choice).squeeze(1), entropy, value, fresh.squeeze(1)))
            taken = taken | chosen
            state = state * ~taken
        return Episode(*(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True)))

    def choose(self, probability: Tensor, lot: Tensor, free: Tensor) -> Tensor:
        """(B, 1) drawn in training, by lots in (0, 1); the likeliest free fragment otherwise, if any is."""
        if not self.training:
            return torch.where(free, probability, probability - 1).argmax(dim=1, keepdim=True)
        return (probability.cumsum(dim=1) < lot.unsqueeze(1)).sum(dim=1, keepdim=True).clamp(max=FRAGMENTS - 1)

    @torch.no_grad()
    def rewards(
        self, x: Tensor, scores: Tensor, fragment: Tensor, mask: Tensor, episode: Episode, seen: Tensor
    ) -> Tensor:
        """(B, S): how close the video is made anew after each choice; nothing for choosing what is taken."""
        weights = episode.weights.gather(2, fragment.unsqueeze(1).expand(-1, CHOICES, -1))  # (B, S, T)
        kept = (x.unsqueeze(1) * (scores.unsqueeze(1) * weights).unsqueeze(-1)).flatten(0, 1)  # (B S, T, d)
        masks = mask.repeat_interleave(CHOICES, dim=0)
        made = self.remade(kept, masks, self.reward_code)[2]
        found = distance(seen.repeat_interleave(CHOICES, dim=0), self.discriminator(made, masks)[0])
        return (1 - found.view(-1, CHOICES)) * episode.fresh

    def remade(self, x: Tensor, mask: Tensor, sampler: Sampler) -> tuple[Tensor, Tensor, Tensor]:
        """The code's mean and logarithm of variance, and the video made of it."""
        mean, log_variance, cell = self.encoder(x, mask)
        return mean, log_variance, self.decoder(sampler(mean, log_variance), cell, mask)


def perceptron(*widths: int) -> nn.Sequential:
    """Linear layers with rectifiers between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def fragments(mask: Tensor) -> Tensor:
    """(B, T): which of the fragments, as equal as can be, each pick belongs to."""
    place = torch.arange(mask.shape[1], device=mask.device)
    return (place * FRAGMENTS // mask.sum(dim=1, keepdim=True)).clamp(max=FRAGMENTS - 1)


def fragment_means(scores: Tensor, fragment: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """(B, fragments): the mean score within each, 0 in empty ones; and which of them hold a pick."""
    nothing = torch.zeros(len(scores), FRAGMENTS, device=scores.device)
    counts = nothing.scatter_add(1, fragment, mask.to(scores.dtype))
    totals = nothing.scatter_add(1, fragment, torch.where(mask, scores, 0.0))
    return totals / counts.clamp(min=1), counts > 0


def distance(a: Tensor, b: Tensor) -> Tensor:
    """(B,) Euclidean; the small number keeps the gradient finite where both are the same."""
    return torch.sqrt(((a - b) ** 2).sum(dim=1) + 1e-12)
