"""Where is the gap? What a bench already holds, read video by video, epoch by epoch and curve by curve.

    python scripts/gap.py bench tvsum.googlenet.h5 -o gap.tvsum.json

Reads the trainings of a network and of another method from a bench folder (`vastsum benchmark … -o bench`). It trains
no network, and nothing is chosen by it: test videos (`tvt`) are looked at, means are over videos, [from, to] is the
central 95 % of a bootstrap over videos. Curves are those of the first seed. Prints Markdown; the JSON is not rounded.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage, stats

from vastsum.data import BenchmarkVideo, load_dataset, load_splits
from vastsum.errors import ConfigError
from vastsum.evaluation.bench.plan import Benchmark, Plan, Regime
from vastsum.evaluation.bench.rows import by_video, interval, method_rows
from vastsum.evaluation.bench.tables import Table
from vastsum.evaluation.metrics import judge, rank_correlations, summary_correlations
from vastsum.evaluation.report import Row
from vastsum.files import write_json
from vastsum.scorers.ridge import RidgeScorer
from vastsum.selection import knapsack, segment_values, select, summary_mask
from vastsum.types import FloatArray, IntArray, Kind, Prediction

SMOOTHINGS = (0, 1, 2, 4, 8)  # picks
SMOOTHED_BY = 2  # picks; what validation videos chose for `vastsum` (studies/beyond.tvsum.googlenet.json)
N_SHUFFLES = 20
N_EXTREMES = 5


@dataclass(frozen=True)
class Finding:
    """A table with its numbers unrounded. The first column names the row."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    note: str = ""

    def markdown(self) -> str:
        cells = tuple(tuple(map(shown, row)) for row in self.rows)
        return Table(self.name, self.title, self.columns, cells, (self.note,) if self.note else ()).markdown()


def shown(cell: str | float) -> str:
    """Three decimals, and one more for the smallest."""
    if not isinstance(cell, float):
        return str(cell)
    return f"{cell:.{4 if abs(cell) < 0.01 else 3}f}".replace("-", "−")


@dataclass(frozen=True, eq=False)
class Study:
    """Two methods on one file of a bench, and the rows to read them beside."""

    plan: Plan
    benchmark: Benchmark
    rows: dict[str, Row]  # network, other, random, human, ceiling
    titles: tuple[str, str]

    @property
    def kind(self) -> Kind:
        return self.benchmark.dataset.kind

    @property
    def videos(self) -> list[BenchmarkVideo]:
        """The test videos of all splits; each is tested in one."""
        return [self.benchmark.dataset.videos[name] for _, name in sorted(by_video(self.rows["network"]))]

    def taus(self, row: str) -> FloatArray:
        """Mean over seeds, in the order of `videos`."""
        found = by_video(self.rows[row])
        return np.array([found[key] for key in sorted(by_video(self.rows["network"]))])

    def curves(self, row: str) -> list[FloatArray]:
        """What the first seed predicted, in the order of `videos`."""
        kept = {r.video: r.prediction.mean for r in self.rows[row].results if r.prediction is not None}
        return [kept[video.name] for video in self.videos]

    def judged(self, curves: Iterable[FloatArray]) -> FloatArray:
        predicted = zip(map(Prediction.certain, curves), self.videos, strict=True)
        return np.array([judge(prediction, video, self.kind)[0] for prediction, video in predicted])

    def watched(self, regime: Regime) -> FloatArray:
        """τ of the network on the watched videos after each epoch: (splits, seeds, epochs)."""
        tasks = [task for task in self.plan.tasks(self.benchmark, self.plan.methods[0]) if task.regime == regime]
        tau = {(task.split, task.seed): (self.plan.result(task) or {})["watched_tau"] for task in tasks}
        return np.array(
            [[tau[k, s] for s in range(self.plan.n_seeds)] for k in range(len(self.benchmark.splits.splits))]
        )


def open_study(folder: Path, data: Path, methods: tuple[str, str], n_seeds: int) -> Study:
    dataset = load_dataset(data)
    benchmark = Benchmark(dataset, load_splits(dataset))
    plan = Plan(folder, (benchmark,), methods, ("5fcv", "tvt", "last"), n_seeds, None)
    rows = {row.name: row for row in method_rows(plan, benchmark)}
    for method in methods:
        if rows[method].missing:
            raise ConfigError(folder, f"{method} on {data.name}: {rows[method].missing}", "finish the bench first")
    names = {"network": methods[0], "other": methods[1], "ceiling": "mean-annotator", "random": "random"}
    found = {name: rows[row].rows["tvt"] for name, row in (names | {"human": "human"}).items()}
    return Study(plan, benchmark, found, (rows[methods[0]].title, rows[methods[1]].title))


def spread(values: FloatArray) -> tuple[float, float, float]:
    found = interval(list(values))
    return found.mean, found.low, found.high


# ---- 1. How much is noise


def components(by_split: Sequence[FloatArray]) -> dict[str, float]:
    """Variances of one video's τ after one training, by analysis of variance: videos crossed with seeds within splits,
    a (videos, seeds) array a split. A training may move all its test videos alike, and each by itself."""
    squares, freedom = np.zeros(3), np.zeros(3)
    for y in by_split:
        n, s = y.shape
        video, training = y.mean(axis=1, keepdims=True) - y.mean(), y.mean(axis=0, keepdims=True) - y.mean()
        squares += [s * (video**2).sum(), n * (training**2).sum(), ((y - y.mean() - video - training) ** 2).sum()]
        freedom += [n - 1, s - 1, (n - 1) * (s - 1)]
    of_videos, of_trainings, each = squares / freedom
    n_videos, n_seeds = float(np.mean([len(y) for y in by_split])), by_split[0].shape[1]
    video, training = max(0.0, (of_videos - each) / n_seeds), max(0.0, (of_trainings - each) / n_videos)
    within = video / n_videos + training / n_seeds + each / (n_videos * n_seeds)  # of a split's mean
    split = max(0.0, float(np.var([y.mean() for y in by_split], ddof=1)) - within)
    return {"split": split, "video": video, "training": training, "training on each video": each}


def noise(study: Study) -> Finding:
    tau = {(r.split, r.video, r.seed): r.metrics["tau"] for r in study.rows["network"].results}
    videos = {split: sorted({v for k, v, _ in tau if k == split}) for split in sorted({k for k, _, _ in tau})}
    seeds = range(study.plan.n_seeds)
    by_split = [np.array([[tau[k, v, s] for s in seeds] for v in own], float) for k, own in videos.items()]
    found = components(by_split)
    n_splits, n_videos = len(by_split), sum(map(len, by_split))
    n_met = np.array([n_splits, n_videos, n_splits, n_videos])  # how many of each a mean with one seed is over
    variances = np.array(list(found.values()))
    table = np.stack([variances, variances / n_met, variances / n_met / [1, 1, len(seeds), len(seeds)]])
    rows = [
        (name, *np.sqrt(column), share)
        for name, column, share in zip(found, table.T, variances / variances.sum(), strict=True)
    ]
    columns = ("τ varies with the", "sd", "in a mean, one seed", f"in a mean, {len(seeds)} seeds", "share of variance")
    by_chance = (found["video"] * n_splits / n_videos) ** 0.5
    seed_means = ", ".join(f"{mean:.4f}" for mean in np.concatenate(by_split).mean(axis=0))
    note = (
        f"sd of the splits' means: {np.std([y.mean() for y in by_split], ddof=1):.3f}, other videos alone would give "
    )
    note += f"{by_chance:.3f}; means of the seeds: {seed_means}"
    return Finding("noise", "Where τ varies", columns, [*rows, ("all", *np.sqrt(table.sum(axis=1)), 1.0)], note)


def resolution(study: Study) -> Finding:
    """What such a benchmark can show: half the 95 % interval."""
    network, (title, other) = study.taus("network"), study.titles
    compared = {title: network, f"… − {other}": network - study.taus("other")}
    if study.kind == "summe":
        compared |= {"… − lengths only": network - lengths_only(study), "… − random": network - study.taus("random")}
    rows = []
    for name, values in compared.items():
        (mean, low, high), sd = spread(values), float(values.std(ddof=1))
        rows.append((name, mean, low, high, sd, (high - low) / 2, *(round((1.96 * sd / d) ** 2) for d in (0.01, 0.02))))
    columns = ("τ", "mean", "from", "to", "sd over videos", "can be told", "videos for ± 0.01", "videos for ± 0.02")
    return Finding("resolution", f"What {len(network)} videos can show", columns, rows)


def gain_by_chance(n_epochs: int, correlation: float, n_series: int = 4000) -> float:
    """How far the best of `n_epochs` lies above their mean, in their standard deviations, where they are noise with a
    `correlation` from one epoch to the next and nothing else."""
    steps = np.random.default_rng(0).standard_normal((n_epochs, n_series))
    series = steps.copy()
    for epoch in range(1, n_epochs):
        series[epoch] = correlation * series[epoch - 1] + (1 - correlation**2) ** 0.5 * steps[epoch]
    return float(((series.max(axis=0) - series.mean(axis=0)) / series.std(axis=0, ddof=1)).mean())


def carried_gain(curves: FloatArray, late_mean: FloatArray, *, same_split: bool) -> float:
    """What each training's best epoch gains when another training takes it: a seed of its split, or another split."""
    best, shape = curves.argmax(axis=2), curves.shape[:2]
    pairs = [(one, two) for one in np.ndindex(shape) for two in np.ndindex(shape) if one != two]
    gains = [curves[two][best[one]] - late_mean[two] for one, two in pairs if (one[0] == two[0]) == same_split]
    return float(np.mean(gains))


def epochs(study: Study) -> Finding:
    rows = []
    meaning: dict[Regime, str] = {"tvt": "validation", "whole": "test (5fcv)"}
    for regime, watched in meaning.items():
        curves = study.watched(regime)
        late = curves[:, :, curves.shape[2] // 2 :]
        mean, sd = late.mean(axis=2), float(late.std(axis=2, ddof=1).mean())
        centred = late - mean[:, :, None]
        following = (centred[:, :, 1:] * centred[:, :, :-1]).sum() / max((centred[:, :, :-1] ** 2).sum(), 1e-12)
        chance = sd * gain_by_chance(late.shape[2], float(np.clip(following, 0, 0.99)))
        gains = [(best.max(axis=2) - mean).mean() for best in (curves, late)]
        carried = [carried_gain(curves, mean, same_split=same) for same in (True, False)]
        rows.append((watched, mean.mean(), np.abs(np.diff(late)).mean(), sd, gains[0], *carried, gains[1], chance))
    columns = ("watched", "late mean", "swing", "sd", "gain of the best epoch", "… at other seeds", "… at other splits",
               "gain of the best late epoch", "… by chance")  # fmt: skip
    note = f"late: the second half of {curves.shape[2]} epochs; gains are over its mean; swing: from epoch to epoch"
    return Finding("epochs", "What choosing an epoch buys", columns, rows, note)


def learning(study: Study) -> Finding:
    validation, test = study.watched("tvt"), study.watched("whole")
    n_epochs = test.shape[2]
    asked = [epoch for epoch in (1, 2, 3, 5, 10, 15, 20, 30) if epoch < n_epochs]
    found = [[curves[:, :, e - 1] for curves in (validation, test)] for e in (*asked, n_epochs)]  # (splits, seeds)
    rows = [
        (str(e), *(number for tau in pair for number in (tau.mean(), tau.std(axis=1, ddof=1).mean())))
        for e, pair in zip((*asked, n_epochs), found, strict=True)
    ]
    columns = ("epoch", "validation", "sd over seeds, one split", "test (5fcv)", "sd over seeds, one split")
    return Finding("learning", "Learning curves", columns, rows)


def more_videos(study: Study) -> Finding:
    """A ridge with nothing to choose, for more and more of a split's training videos."""
    splits = study.benchmark.splits.splits
    videos, n_most = study.benchmark.dataset.videos, min(len(split.train) for split in splits)
    taus = {}
    for n in (n_most // 4, n_most // 2, 3 * n_most // 4, n_most):
        curves: dict[str, FloatArray] = {}
        for split in splits:
            train = np.random.default_rng(0).permutation(split.train)[:n]
            ridge = RidgeScorer.fit((videos[name].features, videos[name].annotations) for name in train)
            curves |= {name: ridge.predict(videos[name].features, videos[name].segments).mean for name in split.test}
        taus[n] = study.judged(curves[video.name] for video in study.videos)
    rows = [(str(n), tau.mean(), *spread(taus[n_most] - tau)) for n, tau in taus.items()]
    columns = ("videos", "τ", f"{n_most} videos are higher by", "from", "to")
    return Finding("data", "A ridge (λ = 100, smoothed by 4 picks) by training videos", columns, rows)


# ---- 2. Video by video


def per_video(study: Study) -> list[Finding]:
    tau = np.stack([study.taus(row) for row in ("network", "other", "human", "ceiling")], axis=1)  # (videos, 4)
    network, other, human, _ = tau.T
    videos = study.videos
    rows = [(f"{v.name} {v.title}", v.category, *t, t[0] / t[3]) for v, t in zip(videos, tau, strict=True)]
    columns = ("video", "category", *study.titles, "one person", "mean annotator", "share reached")
    worst, apart = np.argsort(network)[:N_EXTREMES], np.argsort(network - other)
    lifted = network.copy()
    lifted[worst] = human[worst]
    as_one = f"with one person's τ on these, the mean would be {lifted.mean():.3f} instead of {network.mean():.3f}"
    above = f"{study.titles[0]} is above one person on {(network > human).sum()} of {len(videos)} videos"
    beside = {study.titles[1]: other, "one person": human, "mean annotator": tau[:, 3]}
    beside["number of picks"] = np.array([len(video.segments.picks) for video in videos], float)
    alike = [(name, stats.pearsonr(network, x)[0], stats.spearmanr(network, x)[0]) for name, x in beside.items()]
    members = {c: [video.category == c for video in videos] for c in sorted({v.category for v in videos} - {""})}
    members["all"] = [True] * len(videos)
    means = {category: tau[own].mean(axis=0) for category, own in members.items()}
    categories = [(c, *mean, mean[0] - mean[1], mean[0] / mean[3]) for c, mean in means.items()]
    return [
        Finding("videos", "Every video", columns, rows),
        Finding("worst", "The worst videos", columns, [rows[n] for n in worst], as_one),
        Finding("apart", "Where the two differ most", columns, [rows[n] for n in (*apart[:3], *apart[-3:])]),
        Finding("alike", "τ over videos, correlated with that of", ("", "Pearson", "Spearman"), alike, above),
        Finding("categories", "By category", ("category", *columns[2:-1], "difference", "share reached"), categories),
    ]


# ---- 3. Curve by curve


def together(study: Study) -> Finding:
    network, other = study.curves("network"), study.curves("other")
    smooth = [smoothed(curve, SMOOTHED_BY) for curve in network]
    ranks, smooth_ranks = (
        [(stats.rankdata(a), stats.rankdata(b)) for a, b in zip(curves, other, strict=True)]
        for curves in (network, smooth)
    )
    one, two, three = (study.judged(curves) for curves in (network, other, smooth))
    both, both_smooth = (study.judged(a + b for a, b in pairs) for pairs in (ranks, smooth_ranks))
    better = np.maximum(one, two)
    network_is, other_is = study.titles
    found = {network_is: one, other_is: two, "average of their ranks": both, "the better, known afterwards": better}
    found |= {f"average − {network_is}": both - one, f"average − {other_is}": both - two}
    found |= {f"{network_is}, smoothed by {SMOOTHED_BY} picks": three, f"smoothed − {other_is}": three - two}
    found |= {"average of ranks, smoothed": both_smooth, "average, smoothed − smoothed": both_smooth - three}
    if study.kind == "tvsum":  # scored as it is, with no knapsack that needs values above zero
        found[f"left of {network_is}"] = study.judged(left_of(a, b) for a, b in ranks)
        found[f"left of {other_is}"] = study.judged(left_of(b, a) for a, b in ranks)
    alike = np.mean([np.corrcoef(a, b)[0, 1] for a, b in ranks])
    recorded = [
        np.mean([r.metrics["tau"] for r in study.rows[row].results if r.seed == 0]) for row in ("network", "other")
    ]
    note = f"Spearman of the two curves: {alike:.3f}; the average is above both on {(both > better).sum()} videos; "
    note += f"as recorded, from curves that were not rounded: {recorded[0]:.3f}, {recorded[1]:.3f}"
    rows = [(name, *spread(values)) for name, values in found.items()]
    return Finding("together", "The two curves together", ("τ, first seed", "mean", "from", "to"), rows, note)


def smoothing(study: Study) -> list[Finding]:
    people = [video.annotations.mean(axis=0).astype(float) for video in study.videos]
    curves = {
        study.titles[0]: study.curves("network"),
        study.titles[1]: study.curves("other"),
        "mean annotator": people,
    }
    tau, taken = [], []
    for name, own in curves.items():
        smooth = [[smoothed(curve, width) for curve in own] for width in SMOOTHINGS]
        left = [np.mean([s.var() / c.var() for s, c in zip(some, own, strict=True)]) for some in smooth]
        tau.append((name, *(study.judged(some).mean() for some in smooth)))
        taken.append((name, *(1 - share for share in left)))
    columns = ("smoothed by, picks", *map(str, SMOOTHINGS))
    return [
        Finding("smooth", "τ after smoothing", columns, tau),
        Finding("rough", "Share of a curve's variance that smoothing takes", columns, taken),
    ]


def smoothed(curve: FloatArray, width: float) -> FloatArray:
    return np.asarray(ndimage.gaussian_filter1d(curve, width)) if width else curve


def left_of(one: FloatArray, other: FloatArray) -> FloatArray:
    """What one curve says that the other does not: the part of its ranks that a regression on the other's leaves."""
    return np.asarray(one - stats.linregress(other, one).slope * other)


# ---- 4. SumMe: what lengths alone do


def lengths_only(study: Study) -> FloatArray:
    return study.judged(np.ones(len(video.segments.picks)) for video in study.videos)


def lengths(study: Study) -> list[Finding]:
    rng, curves = np.random.default_rng(0), study.curves("network")
    random, constant, ceiling = study.taus("random"), lengths_only(study), study.taus("ceiling")
    network, first = study.taus("network"), study.judged(curves)
    rows = []
    for n, (video, curve) in enumerate(zip(study.videos, curves, strict=True)):
        size = video.segments.lengths
        own, flat = (select(Prediction(c, np.zeros_like(c)), video.segments) for c in (curve, np.ones_like(curve)))
        dealt = rng.permuted(np.tile(own.values, (N_SHUFFLES, 1)), axis=1)
        shuffled = np.mean([_tau(chosen, video) for chosen in knapsack(dealt, size, own.budget_frames)])
        shared = size[own.chosen & flat.chosen].sum() / size[own.chosen | flat.chosen].sum()
        taus = (random[n], constant[n], network[n], first[n], shuffled, ceiling[n], best_tau(video))
        relative = size[own.chosen].mean() / size.mean()
        rows.append((video.name, *taus, len(size), int(own.chosen.sum()), relative, shared))
    columns = ("random", "lengths only", study.titles[0], "first seed", "… shuffled", "mean annotator", "best segments",
               "segments", "chosen", "their length over the mean", "Jaccard with lengths only")  # fmt: skip
    rows.append(("mean", *(np.mean(column) for column in list(zip(*rows, strict=True))[1:])))
    explained = np.corrcoef(network, constant)[0, 1] ** 2
    note = f"over videos, τ of lengths only explains {explained:.2f} of the variance of τ of {study.titles[0]}"
    dealt_out = np.array([row[5] for row in rows[:-1]])
    content = {"first seed − shuffled": first - dealt_out, "first seed − lengths only": first - constant}
    left = [(name, *spread(values)) for name, values in content.items()]
    return [
        Finding("lengths", "What lengths alone do", ("video", *columns), rows, note),
        Finding("content", "What is left for content", ("τ", "mean", "from", "to"), left),
        contrast(study),
    ]


def contrast(study: Study) -> Finding:
    """The knapsack adds up means: the higher the level of a curve over its spread, the more it counts segments, and the
    less it weighs what they show. A level that all segments share is no information, but decides which are chosen."""
    network, videos = study.curves("network"), study.videos
    people = [video.annotations.mean(axis=0).astype(float) for video in videos]
    flat = [at_level_of(c, n, video) for c, n, video in zip(people, network, videos, strict=True)]
    named = {study.titles[0]: network, study.titles[1]: study.curves("other"), "mean annotator": people}
    named[f"mean annotator, at {study.titles[0]}'s level and spread"] = flat
    rows = []
    for name, curves in named.items():
        values = [segment_values(curve, video.segments) for curve, video in zip(curves, videos, strict=True)]
        lower = [[c - down(v) for c, v in zip(curves, values, strict=True)] for down in (np.min, np.mean)]
        taus = [study.judged(some).mean() for some in (curves, *lower)]
        rows.append((name, np.median([v.std() / v.mean() for v in values]), *taus))
    columns = ("curve, first seed", "spread over level of segments", "τ", "less its lowest segment", "less its mean")
    return Finding("contrast", "What a curve's level does", columns, rows)


def at_level_of(curve: FloatArray, model: FloatArray, video: BenchmarkVideo) -> FloatArray:
    """A curve whose segments have the mean and the standard deviation of another's."""
    own, wanted = (segment_values(c, video.segments) for c in (curve, model))
    return np.asarray((curve - own.mean()) * (wanted.std() / own.std()) + wanted.mean())


def _tau(chosen: Any, video: BenchmarkVideo) -> float:
    return summary_correlations(summary_mask(chosen, video.segments), video)[0]


def best_tau(video: BenchmarkVideo) -> float:
    """τ of the segments whose frames rank highest with people: about the most that any prediction could reach."""
    assert video.user_summaries is not None
    ranks = stats.rankdata(video.user_summaries.mean(axis=0))
    worth = np.add.reduceat(ranks - ranks.mean(), video.segments.bounds[:, 0])
    return _tau(knapsack(worth, video.segments.lengths, int(0.15 * video.segments.n_frames)), video)


# ---- 5. TVSum: how noisy people are


def people(study: Study) -> list[Finding]:
    n_people = min(len(video.annotations) for video in study.videos)
    sizes = [m for m in (1, 2, 3, 5, 8, 12, 16, 19) if m < n_people]
    tau = [float(np.mean([judged_by_others(video.annotations, m) for video in study.videos])) for m in sizes]
    rows = [
        *zip(map(str, sizes), tau, strict=True),
        (f"all {n_people}, judged by themselves", study.taus("ceiling").mean()),
    ]
    ours = {title: study.taus(row).mean() for title, row in zip(study.titles, ("network", "other"), strict=True)}
    worth = "; ".join(f"{title} ({t:.3f}) is worth {np.interp(t, tau, sizes):.1f} people" for title, t in ours.items())
    shares = np.mean([variance_shares(video.annotations) for video in study.videos], axis=0)
    names = ("a person's own level", "what all agree on at a pick", "the rest")
    left = (
        f"a perfect mean leaves {shares[2] / shares[1:].sum():.3f} of the variance that ranks can see (without levels)"
    )
    columns = ("people averaged", "τ for a person left out")
    return [
        Finding("people", "How well some people rank for another", columns, rows, worth),
        Finding("shares", "Whose variance it is", ("", "share"), [*zip(names, shares, strict=True)], left),
    ]


def judged_by_others(annotations: FloatArray, m: int) -> float:
    """Mean τ of m people's mean with each of the others; everyone's turn comes equally often."""
    order: IntArray = np.random.default_rng(0).permutation(len(annotations))
    turns = (annotations[np.roll(order, turn)] for turn in range(len(order)))
    return float(np.mean([rank_correlations(turn[:m].mean(axis=0), turn[m:])[0] for turn in turns]))


def variance_shares(annotations: FloatArray) -> FloatArray:
    """Components of what people say at picks, as shares: people, picks, the rest; unbiased."""
    y = annotations.astype(np.float64)
    n_people, n_picks = y.shape
    person, pick = y.mean(axis=1, keepdims=True), y.mean(axis=0, keepdims=True)
    rest = ((y - person - pick + y.mean()) ** 2).sum() / ((n_people - 1) * (n_picks - 1))
    found = np.maximum([person.var(ddof=1) - rest / n_picks, pick.var(ddof=1) - rest / n_people, rest], 0.0)
    return np.asarray(found / found.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path, help="a folder that 'vastsum benchmark … -o' has written")
    parser.add_argument("data", type=Path, help="the benchmark file, named as in the bench")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--methods", nargs=2, default=("vastsum-paper", "ridge"), metavar=("NETWORK", "OTHER"))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()

    study = open_study(given.bench, given.data, tuple(given.methods), given.seeds)
    findings = [noise(study), resolution(study), epochs(study), learning(study), more_videos(study), *per_video(study)]
    findings += [together(study), *smoothing(study), *(people(study) if study.kind == "tvsum" else lengths(study))]
    print("\n".join(finding.markdown() for finding in findings if finding.name != "videos"))
    command = f"python scripts/gap.py bench {given.data.name} --methods {' '.join(given.methods)} --seeds {given.seeds}"
    write_json(given.output, {"command": command, "findings": [asdict(finding) for finding in findings]})


if __name__ == "__main__":
    main()
