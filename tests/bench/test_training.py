"""Training learns, repeats to the bit, resumes as if nothing had happened; alone or many as one program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from vastsum.bench import training as loop
from vastsum.bench.batches import Shelf, VideoTensors, pad
from vastsum.bench.checkpoints import Bookmark
from vastsum.bench.data import BenchmarkVideo, Dataset
from vastsum.bench.measures import agreement, judge
from vastsum.bench.methods.csta import Csta
from vastsum.bench.methods.learned import LearnedMethod, Moment
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.sum_gan import SumGan
from vastsum.bench.methods.vastsum import Config, VastsumMethod, pool_scores
from vastsum.bench.training import Member, Trained, Trainer, _order, learning_rate, train_together
from vastsum.errors import ConfigError
from vastsum.types import FloatArray

QUICK = load_config(None, ["network.width=16", "network.heads=2", "network.layers=1", "network.head_width=16",
                           "network.positions=64", "training.batch_size=3", "loss.rank_pairs=64",
                           "loss.stability_warmup=1", "training.weight_average=0.5"])  # fmt: skip
LEARNING = load_config(None, ["network.width=32", "network.heads=4", "network.layers=1", "network.dropout=0.1",
                              "network.input_dropout=0.2", "training.epochs=25", "training.learning_rate=0.003",
                              "training.batch_size=4"], ablation="paper")  # fmt: skip
EPOCHS = 4


def members(dataset: Dataset, count: int) -> list[Member]:
    """Seeds and training videos of their own; the last has fewer videos, but as many steps."""
    videos = list(dataset.videos.values())
    parts = [tuple(videos[n : n + 6]) for n in range(count - 1)]
    return [Member(part, seed) for seed, part in enumerate([*parts, tuple(videos[:5])])]


def trained(config: Config, population: list[Member]) -> tuple[Trainer, list[list[dict[str, float]]]]:
    torch.set_num_threads(1)
    trainer = Trainer(VastsumMethod(config), population)
    return trainer, [trainer.train_epoch(epoch) for epoch in range(EPOCHS)]


@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_a_population_gives_the_numbers_of_separate_training(kind: str, tvsum: Dataset, summe: Dataset) -> None:
    dataset = {"tvsum": tvsum, "summe": summe}[kind]
    population = members(dataset, 4)
    together, logs = trained(QUICK, population)
    watched: list[BenchmarkVideo] = list(dataset.videos.values())[-4:]
    scores = together.importance([watched[n:] for n in range(4)])  # unequally many for each
    for n, member in enumerate(population):
        alone, own_logs = trained(QUICK, [member])
        for epoch in range(EPOCHS):
            assert logs[epoch][n] == pytest.approx(own_logs[epoch][0], rel=1e-4, abs=1e-4)
        for score, video in zip(scores[n], watched[n:], strict=True):
            np.testing.assert_allclose(score, alone.importance([[video]])[0][0], atol=1e-4)
        mine, theirs = together.network(n).state_dict(), alone.network().state_dict()
        for name in mine:
            np.testing.assert_allclose(mine[name], theirs[name], atol=1e-4, err_msg=name)


def test_padded_for_a_gpu_it_learns_the_same(tvsum: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    population = members(tvsum, 3)
    expected, expected_logs = trained(QUICK, population)
    monkeypatch.setattr(loop, "Shelf", lambda videos, _: Shelf(videos, loop.GPU_ALIGNED))
    found, logs = trained(QUICK, population)
    unpadded, padded = (
        trainer._batch(next(trainer._passes(next(trainer._steps(0))))).mask.shape[1] for trainer in (expected, found)
    )
    assert unpadded % loop.GPU_ALIGNED, "there is something to align"
    assert padded == -(-unpadded // loop.GPU_ALIGNED) * loop.GPU_ALIGNED
    for log, expected_log in zip(logs, expected_logs, strict=True):
        for own, expected_own in zip(log, expected_log, strict=True):
            assert own == pytest.approx(expected_own, rel=1e-4, abs=1e-4)
    for name, weight in expected.weights.items():
        torch.testing.assert_close(found.weights[name], weight, rtol=1e-3, atol=1e-4)


def test_an_epoch_is_chosen_once_its_time_has_come(tvsum: Dataset) -> None:
    *training, watched = tvsum.videos.values()
    settings = {"training.epochs": EPOCHS, "training.chosen_after": 0.5, "training.weight_average": 0.0}
    falling = iter(np.linspace(1, 0, EPOCHS))
    (outcome,) = train_together(
        VastsumMethod(QUICK.with_settings(settings, "test")),
        [Member(tuple(training[:6]), 0, (watched,))],
        lambda _: [(next(falling), 0.0)],
    )
    assert outcome.chosen_epoch == EPOCHS // 2 + 1
    first, last = (network.state_dict()["project.weight"] for network in (outcome.best, outcome.last))
    assert not torch.equal(first, last)


def judged(predicted: Sequence[tuple[FloatArray, BenchmarkVideo]]) -> list[tuple[float, float]]:
    return [judge(scores, video, video.kind) for scores, video in predicted]


@pytest.mark.parametrize(
    "method", [VastsumMethod(QUICK), SumGan(), Csta(thinner=16)], ids=lambda method: type(method).__name__
)
def test_what_is_resumed_is_what_it_would_have_been(
    method: LearnedMethod, tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Averaged weights, several optimisers and statistics of batches are part of where a training is."""
    monkeypatch.setattr("vastsum.bench.checkpoints.BOOKMARK_EVERY_S", 0.0)
    method = method.with_recipe(epochs=3)
    short = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))[:3]
    member = Member(tuple(short[:2]), 1, tuple(short[2:]))

    def outcome(report: Callable[[float], None]) -> Trained:
        bookmark = Bookmark(tmp_path / "bookmark", {"seed": 1})
        return train_together(method, [member], judged, report, bookmark=bookmark)[0]

    whole = outcome(lambda _: None)
    (tmp_path / "bookmark").unlink()
    shares: list[float] = []

    def killed_in_the_second(share: float) -> None:
        shares.append(share)
        if len(shares) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        outcome(killed_in_the_second)
    resumed = outcome(shares.append)
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 2, 1 / 2])
    assert resumed.watched_tau == whole.watched_tau
    for one, other in ((resumed.best, whole.best), (resumed.last, whole.last)):
        assert all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))


def test_a_network_that_was_changed_meanwhile_begins_anew(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vastsum.bench.checkpoints.BOOKMARK_EVERY_S", 0.0)
    first, second, third = list(tvsum.videos.values())[:3]
    member = Member((first, second), 1, (third,))
    for width in (16, 8, 16):
        config = QUICK.with_settings({"training.epochs": 2, "network.width": width}, "test")
        shares: list[float] = []
        bookmark = Bookmark(tmp_path / "bookmark", {"seed": 1})
        train_together(VastsumMethod(config), [member], judged, shares.append, bookmark=bookmark)
        assert shares == [0.5, 0.5]


def test_videos_of_the_same_name_from_two_files_are_not_mixed_up(tvsum: Dataset, summe: Dataset) -> None:
    name = next(iter(tvsum.videos))
    assert name in summe.videos
    both, _ = trained(QUICK, [Member((tvsum.videos[name], summe.videos[name]), 0)])
    assert [video.kind for video in both._shelf.videos] == ["tvsum", "summe"]


def test_videos_of_a_step_may_be_of_like_length(tvsum: Dataset) -> None:
    member = Member(tuple(tvsum.videos.values()), seed=0)
    lengths = np.array([len(video.segments.picks) for video in member.videos])
    steps_seen = set()
    for epoch in range(8):
        order = _order(member, epoch, together=5)
        assert sorted(order) == list(range(10)), "every video has its turn"
        short, long = sorted((lengths[order[:5]], lengths[order[5:]]), key=max)
        assert max(short) <= min(long)
        steps_seen.add(order[0] in np.argsort(lengths, kind="stable")[:5])
    assert steps_seen == {True, False}, "long ones and short ones take turns to be first"


def test_members_who_take_different_numbers_of_steps_are_refused(tvsum: Dataset) -> None:
    videos = tuple(tvsum.videos.values())
    with pytest.raises(ConfigError, match="different numbers of steps"):
        Trainer(VastsumMethod(QUICK), [Member(videos[:3], 0), Member(videos[:4], 0)])


def alone(config: Config, videos: list[BenchmarkVideo]) -> Trainer:
    return Trainer(VastsumMethod(config), [Member(tuple(videos), seed=0)])


@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_it_learns_the_synthetic_benchmark(kind: str, tvsum: Dataset, summe: Dataset) -> None:
    dataset = {"tvsum": tvsum, "summe": summe}[kind]
    names = list(dataset.videos)
    trainer = alone(LEARNING, [dataset.videos[name] for name in names[:7]])
    test = [dataset.videos[name] for name in names[7:]]
    torch.set_num_threads(1)

    def score_tau() -> float:
        scorer = trainer.method.scorer(trainer.network(), dataset.kind)
        predictions = [scorer.predict(video.features, video.segments) for video in test]
        pairs = zip(predictions, test, strict=True)
        return float(np.mean([agreement(prediction, video, dataset.kind).score_tau for prediction, video in pairs]))

    before = score_tau()
    logs = [trainer.train_epoch(epoch)[0] for epoch in range(LEARNING.training.epochs)]
    after = score_tau()
    assert logs[-1]["main"] < logs[0]["main"]
    assert after > before + 0.1
    assert after > 0.15
    assert all(np.isfinite(value) for log in logs for value in log.values())


def test_training_leaves_the_callers_random_numbers_alone(tvsum: Dataset) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    alone(QUICK, list(tvsum.videos.values())[:2]).train_epoch(0)
    assert torch.equal(torch.rand(3), expected)


def test_accumulating_and_padding_give_the_same_epochs(tvsum: Dataset) -> None:
    """One video at a time, or all padded together: noise belongs to the video, so only rounding differs."""
    logs = []
    for at_once in (0, 100_000):
        trainer = alone(QUICK, list(tvsum.videos.values())[:5])
        trainer._picks_at_once = at_once
        logs.append([trainer.train_epoch(epoch)[0] for epoch in range(3)])
    for one, padded in zip(*logs, strict=True):
        assert one == pytest.approx(padded, rel=1e-4, abs=1e-5)


def test_the_stability_loss_pools_and_solves_as_the_decoder_does(summe: Dataset) -> None:
    videos = list(summe.videos.values())[:3]
    batch = pad([VideoTensors.of(video) for video in videos])
    signal = torch.rand(batch.mask.shape, generator=torch.Generator().manual_seed(0))
    pooled = pool_scores(signal, batch)
    for row, video in enumerate(videos):
        ids, n = video.segments.ids, len(video.segments.picks)
        for k in range(len(video.segments)):
            inside = signal[row, :n][torch.from_numpy(ids == k)]
            expected = inside.mean() if len(inside) else signal[row, video.segments.first_picks[k]]
            assert float(pooled[row, k]) == pytest.approx(float(expected), abs=1e-6)
    moment = Moment(0, [np.random.default_rng(row) for row in range(3)])
    base, perturbed = VastsumMethod(QUICK)._solve(pooled, batch, moment)
    assert perturbed.shape == (3, QUICK.loss.stability_draws, batch.n_segments)
    for row, video in enumerate(videos):
        for solution in (base[row], *perturbed[row]):
            chosen = solution[: len(video.segments)].numpy()
            assert video.segments.lengths[chosen].sum() <= 0.15 * video.segments.n_frames
            assert not solution[len(video.segments) :].any()


@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_the_linear_path_is_a_closed_form_of_the_training_videos(kind: str, tvsum: Dataset, summe: Dataset) -> None:
    videos = list({"tvsum": tvsum, "summe": summe}[kind].videos.values())[:4]
    config = LEARNING.with_settings({"network.linear_share": 1.0}, "test")
    trainer = alone(config, videos)
    before = trainer.importance([videos])[0]
    trainer.train_epoch(0)
    after = trainer.importance([videos])[0]
    for first, then in zip(before, after, strict=True):
        np.testing.assert_array_equal(first, then)  # not trained
    pairs = zip(videos, after, strict=True)
    fits = [np.corrcoef(then, video.annotations.mean(axis=0))[0, 1] for video, then in pairs]
    assert np.mean(fits) > 0.2


def test_one_network_learns_from_both_kinds_of_annotation(tvsum: Dataset, summe: Dataset) -> None:
    """As the embedded model does: each video by the likelihood of its own kind, on one scale of importance."""
    settings = {"network.offset": 0.5, "network.temperature": 0.15}
    config = LEARNING.with_settings(settings, "test")
    both = [*list(tvsum.videos.values())[:5], *list(summe.videos.values())[:5]]
    trainer = alone(config, both)
    for epoch in range(20):
        trainer.train_epoch(epoch)
    for dataset in (tvsum, summe):
        unseen = list(dataset.videos.values())[5:]
        scorer = trainer.method.scorer(trainer.network(), "tvsum")
        predictions = [scorer.predict(video.features, video.segments) for video in unseen]
        taus = [agreement(p, video, dataset.kind).score_tau for p, video in zip(predictions, unseen, strict=True)]
        assert np.mean(taus) > 0.1
        assert all(-0.5 < prediction.mean.mean() < 1.5 for prediction in predictions)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("cosine", [1, 0.9330, 0.75, 0.5, 0.25, 0.0670]), ("constant", [1] * 6)],
)
def test_learning_rate_schedules(schedule: str, expected: list[float]) -> None:
    settings = {"training.epochs": 6, "training.schedule": schedule, "training.learning_rate": 1.0}
    config = QUICK.with_settings(settings, "test")
    assert [learning_rate(config.training, epoch) for epoch in range(6)] == pytest.approx(expected, abs=1e-4)
