"""SummDiff: scores as an annotator would give them, generated from noise by diffusion, given the video.

K. Kim, J. Hahm, S. Kim, J. Sul, B. Kim, J. Lee, "SummDiff: Generative Modeling of Video Summarization with Diffusion",
ICCV 2025.

A transformer encodes the video. A denoiser, residual blocks of convolutions over time (the one the authors train for
SumMe and TVSum), sees diffused scores, rounded to K levels with an embedding each, and tells the clean ones. Scores are
generated in ten steps of DDIM with guidance free of a classifier.

What departs from the authors' code: everywhere annotators are drawn, as the paper says (on TVSum the code takes their
mean); what the denoiser is given in place of a video, for guidance, is learned (theirs lies in a file); and the noise
of generation is always the same, so that a video has one prediction. On SumMe a step takes one video with sixteen drawn
annotators, about as many as it has, where the authors draw twenty pairs of a video and an annotator.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.layers import sinusoids
from vastsum.bench.methods.nn.noise import Dropout, Normal, Uniform
from vastsum.bench.methods.nn.transformer import EncoderLayer
from vastsum.types import FloatArray, Kind

TIMES, STEPS = 1000, 10  # of diffusion, and of its reversal
LEVELS = 200
SHARPNESS = 2.0  # score = σ(2 x): scores are bounded, what is diffused is not
LOWEST, HIGHEST = 0.05, 0.95  # annotations are clipped to these

RECIPES: dict[Kind, Recipe] = {
    "tvsum": Recipe(
        epochs=200,
        batch_size=40,
        learning_rate=3e-4,
        weight_decay=5e-3,
        optimizer="adam",
        gradient_clip=1e6,  # none
        schedule="constant",
    ),
    "summe": Recipe(
        epochs=45,
        batch_size=1,
        learning_rate=3e-5,
        weight_decay=5e-4,
        optimizer="adam",
        gradient_clip=1e6,
        schedule="constant",
    ),
}


class Scores(NamedTuple):
    """Denoised scores, and in training the annotations they should be: R of each video."""

    scores: Tensor  # (B, R, T)
    targets: Tensor  # (B, R, T)


class Summdiff(LearnedMethod):
    """`width` is that of the encoder and the denoiser."""

    def __init__(self, kind: Kind, width: int = 256) -> None:
        self.kind, self.recipe, self.width = kind, RECIPES[kind], width

    def build(self, feature_width: int) -> nn.Module:
        if self.kind == "tvsum":
            return SummdiffNetwork(feature_width, self.width, blocks=3, draws=1, guidance=0.1)
        return SummdiffNetwork(feature_width, self.width, blocks=2, draws=16, guidance=0.2)

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        return batch.features, batch.mask, batch.annotations, batch.annotators

    def losses(self, output: Scores, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        squared = torch.where(batch.mask.unsqueeze(1), (output.scores - output.targets) ** 2, 0.0)
        return {"total": squared.mean(dim=1).sum(dim=1) / batch.mask.sum(dim=1)}

    def importance(self, output: Scores, batch: Batch) -> Tensor:
        return output.scores[:, 0]


class SummdiffNetwork(nn.Module):
    FORGET = 0.2  # how often the denoiser has to do without the video, in training

    signal: Tensor  # (TIMES,) ᾱ: the share of the clean scores left in the variance
    generation_noise: Tensor  # (STEPS, …)

    def __init__(self, feature_width: int, width: int, blocks: int, draws: int, guidance: float) -> None:
        super().__init__()
        self.draws, self.guidance = draws, guidance
        self.nothing = nn.Parameter(torch.zeros(feature_width))
        self.encoder = Encoder(feature_width, width)
        self.denoiser = Denoiser(width, blocks)
        self.annotator, self.time, self.forget, self.noise = Uniform(), Uniform(), Uniform(), Normal()
        self.register_buffer("signal", torch.tensor(remaining_signal(), dtype=torch.float32), persistent=False)
        fixed = torch.randn(STEPS, 4096, generator=torch.Generator().manual_seed(0))
        self.register_buffer("generation_noise", fixed, persistent=False)

    def forward(self, features: Tensor, mask: Tensor, annotations: Tensor, annotators: Tensor) -> Scores:
        """features (B, T, D), annotations (B, U, T) → scores of R annotators (B, R, T)."""
        if not self.training:
            scores = self.generate(features, mask)
            return Scores(scores, scores)
        draw = torch.Size((len(features), self.draws))
        n_annotators = annotators.sum(dim=1, keepdim=True)
        who = (self.annotator(draw) * n_annotators).long().minimum(n_annotators - 1)  # (B, R)
        targets = annotations.gather(1, who.unsqueeze(-1).expand(-1, -1, annotations.shape[2]))
        targets = targets.clamp(LOWEST, HIGHEST)

        time = (self.time(draw) * TIMES).long().clamp(max=TIMES - 1)  # (B, R)
        signal = self.signal[time].unsqueeze(-1)
        noisy = signal.sqrt() * torch.logit(targets) / SHARPNESS + (1 - signal).sqrt() * self.noise(targets.shape)

        forgotten = self.forget(features.shape[:1])[:, None, None] < self.FORGET
        video = self.encoder(torch.where(forgotten, self.nothing, features), mask)
        return Scores(torch.sigmoid(SHARPNESS * self.denoiser(noisy, time, video, mask)), targets)

    def generate(self, features: Tensor, mask: Tensor) -> Tensor:
        """Scores (B, 1, T) out of noise: DDIM (J. Song et al., ICLR 2021) with as much fresh noise as diffusion has."""
        n_batch, n_picks = mask.shape
        video, nothing = self.encoder(features, mask), self.encoder(self.nothing.expand_as(features), mask)
        places = torch.arange(n_picks, device=mask.device) % self.generation_noise.shape[1]
        fresh = self.generation_noise[:, places]  # (STEPS, T)
        times = np.linspace(0, TIMES - 1, STEPS + 1).astype(int)[::-1].tolist()
        remaining = remaining_signal()
        x = clean = fresh[0].expand(n_batch, 1, n_picks)
        for step, (now, then) in enumerate(pairwise(times)):
            time = torch.full((n_batch, 1), now, device=mask.device)
            clean = self.denoiser(x, time, video, mask)
            if step + 1 < STEPS:
                guided = (1 + self.guidance) * clean - self.guidance * self.denoiser(x, time, nothing, mask)
                x = stepped(x, guided, float(remaining[now]), float(remaining[then]), fresh[step + 1])
        return torch.sigmoid(SHARPNESS * clean)


def remaining_signal() -> FloatArray:
    """ᾱ_t of the cosine schedule (A. Nichol, P. Dhariwal, ICML 2021), (TIMES,)."""
    angle = (np.linspace(0, 1, TIMES + 1) + 0.008) / 1.008 * np.pi / 2
    share = np.cos(angle) ** 2
    return np.cumprod(1 - np.clip(1 - share[1:] / share[:-1], 0, 0.999))


def stepped(x: Tensor, clean: Tensor, now: float, then: float, fresh: Tensor) -> Tensor:
    """From noisy x with signal `now` to the less noisy with signal `then`, if `clean` were the truth."""
    noise = (x - math.sqrt(now) * clean) / math.sqrt(1 - now)
    spread = math.sqrt((1 - now / then) * (1 - then) / (1 - now))
    kept = math.sqrt(max(0.0, 1 - then - spread**2))
    return math.sqrt(then) * clean + kept * noise + spread * fresh


class Encoder(nn.Module):
    """Features to what the denoiser is told of each pick, (B, T, D) → (B, T, d)."""

    HEADS, HIDDEN, LAYERS = 8, 1024, 2
    INPUT_DROPOUT, DROPOUT = 0.5, 0.1

    def __init__(self, feature_width: int, width: int) -> None:
        super().__init__()
        self.project = nn.Sequential(
            nn.LayerNorm(feature_width), Dropout(self.INPUT_DROPOUT), nn.Linear(feature_width, width), nn.ReLU(),
            nn.LayerNorm(width), Dropout(self.INPUT_DROPOUT), nn.Linear(width, width), nn.ReLU(),
            nn.LayerNorm(width), Dropout(self.INPUT_DROPOUT), nn.Linear(width, width),
        )  # fmt: skip
        self.video_token, self.video_place = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        self.layers = nn.ModuleList(
            EncoderLayer(width, self.HEADS, self.HIDDEN, self.DROPOUT, activation=nn.PReLU) for _ in range(self.LAYERS)
        )

    def forward(self, features: Tensor, mask: Tensor) -> Tensor:
        h = _with_first(self.video_token, self.project(features))  # (B, 1 + T, d)
        positions = _with_first(self.video_place, relative_positions(mask, h.shape[2]))
        with_token = torch.cat([torch.ones_like(mask[:, :1]), mask], dim=1)
        for layer in self.layers:
            h = layer(h, with_token, positions)
        return h[:, 1:]


class Denoiser(nn.Module):
    """Noisy scores (B, R, T) at times (B, R), and the video (B, T, d) → clean scores (B, R, T), before the sigmoid."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        self.width = width
        self.levels = nn.Parameter(torch.randn(LEVELS + 1, width))
        first, second = nn.Linear(width, width), nn.Linear(width, width)
        for layer in (first, second):
            nn.init.normal_(layer.weight, std=0.02)
        self.level = nn.Sequential(first, nn.ReLU(), second)
        self.time = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.project = nn.Linear(width, width)
        self.neighbours = OverTime(width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(blocks))
        self.out = nn.Sequential(nn.LayerNorm(width, eps=1e-6), nn.SiLU(), _zeroed(nn.Linear(width, width)))
        self.score = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, noisy: Tensor, time: Tensor, video: Tensor, mask: Tensor) -> Tensor:
        level = (torch.sigmoid(SHARPNESS * noisy) * LEVELS).round().long()
        x = self.level(self.levels[level]) + relative_positions(mask, self.width).unsqueeze(1)  # (B, R, T, d)
        x = self.neighbours(self.project(x), mask)
        moment = self.time(sinusoids(time, self.width)).unsqueeze(2)  # (B, R, 1, d)
        for block in self.blocks:
            x = block(x, moment, video.unsqueeze(1), mask)
        return self.score(self.out(x)).squeeze(-1)


class Block(nn.Module):
    DROPOUT = 0.1

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scores = nn.Sequential(nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(width, width))
        self.video = nn.Sequential(nn.SiLU(), nn.Linear(width, width))
        self.neighbours = OverTime(width)
        self.out = nn.Sequential(
            nn.LayerNorm(width), nn.SiLU(), Dropout(self.DROPOUT), _zeroed(nn.Linear(width, width))
        )

    def forward(self, x: Tensor, moment: Tensor, video: Tensor, mask: Tensor) -> Tensor:
        h = self.scores(x) + self.time(moment) + self.video(video)
        return x + self.out(self.neighbours(h, mask))


class OverTime(nn.Module):
    """A convolution of each pick with its neighbours, (B, R, T, d) → the same; beyond the ends there is nothing."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        known = (x * mask[:, None, :, None]).flatten(0, 1).transpose(1, 2)  # (B·R, d, T)
        mixed: Tensor = self.convolution(known).transpose(1, 2).reshape(x.shape)
        return mixed


def relative_positions(mask: Tensor, width: int) -> Tensor:
    """(B, T, d): sinusoids of how far into its video each pick lies, once round from the start to the end."""
    pick = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    return sinusoids(2 * math.pi * pick / mask.sum(dim=1, keepdim=True), width)


def _with_first(first: Tensor, rest: Tensor) -> Tensor:
    """first (d) before each of rest (B, T, d)."""
    return torch.cat([first.expand(rest.shape[0], 1, -1), rest], dim=1)


def _zeroed(layer: nn.Linear) -> nn.Linear:
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer
