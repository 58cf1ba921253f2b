"""What a method that learns by gradient descent has to say of itself; training takes it from there."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, dataclass, replace
from inspect import isclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from vastsum.bench.methods.nn.batch import Batch, unannotated
from vastsum.bench.methods.settings import require
from vastsum.scoring.base import Scorer
from vastsum.types import PAPER_DECODER, Decoder, FloatArray, Kind, Prediction, Segments

Schedule = Literal["cosine", "constant"]
Optimizer = Literal["adamw", "adam"]


@dataclass(frozen=True)
class Recipe:
    """Adam with gradient-norm clipping over batches of videos; the defaults are VASTSum's."""

    epochs: int = 30
    batch_size: int = 8  # videos an optimiser step
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    optimizer: Optimizer = "adamw"  # adam: weight decay is part of the gradient
    gradient_clip: float = 1.0
    schedule: Schedule = "cosine"
    weight_average: float = 0.0  # decay of the moving average of the weights that is evaluated; 0: raw weights
    chosen_after: float = 0.0  # share of the epochs that are over before validation videos may choose one

    def __post_init__(self) -> None:
        names = ("epochs", "batch_size", "learning_rate", "gradient_clip")
        require(
            "training",
            self,
            positive=names,
            not_negative=("weight_decay",),
            below_one=("weight_average", "chosen_after"),
        )

    def may_choose(self, epoch: int) -> bool:
        """Whether that epoch, counted from 1, is one to choose from."""
        return epoch > self.chosen_after * self.epochs


@dataclass(frozen=True)
class Moment:
    """When and with which randomness a loss is computed: one generator a video, so that company changes nothing."""

    epoch: int
    rngs: Sequence[np.random.Generator]
    phase: str = ""


class Phase(NamedTuple):
    """One of several losses of a step: the prefixes of the parameters it trains, and its share of the learning rate."""

    trains: tuple[str, ...] = ("",)
    slowed: float = 1.0


class LearnedMethod(ABC):
    """A network, its loss and its recipe.

    Networks are given padded batches and must not let padding change anything at a real pick. They draw random numbers
    only through the layers of `vastsum.bench.methods.nn.noise`. They work under `torch.func.vmap`, where many trainings
    run as one program, unless `stack` is 0. A step has one loss that trains everything, unless networks play against
    each other: then `phases` names their losses. All are taken from one pass through the network.
    """

    recipe: Recipe
    stack: int = 1  # trainings in one program on a CPU: where tensors leave the caches, more only slow each other
    like_lengths: bool = False  # a step takes videos of like length: less is padded, but the same ones often meet
    phases: Mapping[str, Phase] = {"": Phase()}
    decoder: Decoder = PAPER_DECODER

    @property
    def trained_by(self) -> dict[str, Any]:
        """All that says how it learns, in terms of JSON: a training by anything else is another one. Beside the recipe
        these are the method's own numbers, and those in capitals where it is written: sizes of its network, weights of
        its losses."""
        module = sys.modules[type(self).__module__]
        classes = [each for each in vars(module).values() if getattr(each, "__module__", "") == module.__name__]
        numbers = {
            f"{getattr(space, '__qualname__', 'module')}.{name}": value
            for space in (module, *filter(isclass, classes))
            for name, value in vars(space).items()
            if name.isupper() and isinstance(value, int | float)
        }
        own = {name: value for name, value in vars(self).items() if isinstance(value, int | float)}
        slowed = {name: phase.slowed for name, phase in self.phases.items() if phase.slowed != 1.0}
        return asdict(self.recipe) | {"slowed": slowed} | numbers | own

    def with_recipe(self, **changes: Any) -> Self:
        """The same method trained by a changed recipe."""
        other = copy(self)
        other.recipe = replace(self.recipe, **changes)
        return other

    @abstractmethod
    def build(self, feature_width: int) -> nn.Module:
        """A network with fresh weights, drawn from torch's global generator."""

    def start(  # noqa: B027 (most methods have nothing to set)
        self, network: nn.Module, videos: Sequence[tuple[FloatArray, FloatArray, Kind]]
    ) -> None:
        """Set what is known of a fresh network before training: from features (T, D), annotations (U, T) and kind of
        each training video."""

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        """What the network's forward is called with; tensors have the video as their first dimension."""
        return batch.features, batch.segment_ids, batch.mask

    def losses(self, output: Any, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        """Loss terms of each video, (B,) each; "total" is what is minimised in this phase, the rest is for the log.
        Most networks put out a score a pick, and learn the mean annotation."""
        return {"total": masked_mse(output, batch)}

    def importance(self, output: Any, batch: Batch) -> Tensor:
        """(B, T), from the network's output in evaluation mode."""
        scores: Tensor = output
        return scores

    def scorer(self, network: nn.Module, kind: Kind) -> Scorer:
        return NetworkScorer(self, network, kind)


class NetworkScorer:
    """Runs a trained network on one video at a time."""

    def __init__(self, method: LearnedMethod, network: nn.Module, kind: Kind) -> None:
        self.method, self.network, self.kind = method, network.eval(), kind

    @torch.no_grad()
    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        device = next(self.network.parameters()).device
        batch = unannotated(features, segments, self.kind, device)
        importance = self.method.importance(self.network(*self.method.inputs(batch)), batch)
        return Prediction.certain(importance[0].double().cpu().numpy(), self.method.decoder)


def masked_mse(scores: Tensor, batch: Batch) -> Tensor:
    """(B,) mean over real picks of the squared distance to the mean annotation: the loss most methods use."""
    squared = torch.where(batch.mask, (scores - batch.targets) ** 2, 0.0)
    return squared.sum(dim=1) / batch.mask.sum(dim=1)
