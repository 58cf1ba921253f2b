"""How a method is trained. Importing this does not import torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vastsum.errors import ConfigError

Schedule = Literal["cosine", "hold", "constant"]
Optimizer = Literal["adamw", "adam"]


@dataclass(frozen=True)
class Recipe:
    """Adam with gradient-norm clipping over batches of videos; the defaults are VASTSum's."""

    epochs: int = 30
    batch_size: int = 8  # videos an optimiser step
    videos_at_once: int = 1  # of these, padded together in one pass on CPU; the rest is accumulated
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    optimizer: Optimizer = "adamw"  # adam: weight decay is part of the gradient
    gradient_clip: float = 1.0
    schedule: Schedule = "cosine"
    weight_average: float = 0.0  # decay of the moving average of the weights that is evaluated; 0: raw weights
    chosen_after: float = 0.0  # share of the epochs that are over before validation videos may choose one
    checkpoint_every: int = 5  # epochs between the states a killed run goes on from

    def __post_init__(self) -> None:
        positive = ("epochs", "batch_size", "videos_at_once", "learning_rate", "gradient_clip", "checkpoint_every")
        for name in positive:
            if not getattr(self, name) > 0:
                raise ConfigError(f"training.{name}", f"{getattr(self, name)} is not positive", "use a number above 0")
        if self.weight_decay < 0:
            raise ConfigError("training.weight_decay", f"{self.weight_decay} is negative", "use 0 or more")
        for name, usual in (("weight_average", 0.99), ("chosen_after", 0.5)):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"training.{name}", f"{getattr(self, name)} is not in [0, 1)", f"use e.g. {usual}")

    def may_choose(self, epoch: int) -> bool:
        """Whether that epoch, counted from 1, is one to choose from."""
        return epoch > self.chosen_after * self.epochs
