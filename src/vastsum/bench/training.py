"""Training: epochs of Adam over shuffled videos, from any epoch on, to the same bits; one network or many at once.

`train_together` is the whole of it: read it, then `Trainer.train_epoch`.

A population is the same network many times, each member with its own weights, videos and seed. Its weights lie stacked,
(K, …) for K members, and one program trains them all: a pass takes one video (or a few) of each member at a time. No
member knows of the others: all randomness is drawn from its own seed, the epoch and the video.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from vastsum.bench.batches import Shelf, VideoTensors, sent
from vastsum.bench.checkpoints import Bookmark
from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.noise import layer_keys, noise_layers
from vastsum.errors import ConfigError
from vastsum.types import FloatArray, IntArray, Prediction

GPU_ALIGNED = 8  # picks: for matrices whose rows begin anywhere, a GPU has slower products only
GPU_PICKS = 120_000  # padded picks in one pass on a GPU, over all members

LIKE_LENGTHS = 5  # videos near in length that change places from seed to seed

Weights = dict[str, Tensor]
Log = dict[str, float]
Sums = dict[str, Tensor]
"""Of what is logged, (K,) each. They stay on the device while an epoch lasts: to read one would wait for the GPU."""

Gradients = Sequence[Tensor | None]
"""Of each weight, in their order; none where a weight does not count."""

Judge = Callable[[Sequence[tuple[Prediction, BenchmarkVideo]]], Iterable[tuple[float, float]]]
"""τ and ρ of each prediction, for all at once. It may still be at work when it returns, and be waited for when they are
read."""


@dataclass(frozen=True)
class Member:
    """One training among many: what it trains on, and which videos choose its epoch."""

    videos: tuple[BenchmarkVideo, ...]
    seed: int
    watched: tuple[BenchmarkVideo, ...] = ()


@dataclass(frozen=True)
class Trained:
    """`best` is the epoch with the highest τ on the watched videos, of those to choose from; `last` the final one. They
    are the same where no videos are watched."""

    best: nn.Module
    last: nn.Module
    chosen_epoch: int
    log: list[Log]  # every epoch's losses and, where videos are watched, τ

    @property
    def watched_tau(self) -> list[float]:
        """After every epoch; nothing where no videos are watched."""
        return [row["tau"] for row in self.log if "tau" in row]


def train_together(
    method: LearnedMethod,
    members: Sequence[Member],
    judge: Judge,
    report: Callable[[float], None] = lambda _: None,
    device: str = "cpu",
    bookmark: Bookmark | None = None,
) -> list[Trained]:
    """Train all members. `report` is told after every epoch what share of all that were to be done it was: those that a
    bookmark says are done are not done again."""
    trainer = Trainer(method, members, device)
    choice = Choice(trainer)
    found = bookmark.read() if bookmark else None
    if found is not None and _fits(found[0], trainer.state() | choice.state()):
        trainer.load_state(found[0])
        choice.load_state(*found)
    epochs = range(len(choice.logs), method.recipe.epochs)
    for epoch in epochs:
        logs = trainer.train_epoch(epoch)
        choice.settle()  # the epoch before was judged while this one trained
        choice.consider(logs, judge(trainer.predictions([member.watched for member in members])))
        report(1 / len(epochs))
        if bookmark is not None and bookmark.is_due:
            choice.settle()
            bookmark.write(trainer.state() | choice.state(), choice.logs)
    choice.settle()
    return [
        Trained(trainer.network(n, choice.best), trainer.network(n), int(choice.epochs[n]), [e[n] for e in choice.logs])
        for n in range(len(members))
    ]


class Choice:
    """The best epoch of each member so far, by its τ on the watched videos; the last one where nothing is watched."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer = trainer
        self.best = trainer.snapshot()
        self.highest = np.full(len(trainer.members), -np.inf)
        self.epochs = np.zeros(len(trainer.members), int)
        self.logs: list[list[Log]] = []  # a row of every member for every epoch
        self._judged: tuple[Weights, list[Log], Iterable[tuple[float, float]]] | None = None

    def consider(self, logs: list[Log], judged: Iterable[tuple[float, float]]) -> None:
        """An epoch that has just ended; how its predictions are judged is not waited for."""
        self._judged = self._trainer.snapshot(), logs, judged

    def settle(self) -> None:
        """Wait for the judge's word on the epoch last considered, if any."""
        if self._judged is None:
            return
        weights, logs, judged = self._judged
        self._judged = None
        taus = iter([tau for tau, _ in judged])
        for member, row in zip(self._trainer.members, logs, strict=True):
            if member.watched:
                # Not np.mean, which adds up in another order: kept results are held to the last bit.
                row["tau"] = sum(next(taus) for _ in member.watched) / len(member.watched)
        _keep(self.best, weights, self._better(logs))

    def _better(self, logs: list[Log]) -> np.ndarray:
        self.logs.append(logs)
        epoch = len(self.logs)
        tau = np.array([row.get("tau", float(epoch)) for row in logs])
        better = (tau > self.highest) & self._trainer.recipe.may_choose(epoch)
        self.highest, self.epochs = np.where(better, tau, self.highest), np.where(better, epoch, self.epochs)
        return better

    def state(self) -> dict[str, Tensor]:
        return {f"best.{name}": tensor for name, tensor in self.best.items()}

    @torch.no_grad()
    def load_state(self, tensors: Mapping[str, Tensor], logs: Sequence[list[Log]]) -> None:
        for name, own in self.best.items():
            own.copy_(tensors[f"best.{name}"])
        for each in logs:
            self._better(each)


@dataclass(frozen=True, eq=False)
class _Row:
    """A video in a pass: whose it is, which of that member's, and its share in the member's loss."""

    member: int
    number: int
    video: BenchmarkVideo
    share: float

    @property
    def n_picks(self) -> int:
        return len(self.video.segments.picks)


class Trainer:
    def __init__(self, method: LearnedMethod, members: Sequence[Member], device: str = "cpu") -> None:
        if len({n_steps(method, member) for member in members}) != 1:
            raise ConfigError("population", "its members take different numbers of steps", "train them apart")
        if len(members) > 1 and not method.stack:
            raise ConfigError("population", "this method's network cannot be stacked", "train one member at a time")
        self.method, self.recipe, self.members, self.device = method, method.recipe, list(members), device
        self._picks_at_once = GPU_PICKS if device != "cpu" else 0  # on a CPU padding costs more than it saves
        self._videos: dict[int, BenchmarkVideo] = {}  # on the shelf, by identity: names may repeat over several files
        self._stock([video for member in members for video in member.videos])
        width = members[0].videos[0].features.shape[1]
        networks = [_build(method, width, member).to(device) for member in members]
        self.skeleton = networks[0]  # the program; its own weights are never read
        self._noise = noise_layers(self.skeleton)
        self.weights, self.buffers = stack_module_state(networks)  # (K, …) each
        averaged = self.weights if self.recipe.weight_average else {}
        self.average = {name: weight.detach().clone() for name, weight in averaged.items()}
        self._n_averaged = 0
        self.optimizers = {name: self._optimizer(phase.trains) for name, phase in method.phases.items()}

    def train_epoch(self, epoch: int) -> list[Log]:
        """One pass over every member's videos; the mean of every loss term for each member's log."""
        rate = learning_rate(self.recipe, epoch)
        for name, optimizer in self.optimizers.items():
            optimizer.param_groups[0]["lr"] = rate * self.method.phases[name].slowed
        sums: Sums = {}
        for rows in self._steps(epoch):
            self.skeleton.train()
            gradients: dict[str, Gradients] = {}
            found: Sums = {}
            for together in self._passes(rows):  # B videos of each member
                rngs = [np.random.default_rng([self.members[row.member].seed, epoch, row.number]) for row in together]
                keys = self._keys([int(rng.integers(2**31)) for rng in rngs])
                batch = self._batch(together)
                shares = sent(torch.tensor([row.share for row in together]), self.device)  # (KB,)
                output = self._forward(self.weights, batch, keys)
                for n, (phase, optimizer) in enumerate(self.optimizers.items(), start=1):
                    terms = self.method.losses(output, batch, Moment(epoch, rngs, phase))
                    # Members share no weight: in the sum over all, each meets the gradient of its own videos only.
                    loss = (terms["total"] * shares).sum()
                    more = n < len(self.optimizers)
                    own = torch.autograd.grad(loss, _weights_of(optimizer), retain_graph=more, allow_unused=True)
                    gradients[phase] = _added(gradients[phase], own) if phase in gradients else own
                    for name, values in terms.items():
                        _add(found, name, (values.detach() * (shares > 0).double()).view(len(self.members), -1).sum(1))
            for phase, optimizer in self.optimizers.items():
                norms = _step(optimizer, gradients[phase], self.recipe.gradient_clip)
                n_videos = sent(torch.tensor([len(own) for own in rows]), self.device)
                found[f"gradient_norm {phase}".rstrip()] = norms.double() * n_videos
            for name, values in found.items():
                _add(sums, name, values)
            self._update_average()
        n_videos_each = np.array([len(member.videos) for member in self.members])
        means = {name: (values.cpu().numpy() / n_videos_each).tolist() for name, values in sums.items()}
        logs = [{name: values[n] for name, values in means.items()} for n in range(len(self.members))]
        return [log | {"learning_rate": rate} for log in logs]

    @torch.no_grad()
    def importance(self, videos: Sequence[Sequence[BenchmarkVideo]]) -> list[list[FloatArray]]:
        """The videos of each member, scored by that member's evaluated weights."""
        self.skeleton.eval()
        rows = [[_Row(member, *given, 0.0) for given in enumerate(own)] for member, own in enumerate(videos)]
        scores: list[list[FloatArray]] = [[np.zeros(0)] * len(own) for own in videos]
        for together in self._passes(rows):
            batch = self._batch(together)
            output = self._forward(self.evaluated, batch, self._keys([0] * len(together)))
            found = self.method.importance(output, batch).double().cpu().numpy()
            for row, score in zip(together, found, strict=True):
                scores[row.member][row.number] = score[: row.n_picks]
        return scores

    def predictions(self, videos: Sequence[Sequence[BenchmarkVideo]]) -> list[tuple[Prediction, BenchmarkVideo]]:
        """The same for a judge, member after member."""
        return [
            (Prediction.certain(score, self.method.decoder), video)
            for own, scores in zip(videos, self.importance(videos), strict=True)
            for score, video in zip(scores, own, strict=True)
        ]

    # ---- weights ----

    @property
    def evaluated(self) -> Weights:
        """The weights (K, …) whose predictions count: the moving average where one is kept."""
        return self.average if self.recipe.weight_average and self._n_averaged else self.weights

    def snapshot(self) -> Weights:
        """A copy of all that predictions depend on, (K, …)."""
        return {name: tensor.detach().clone() for name, tensor in (self.evaluated | self.buffers).items()}

    def network(self, member: int = 0, snapshot: Weights | None = None) -> nn.Module:
        """A network of its own with the evaluated weights of one member, now or at the time of a snapshot."""
        tensors = self.evaluated | self.buffers if snapshot is None else snapshot
        network = deepcopy(self.skeleton)
        with torch.no_grad():
            for name, own in (*network.named_parameters(), *network.named_buffers()):
                own.copy_(tensors[name][member])
        return network.eval()

    def _optimizer(self, prefixes: tuple[str, ...]) -> torch.optim.Optimizer:
        named = self.weights.items()
        weights = [weight for name, weight in named if name.startswith(prefixes) and weight.requires_grad]
        kind = {"adamw": torch.optim.AdamW, "adam": torch.optim.Adam}[self.recipe.optimizer]
        return kind(weights, lr=self.recipe.learning_rate, weight_decay=self.recipe.weight_decay, fused=True)

    @torch.no_grad()
    def _update_average(self) -> None:
        decay = self.recipe.weight_average if self._n_averaged else 0.0
        for name, average in self.average.items():
            average.lerp_(self.weights[name], 1 - decay)
        self._n_averaged += 1

    def state(self) -> dict[str, Tensor]:
        """Everything that the next epoch depends on."""
        tensors = {f"network.{name}": tensor for name, tensor in (self.weights | self.buffers).items()}
        tensors |= {f"average.{name}": tensor for name, tensor in self.average.items()}
        for phase, optimizer in self.optimizers.items():
            for index, moments in optimizer.state_dict()["state"].items():
                tensors |= {f"optimizer.{phase}.{index}.{name}": tensor for name, tensor in moments.items()}
        return tensors

    @torch.no_grad()
    def load_state(self, tensors: Mapping[str, Tensor]) -> None:
        for own, prefix in ((self.weights | self.buffers, "network."), (self.average, "average.")):
            for name, tensor in _under(prefix, tensors).items():
                own[name].copy_(tensor)
        self._n_averaged = 1  # whatever was saved has begun
        for phase, optimizer in self.optimizers.items():
            moments: dict[int, dict[str, Any]] = {}
            for name, tensor in _under(f"optimizer.{phase}.", tensors).items():
                index, _, key = name.partition(".")
                moments.setdefault(int(index), {})[key] = tensor
            groups = optimizer.state_dict()["param_groups"]
            optimizer.load_state_dict({"state": moments, "param_groups": groups})

    # ---- passes: B videos of each member through all networks ----

    def _forward(self, weights: Weights, batch: Batch, keys: Tensor) -> Any:
        """The network's output for a batch that holds B videos of each member, one member after another."""
        n_members = len(self.members)
        inputs = self.method.inputs(batch)
        buffers = {**self.buffers, **layer_keys(self._noise, keys)}
        if n_members == 1:
            alone = {name: tensor.squeeze(0) for name, tensor in (weights | buffers).items()}
            return functional_call(self.skeleton, alone, inputs)
        stacked = [
            value.view(n_members, -1, *value.shape[1:]) if isinstance(value, Tensor) else value for value in inputs
        ]  # (K, B, …)
        in_dims = (0, *(0 if isinstance(value, Tensor) else None for value in inputs))
        output = vmap(lambda state, *given: functional_call(self.skeleton, state, given), in_dims)(
            weights | buffers, *stacked
        )
        return torch.utils._pytree.tree_map(lambda tensor: tensor.flatten(0, 1), output)

    def _keys(self, keys: list[int]) -> Tensor:
        """One a video, (K, B)."""
        return sent(torch.tensor(keys, dtype=torch.int32), self.device).view(len(self.members), -1)

    def _steps(self, epoch: int) -> Iterator[list[list[_Row]]]:
        """The videos of every member in each step."""
        size = self.recipe.batch_size
        orders = [_order(member, epoch, size if self.method.like_lengths else 1) for member in self.members]
        for first in range(0, max(map(len, orders)), size):
            numbers = [order[first : first + size].tolist() for order in orders]
            yield [
                [_Row(n, number, self.members[n].videos[number], 1.0 / len(own)) for number in own]
                for n, own in enumerate(numbers)
            ]

    def _passes(self, rows: Sequence[Sequence[_Row]]) -> Iterator[list[_Row]]:
        """B videos of each member, one member after another. Longest go first, so that videos padded together are
        alike; a member with fewer of them fills up with one that has no share."""
        ranked = [sorted(own, key=lambda row: -row.n_picks) for own in rows]
        most = max(map(len, ranked))
        for own in ranked:
            own += [replace(row, share=0.0) for row in own[-1:]] * (most - len(own))
        start = 0
        while start < most:
            longest = max(own[start].n_picks for own in ranked)
            at_once = max(1, self._picks_at_once // (len(ranked) * longest))
            yield [row for own in ranked for row in own[start : start + at_once]]
            start += at_once

    def _batch(self, rows: Sequence[_Row]) -> Batch:
        if any(id(row.video) not in self._videos for row in rows):
            self._stock([row.video for row in rows])
        places = {key: place for place, key in enumerate(self._videos)}
        return self._shelf.batch([places[id(row.video)] for row in rows])

    def _stock(self, videos: Sequence[BenchmarkVideo]) -> None:
        self._videos |= {id(video): video for video in videos}
        tensors = [VideoTensors.of(video, self.device) for video in self._videos.values()]
        self._shelf = Shelf(tensors, 1 if self.device == "cpu" else GPU_ALIGNED)


def n_steps(method: LearnedMethod, member: Member) -> int:
    """Optimiser steps an epoch: members of a population take equally many."""
    return -(-len(member.videos) // method.recipe.batch_size)


def groups(method: LearnedMethod, members: Sequence[Member], at_most: int) -> Iterator[list[int]]:
    """Which members train together: those that take equally many steps, `at_most` at a time."""
    by_steps: dict[int, list[int]] = {}
    for index, member in enumerate(members):
        by_steps.setdefault(n_steps(method, member), []).append(index)
    size = at_most if method.stack else 1
    for together in by_steps.values():
        yield from (together[first : first + size] for first in range(0, len(together), size))


def learning_rate(recipe: Recipe, epoch: int) -> float:
    """cosine: down to 0 over all epochs; constant: never down."""
    done = epoch / recipe.epochs if recipe.schedule == "cosine" else 0.0
    return recipe.learning_rate * 0.5 * (1 + float(np.cos(np.pi * done)))


def free_memory() -> None:
    """Hand back what nobody needs of a GPU's memory any more."""
    if torch.cuda.is_available():
        gc.collect()
        torch.cuda.empty_cache()


def _order(member: Member, epoch: int, together: int = 1) -> IntArray:
    """The order of a member's videos in an epoch. Ranks of length are shuffled alike for all members, so that they meet
    videos of like length in a step and little is padded; neighbours in rank change places by the member's own seed. A
    number of neighbours may stay together, for a step to take; the longest, if they are fewer, come last."""
    n_videos = len(member.videos)
    by_length = np.argsort([len(video.segments.picks) for video in member.videos], kind="stable")
    own = np.random.default_rng([member.seed, epoch])
    for first in range(0, n_videos, LIKE_LENGTHS):
        own.shuffle(by_length[first : first + LIKE_LENGTHS])
    n_whole = n_videos // together
    shuffled = np.random.default_rng([epoch, n_videos]).permutation(n_whole)
    whole, rest = np.split(by_length, [n_whole * together])
    return np.concatenate([whole.reshape(n_whole, together)[shuffled].ravel(), rest])


def _build(method: LearnedMethod, feature_width: int, member: Member) -> nn.Module:
    """Fresh weights, drawn from torch's global generator without a trace left behind."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(member.seed)
        network = method.build(feature_width)
    method.start(network, [(video.features, video.annotations, video.kind) for video in member.videos])
    return network


def _step(optimizer: torch.optim.Optimizer, gradients: Gradients, clip: float) -> Tensor:
    """One step by these gradients, each member's clipped; their norms (K,) before."""
    weights = _weights_of(optimizer)
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = None if gradient is None else gradient.contiguous()  # as weights are: Adam goes by that
    norms = _clip_each(weights, clip)
    optimizer.step()
    return norms


def _weights_of(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    weights: list[Tensor] = optimizer.param_groups[0]["params"]
    return weights


@torch.no_grad()
def _clip_each(weights: Sequence[Tensor], limit: float) -> Tensor:
    """Clip the norm of each member's gradient (K, …); the norms before."""
    if len(weights[0]) == 1:  # torch's own is a few kernels for all weights
        return nn.utils.clip_grad_norm_(weights, limit).view(1)
    gradients = [weight.grad for weight in weights if weight.grad is not None]
    each = [torch.linalg.vector_norm(gradient, dim=tuple(range(1, gradient.dim()))) for gradient in gradients]
    norms = torch.linalg.vector_norm(torch.stack(each), dim=0)  # (K,)
    scale = (limit / (norms + 1e-6)).clamp(max=1.0)
    torch._foreach_mul_(gradients, [scale.view(-1, *[1] * (gradient.dim() - 1)) for gradient in gradients])
    return norms


@torch.no_grad()
def _keep(best: Weights, now: Weights, better: np.ndarray) -> None:
    """Take over what is now for the members who have become better."""
    members = torch.from_numpy(np.flatnonzero(better))
    for name, tensor in best.items():
        where = members.to(tensor.device)
        tensor[where] = now[name][where]


def _fits(tensors: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> bool:
    """Whether they are of such a network: somebody may have changed it meanwhile. Fresh optimisers hold nothing."""
    own = {name: tensor.shape for name, tensor in tensors.items() if not name.startswith("optimizer.")}
    return own == {name: tensor.shape for name, tensor in fresh.items()}


def _add(sums: Sums, name: str, values: Tensor) -> None:
    sums[name] = sums[name] + values if name in sums else values.clone()


def _added(a: Gradients, b: Gradients) -> Gradients:
    return [y if x is None else x if y is None else x + y for x, y in zip(a, b, strict=True)]


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
