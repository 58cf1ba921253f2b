"""Training one network: epochs of AdamW over shuffled videos, from any epoch on, to the same bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from vastsum.data import BenchmarkVideo, Kind
from vastsum.scorers.vastsum.likelihood import likelihood_of
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.scorers.vastsum.scorer import VastsumScorer
from vastsum.training.batches import Batch, collate
from vastsum.training.config import Config
from vastsum.training.objective import Objective


class Trainer:
    """A network in training. Randomness is drawn anew from (seed, epoch), however that epoch was reached."""

    def __init__(
        self, config: Config, kind: Kind, videos: Sequence[BenchmarkVideo], seed: int, device: str = "cpu"
    ) -> None:
        self.config, self.videos, self.seed, self.device = config, list(videos), seed, device
        with _seeded(seed):
            self.network = VastsumNetwork(config.network).to(device)
        self.objective = Objective(config.loss, self.network.link)
        decay = config.training.weight_average
        self.average = _moving_average(self.network, decay) if decay else None
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), lr=config.training.learning_rate, weight_decay=config.training.weight_decay
        )
        self.kind = kind
        self._batches: dict[str, Batch] = {}

    @property
    def evaluated(self) -> VastsumNetwork:
        """The network whose predictions count: the weight average where one is kept."""
        return self.network if self.average is None else cast(VastsumNetwork, self.average.module)

    @property
    def scorer(self) -> VastsumScorer:
        return VastsumScorer(self.evaluated, likelihood_of(self.kind))

    def train_epoch(self, epoch: int) -> dict[str, float]:
        """One pass over all videos; returns the mean of every loss term for the log."""
        rng = np.random.default_rng([self.seed, epoch])
        learning_rate = self._learning_rate(epoch)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        sums: dict[str, float] = {}
        self.network.train()
        with _seeded(int(rng.integers(2**62))):
            for step in self._steps(rng):
                for name, value in self._optimise(step, epoch, rng).items():
                    sums[name] = sums.get(name, 0.0) + value * sum(map(len, step))
        return {name: total / len(self.videos) for name, total in sums.items()} | {"learning_rate": learning_rate}

    def _optimise(self, parts: Sequence[Batch], epoch: int, rng: np.random.Generator) -> dict[str, float]:
        """One optimiser step over the mean loss of all videos in `parts`, whose gradients are accumulated."""
        n_videos = sum(map(len, parts))
        means: dict[str, float] = {}
        self.optimizer.zero_grad()
        for batch in parts:
            output = self.network(batch.features, batch.segment_ids, batch.mask, batch.n_segments)
            terms = self.objective(output, batch, epoch, rng)
            share = len(batch) / n_videos
            torch.autograd.backward(terms.total * share)
            for name, value in vars(terms).items():
                means[name] = means.get(name, 0.0) + share * float(value.detach())
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.config.training.gradient_clip)
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.network)
        return means | {"gradient_norm": float(norm)}

    def _steps(self, rng: np.random.Generator) -> Iterator[list[Batch]]:
        """The shuffled videos in groups of `batch_size`, each cut into padded batches of `videos_at_once`."""
        size, at_once = self.config.training.batch_size, self.config.training.videos_at_once
        order = rng.permutation(len(self.videos)).tolist()
        for first in range(0, len(order), size):
            step = order[first : first + size]
            yield [self._batch(step[part : part + at_once]) for part in range(0, len(step), at_once)]

    def _batch(self, members: Sequence[int]) -> Batch:
        if len(members) > 1:
            return collate([self.videos[member] for member in members], self.device)
        name = self.videos[members[0]].name
        if name not in self._batches:  # a single video is never padded: its tensors are made once
            self._batches[name] = collate([self.videos[members[0]]], self.device)
        return self._batches[name]

    def _learning_rate(self, epoch: int) -> float:
        """cosine: down to 0 over all epochs; hold: in full for two thirds of them, then down; constant: never down."""
        training = self.config.training
        held = {"cosine": 0.0, "hold": 2 / 3, "constant": 1.0}[training.schedule]
        done = (epoch / training.epochs - held) / (1 - held) if held < 1 else 0.0
        return training.learning_rate * 0.5 * (1 + float(np.cos(np.pi * max(0.0, done))))

    def state(self) -> dict[str, Tensor]:
        """Everything that the next epoch depends on."""
        tensors = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        if self.average is not None:
            tensors |= {f"average.{name}": tensor for name, tensor in self.average.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": tensor for name, tensor in moments.items()}
        return tensors

    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        self.network.load_state_dict(_under("network.", tensors))
        if self.average is not None:
            self.average.load_state_dict(_under("average.", tensors))
        moments: dict[int, dict[str, Any]] = {}
        for name, tensor in _under("optimizer.", tensors).items():
            index, _, key = name.partition(".")
            moments.setdefault(int(index), {})[key] = tensor
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})


def _moving_average(network: VastsumNetwork, decay: float) -> AveragedModel:
    return AveragedModel(network, multi_avg_fn=get_ema_multi_avg_fn(decay))  # type: ignore[no-untyped-call]


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


class _seeded:  # noqa: N801  (reads as a with-statement)
    """Draw from torch's global generator, seeded, without a trace left behind."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.fork = torch.random.fork_rng(devices=range(torch.cuda.device_count()))

    def __enter__(self) -> None:
        self.fork.__enter__()
        torch.manual_seed(self.seed)

    def __exit__(self, *exception: Any) -> None:
        self.fork.__exit__(*exception)
