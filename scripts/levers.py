"""What else might help? The recipe with one lever each, asked of validation videos.

    python scripts/levers.py tvsum.googlenet.h5 -o studies/levers.tvsum.googlenet.json --also summe.googlenet.h5

Trains VASTSum's recipe, and beside it the recipe with one change at a time, on the training part of every split
(`tvt`), and judges the last epoch on the validation part. Test parts are not touched. A lever's difference to the
recipe is over videos, mean over seeds first; its interval is the central 95 % of a bootstrap over videos. `ensemble-n`
is the mean of the curves of n seeds of the recipe, and no training of its own.

The file is written after every lever. Run again with the same seeds and settings, it goes on with those still missing.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vastsum.data import BenchmarkVideo, Dataset, load_dataset
from vastsum.errors import ConfigError
from vastsum.evaluation.bench.rows import difference
from vastsum.evaluation.metrics import judge
from vastsum.evaluation.report import Row, VideoResult
from vastsum.files import write_json
from vastsum.scorers.batch import Batch
from vastsum.scorers.learned import Moment
from vastsum.scorers.vastsum import NetworkConfig
from vastsum.scorers.vastsum.head import HeadOutput
from vastsum.scorers.vastsum.network import SegmentLayer, VastsumNetwork
from vastsum.training import Config, load_config
from vastsum.training.loop import Member, Trainer
from vastsum.training.population import Assignment, groups
from vastsum.training.protocols import Fold, validation_folds
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import BoolArray, FloatArray, IntArray, Kind, Prediction, Segments

RECIPE = "recipe"
N_COPIES = 2  # of every training video, where a lever makes any
DROPPED = 0.2  # share of a video's segments
MIXING = 0.4  # both parameters of the Beta distribution that mix-up draws from
REACH = 16  # segments apart from which all distances are alike

Videos = tuple[BenchmarkVideo, ...]
Curves = list[FloatArray]


@dataclass(frozen=True)
class Job(Fold):
    """One training: `others` are another file's videos, for the one lever that wants them."""

    others: Videos = ()


@dataclass(frozen=True)
class Lever:
    """What is changed of the recipe: the videos it trains on, its settings, its network and losses. `kinds` are those
    of videos for which it means anything."""

    videos: Callable[[Job], Videos] = lambda job: job.training
    settings: Callable[[Config], dict[str, Any]] = lambda _: {}
    method: type[VastsumMethod] = VastsumMethod
    kinds: tuple[Kind, ...] = ("tvsum", "summe")


# ---- Copies that join the training videos


def mixed_up(video: BenchmarkVideo, training: Videos, rng: np.random.Generator) -> BenchmarkVideo:
    """Between this video and another, which is stretched to its length: nearer to this one, whose segments it has.
    A line between two videos should be one between their scores. Training reads annotations at the picks only; between
    picks, frames have those of the pick before."""
    partners = [other for other in training if other is not video and other.kind == video.kind]
    other = partners[rng.integers(len(partners))]
    share = max(drawn := rng.beta(MIXING, MIXING), 1 - drawn)
    picks, n_frames = video.segments.picks, video.segments.n_frames
    near = np.round(np.linspace(0, len(other.features) - 1, len(picks))).astype(int)
    n_people = min(len(video.annotations), len(other.annotations))
    said = share * video.annotations[:n_people] + (1 - share) * other.annotations[:n_people, near]  # (U, T)
    before = np.maximum(np.searchsorted(picks, np.arange(n_frames), side="right") - 1, 0)
    at_frames = said[:, before].astype(np.float32)
    features = (share * video.features + (1 - share) * other.features[near]).astype(np.float32)
    if video.kind == "tvsum":
        return replace(video, features=features, user_scores=at_frames, user_summaries=None)
    # Shares where there were yes and no: cross-entropy takes them as they are.
    return replace(video, features=features, user_summaries=cast(BoolArray, at_frames))


def with_dropped_segments(video: BenchmarkVideo, _: Videos, rng: np.random.Generator) -> BenchmarkVideo:
    """What a video says of its other segments should not hang on one of them."""
    n_segments = len(video.segments)
    n_kept = n_segments - round(DROPPED * n_segments)
    return recut(video, np.sort(rng.choice(n_segments, n_kept, replace=False)))


def with_reordered_segments(video: BenchmarkVideo, _: Videos, rng: np.random.Generator) -> BenchmarkVideo:
    """Importance is in what is seen rather than in when."""
    return recut(video, rng.permutation(len(video.segments)))


def recut(video: BenchmarkVideo, order: IntArray) -> BenchmarkVideo:
    """The video made of these of its segments, one after another."""
    old = video.segments
    frames = np.concatenate([np.arange(first, last + 1) for first, last in old.bounds[order]])
    pick_at = np.full(old.n_frames, -1)
    pick_at[old.picks] = np.arange(len(old.picks))
    picks = np.flatnonzero(pick_at[frames] >= 0)
    ends = np.cumsum(old.lengths[order])
    bounds = np.stack([ends - old.lengths[order], ends - 1], axis=1)
    return replace(
        video,
        features=video.features[pick_at[frames[picks]]],
        segments=Segments(bounds, picks, len(frames)),
        user_scores=None if video.user_scores is None else video.user_scores[:, frames],
        user_summaries=None if video.user_summaries is None else video.user_summaries[:, frames],
    )


def joined_by(
    copy: Callable[[BenchmarkVideo, Videos, np.random.Generator], BenchmarkVideo],
) -> Callable[[Job], Videos]:
    def videos(job: Job) -> Videos:
        rng = np.random.default_rng([job.seed, job.split])
        return (*job.training, *(copy(video, job.training, rng) for _ in range(N_COPIES) for video in job.training))

    return videos


def fewer_epochs(config: Config) -> dict[str, Any]:
    """As many steps as the recipe, with more videos an epoch; warm-ups count in epochs, and shrink alike."""
    n_times = 1 + N_COPIES
    warmups = {f"loss.{loss}_warmup": getattr(config.loss, f"{loss}_warmup") for loss in ("rank", "stability", "kl")}
    shrunk = {name: round(epochs / n_times) for name, epochs in warmups.items()}
    return shrunk | {"training.epochs": max(1, config.training.epochs // n_times)}


class JoinedMethod(VastsumMethod):
    """The closed form is fitted to the videos themselves, which come before their copies: it is not what is asked."""

    def start(self, network: nn.Module, videos: Sequence[tuple[FloatArray, FloatArray, Kind]]) -> None:
        super().start(network, videos[: len(videos) // (1 + N_COPIES)])


# ---- Other losses, networks and annotations


class AllPairsMethod(VastsumMethod):
    """The ranking loss over all pairs of a video's picks: no luck in which ones are drawn."""

    def _pairs(self, batch: Batch, moment: Moment) -> Tensor:
        pairs = [torch.triu_indices(n, n, offset=1) for n in (len(segments.picks) for segments in batch.segments)]
        most = max(own.shape[1] for own in pairs)
        # Filled up with the first pick and itself: a pair without an order, which the loss leaves out.
        return torch.stack([F.pad(own, (0, most - own.shape[1])) for own in pairs]).to(batch.mask.device)


class UnplacedNetwork(VastsumNetwork):
    """φ = 0: nothing says when a pick is."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        nn.init.zeros_(self.positions.table)
        self.positions.table.requires_grad_(False)


class UnplacedMethod(VastsumMethod):
    def build(self, feature_width: int) -> VastsumNetwork:
        return UnplacedNetwork(replace(self.config.network, feature_width=feature_width))


class RelativeLayer(SegmentLayer):
    """Attention that knows how far apart two segments are: a learned bias a head and distance, as in T5."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__(width, heads, dropout)
        self.bias = nn.Parameter(torch.zeros(heads, 2 * REACH + 1))

    def compare(self, q: Tensor, k: Tensor) -> Tensor:
        return super().compare(q, k) + self.distances(q.shape[2])

    def distances(self, n_segments: int) -> Tensor:
        """(H, M, M)"""
        place = torch.arange(n_segments, device=self.bias.device)
        return self.bias[:, (place[None, :] - place[:, None]).clamp(-REACH, REACH) + REACH]


class RelativeNetwork(UnplacedNetwork):
    def __init__(self, config: NetworkConfig) -> None:
        super().__init__(config)
        layers = (RelativeLayer(config.width, config.heads, config.dropout) for _ in range(config.layers))
        self.segment_layers = nn.ModuleList(layers)


class RelativeMethod(VastsumMethod):
    def build(self, feature_width: int) -> VastsumNetwork:
        return RelativeNetwork(replace(self.config.network, feature_width=feature_width))


class ResidualNetwork(VastsumNetwork):
    """μ is the linear path's and the network's together, in training too: the network learns what the ridge leaves."""

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor, n_segments: int | None = None) -> HeadOutput:
        output = super().forward(features, segment_ids, mask, n_segments)
        return output._replace(mu=output.mu + self.ridge(features, mask)) if self.training else output

    def scored(self, mu: Tensor, features: Tensor, mask: Tensor) -> Tensor:
        mu = (mu if self.smooth is None else self.smooth(mu, mask)) + self.ridge(features, mask)
        return mu if self.nonlocal_mean is None else self.nonlocal_mean(mu, features, mask)

    def ridge(self, features: Tensor, mask: Tensor) -> Tensor:
        assert self.linear is not None, "the method sees to it"
        predicted: Tensor = self.linear(features, mask)
        return predicted


class ResidualMethod(VastsumMethod):
    def build(self, feature_width: int) -> VastsumNetwork:
        # Any share: the path has to be there.
        network = replace(self.config.network, linear_share=0.5, kernel_share=0.0)
        return ResidualNetwork(replace(network, feature_width=feature_width))


def annotators_alike(job: Job) -> Videos:
    """Each annotator's scores of a video with the mean and spread of all: some use the whole scale and some do not, and
    ranks, by which a video is judged, do not care."""
    return tuple(replace(video, user_scores=alike(cast(FloatArray, video.user_scores))) for video in job.training)


def alike(scores: FloatArray) -> FloatArray:
    """(U, N). Whoever gave everything one score says nothing of ranks, and gets the mean."""
    spread = scores.std(axis=1, keepdims=True)
    relative = np.divide(
        scores - scores.mean(axis=1, keepdims=True), spread, out=np.zeros_like(scores), where=spread > 0
    )
    return scores.mean() + scores.std() * relative


# One quantity for both kinds of annotation, in one unit: how the default scorer is trained (scripts/train_default.py).
COMMON_SCALE = {"network.offset": 0.5, "network.temperature": 0.15}

LEVERS = {
    RECIPE: Lever(),
    "mix-up": Lever(joined_by(mixed_up), fewer_epochs, JoinedMethod),
    "drop-segments": Lever(joined_by(with_dropped_segments), fewer_epochs, JoinedMethod),
    "reorder-segments": Lever(joined_by(with_reordered_segments), fewer_epochs, JoinedMethod),
    "all-pairs": Lever(method=AllPairsMethod),
    "relative-positions": Lever(method=RelativeMethod),
    "no-positions": Lever(method=UnplacedMethod),
    "annotator-norm": Lever(annotators_alike, kinds=("tvsum",)),
    "residual": Lever(method=ResidualMethod, kinds=("tvsum",)),
    # As many epochs as the recipe, so each of the file's own videos is met as often; the other's are further steps.
    "both-datasets": Lever(lambda job: (*job.training, *job.others), lambda _: COMMON_SCALE),
}


# ---- Training and judging


def jobs_of(dataset: Dataset, n_seeds: int, others: Videos = ()) -> list[Job]:
    return [Job(**vars(fold), others=others) for fold in validation_folds(dataset, n_seeds)]


def curves_of(name: str, config: Config, jobs: Sequence[Job], device: str) -> list[Curves]:
    """The watched videos of each job, scored after the last epoch; several jobs train as one population."""
    torch.set_num_threads(1)
    lever = LEVERS[name]
    method = lever.method(config.with_settings(lever.settings(config), name))
    assignments = [Assignment(Member(lever.videos(job), job.seed), job.watched) for job in jobs]
    curves: dict[int, Curves] = {}
    for together in groups(method, assignments, len(jobs)):
        trainer = Trainer(method, [assignments[index].member for index in together], device)
        for epoch in range(method.recipe.epochs):
            trainer.train_epoch(epoch)
        scored = trainer.importance([assignments[index].watched for index in together])
        curves |= dict(zip(together, scored, strict=True))
    return [curves[index] for index in range(len(jobs))]


def trained(names: Sequence[str], config: Config, jobs: dict[str, list[Job]], device: str) -> Iterator[list[Curves]]:
    """The curves of every job of each lever, lever by lever: as one program on a GPU, two jobs at a time on CPU."""
    if device != "cpu":
        yield from (curves_of(name, config, jobs[name], device) for name in names)
        return
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [[pool.submit(curves_of, name, config, [job], device) for job in jobs[name]] for name in names]
        for own in futures:
            yield [curves for future in own for curves in future.result()]


def judged(curves: Sequence[Curves], jobs: Sequence[Job], name: str) -> Row:
    row = Row(name, "tvt", "last epoch, on validation videos")
    for own, job in zip(curves, jobs, strict=True):
        for curve, video in zip(own, job.watched, strict=True):
            tau = round(judge(Prediction.certain(curve), video, video.kind)[0], 5)
            row.results.append(VideoResult(video.name, job.split, job.seed, {"tau": tau}))
    return row


def ensembles(curves: Sequence[Curves], jobs: Sequence[Job]) -> Iterator[Row]:
    """The mean of n seeds' curves, for every n: of seeds next to each other, named by the first of them."""
    by_place = {(job.split, job.seed): own for job, own in zip(jobs, curves, strict=True)}
    n_seeds = 1 + max(job.seed for job in jobs)
    for n in range(2, n_seeds + 1):
        firsts = [job for job in jobs if job.seed + n <= n_seeds]
        means = []
        for job in firsts:
            together = [by_place[job.split, job.seed + further] for further in range(n)]
            means.append([np.mean(same, axis=0) for same in zip(*together, strict=True)])
        yield judged(means, firsts, f"ensemble-{n}")


# ---- What is written


def written(row: Row, recipe: Row) -> dict[str, Any]:
    """A row in the file: τ in the order of seeds for each video of each split, and what they come to."""
    taus: dict[str, list[float | None]] = {}
    for result in row.results:
        taus.setdefault(f"{result.split}/{result.video}", []).append(result.metrics["tau"])
    cell, n_seeds = row.summary()["tau"], row.summary()["n_seeds"]
    compared = None if row is recipe else difference(row, recipe)
    return {
        "tau": round(cell["mean"], 4),
        "std_over_seeds": round(cell["std_over_seeds"], 4) if n_seeds > 1 else None,
        "over_recipe": compared and {name: round(value, 4) for name, value in asdict(compared).items()},
        "taus": taus,
    }


def read_back(name: str, content: dict[str, Any]) -> Row:
    row = Row(name, "tvt", "last epoch, on validation videos")
    for place, taus in content["taus"].items():
        split, _, video = place.partition("/")
        row.results += [VideoResult(video, int(split), seed, {"tau": tau}) for seed, tau in enumerate(taus)]
    return row


def opened(path: Path, study: dict[str, Any]) -> dict[str, Any]:
    """The study as far as it is written; a new one where nothing is."""
    if not path.exists():
        return study | {"skipped": {}, "levers": {}}
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if any(known.get(key) != value for key, value in study.items()):
        raise ConfigError(path, "holds a study of other data, seeds or settings", "choose another place with -o")
    return known


def reason_to_skip(name: str, kind: Kind, others: Videos) -> str:
    if kind not in LEVERS[name].kinds:
        return "for scores only; these videos have summaries"
    return "" if others or name != "both-datasets" else "needs another file (--also)"


def told(name: str, content: dict[str, Any]) -> str:
    line = f"{name}: τ {content['tau']:.4f}"
    if content["std_over_seeds"] is not None:
        line += f" ± {content['std_over_seeds']:.4f}"
    if content["over_recipe"]:
        line += ", over the recipe {mean:+.4f} [{low:+.4f}, {high:+.4f}]".format(**content["over_recipe"])
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default=",".join(LEVERS), help="levers, comma-separated; the recipe is always there")
    parser.add_argument("--set", action="append", default=[], help="section.key=value, on top of the recipe")
    parser.add_argument("--also", type=Path, help="another benchmark file of the same features, for both-datasets")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    given = parser.parse_args()

    wanted = [RECIPE, *(name for name in given.only.split(",") if name != RECIPE)]
    for name in wanted:
        if name not in LEVERS:
            raise ConfigError("--only", f"'{name}' is not known", f"choose from {', '.join(LEVERS)}")
    dataset = load_dataset(given.data)
    others = tuple(load_dataset(given.also).videos.values()) if given.also else ()
    config = load_config(None, given.set, kind=dataset.kind)
    study = opened(
        given.output,
        {
            "command": f"python scripts/levers.py {given.data.name} --seeds {given.seeds}",
            "objective": "mean τ on validation videos (tvt), last epoch; test videos untouched",
            "fingerprint": dataset.fingerprint,
            "config": config.to_dict(),
        },
    )
    levers = study["levers"]
    reasons = {name: reason_to_skip(name, dataset.kind, others) for name in wanted}
    skipped = {name: reason for name, reason in reasons.items() if reason}
    missing = [name for name in wanted if name not in skipped and name not in levers]
    study["skipped"] = {name: why for name, why in (study["skipped"] | skipped).items() if name not in missing}
    if given.also:
        study["also"] = given.also.name
    write_json(given.output, study)
    for name, reason in skipped.items():
        print(f"{name}: skipped ({reason})", flush=True)
    if not missing:
        return

    jobs = {name: jobs_of(dataset, given.seeds, others if name == "both-datasets" else ()) for name in missing}
    recipe = read_back(RECIPE, levers[RECIPE]) if RECIPE in levers else None
    started = time.perf_counter()
    for name, curves in zip(missing, trained(missing, config, jobs, given.device), strict=True):
        rows = [judged(curves, jobs[name], name)]
        if name == RECIPE:
            recipe = rows[0]
            rows += ensembles(curves, jobs[name])
        assert recipe is not None, "it comes first"
        for row in rows:
            levers[row.method] = written(row, recipe)
            print(f"{told(row.method, levers[row.method])} ({time.perf_counter() - started:.0f} s)", flush=True)
        write_json(given.output, study)


if __name__ == "__main__":
    main()
