"""Many trainings as one program: nobody can tell from the numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from vastsum.bench.data import BenchmarkVideo, Dataset
from vastsum.bench.measures.metrics import judge
from vastsum.bench.methods.csta import Csta
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.noise import Dropout, Normal, layer_keys, noise_layers
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.sum_gan import SumGan
from vastsum.bench.methods.vastsum import Config, VastsumMethod
from vastsum.bench.training import loop
from vastsum.bench.training.batches import Shelf
from vastsum.bench.training.bookmarks import Bookmark
from vastsum.bench.training.loop import Member, Trainer, _order
from vastsum.bench.training.population import Assignment, Trained, train_together
from vastsum.errors import ConfigError
from vastsum.types import FloatArray

QUICK = load_config(None, ["network.width=16", "network.heads=2", "network.layers=1", "network.head_width=16",
                           "network.positions=64", "training.batch_size=3", "loss.rank_pairs=64",
                           "loss.stability_warmup=1", "training.weight_average=0.5"])  # fmt: skip
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


class Narrow(VastsumMethod):
    """Memory holds two videos at a time."""

    n_failures = 0

    def inputs(self, batch: Batch) -> tuple[Any, ...]:
        if len(batch) > 2:
            self.n_failures += 1
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().inputs(batch)


def test_passes_that_memory_does_not_hold_are_made_smaller(tvsum: Dataset) -> None:
    (member,) = members(tvsum, 1)
    watched = list(tvsum.videos.values())[-4:]
    expected, expected_logs = trained(QUICK, [member])
    method = Narrow(QUICK)
    trainer = Trainer(method, [member])
    trainer._picks_at_once = 10_000  # as on a GPU
    logs = [trainer.train_epoch(epoch) for epoch in range(EPOCHS)]
    for log, expected_log in zip(logs, expected_logs, strict=True):
        assert log[0] == pytest.approx(expected_log[0], rel=1e-4, abs=1e-4)
    for score, expected_score in zip(trainer.importance([watched])[0], expected.importance([watched])[0], strict=True):
        np.testing.assert_allclose(score, expected_score, atol=1e-4)
    assert 0 < method.n_failures < 16


def test_a_video_that_memory_does_not_hold_is_an_error(tvsum: Dataset) -> None:
    method = Narrow(QUICK)
    trainer = Trainer(method, members(tvsum, 4))
    trainer._picks_at_once = 10_000
    with pytest.raises(torch.OutOfMemoryError):
        trainer.train_epoch(0)
    assert method.n_failures < 16


def test_an_epoch_is_chosen_once_its_time_has_come(tvsum: Dataset) -> None:
    *training, watched = tvsum.videos.values()
    settings = {"training.epochs": EPOCHS, "training.chosen_after": 0.5, "training.weight_average": 0.0}
    falling = iter(np.linspace(1, 0, EPOCHS))
    (outcome,) = train_together(
        VastsumMethod(QUICK.with_settings(settings, "test")),
        "tvsum",
        [Assignment(Member(tuple(training[:6]), 0), (watched,))],
        lambda _: [(next(falling), 0.0)],
    )
    assert outcome.chosen_epoch == EPOCHS // 2 + 1
    first, last = (scorer.predict(watched.features, watched.segments) for scorer in (outcome.best, outcome.last))
    assert not np.array_equal(first.mean, last.mean)


def judged(predicted: Sequence[tuple[FloatArray, BenchmarkVideo]]) -> list[tuple[float, float]]:
    return [judge(scores, video, video.kind) for scores, video in predicted]


@pytest.mark.parametrize(
    "method", [VastsumMethod(QUICK), SumGan(), Csta(thinner=16)], ids=lambda method: type(method).__name__
)
def test_what_is_resumed_is_what_it_would_have_been(
    method: LearnedMethod, tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Averaged weights, several optimisers and statistics of batches are part of where a training is."""
    monkeypatch.setattr("vastsum.bench.training.bookmarks.EVERY_S", 0.0)
    method.recipe = replace(method.recipe, epochs=3)
    short = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))[:3]
    assignment = Assignment(Member(tuple(short[:2]), seed=1), tuple(short[2:]))

    def outcome(report: Callable[[float], None]) -> Trained:
        bookmark = Bookmark(tmp_path / "bookmark", {"seed": 1})
        return train_together(method, "tvsum", [assignment], judged, report, bookmark=bookmark)[0]

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
        video = short[2]
        found, expected = (scorer.predict(video.features, video.segments) for scorer in (one, other))
        np.testing.assert_array_equal(found.mean, expected.mean)


def test_a_network_that_was_changed_meanwhile_begins_anew(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vastsum.bench.training.bookmarks.EVERY_S", 0.0)
    first, second, third = list(tvsum.videos.values())[:3]
    assignment = Assignment(Member((first, second), seed=1), (third,))
    for width in (16, 8, 16):
        config = QUICK.with_settings({"training.epochs": 2, "network.width": width}, "test")
        shares: list[float] = []
        bookmark = Bookmark(tmp_path / "bookmark", {"seed": 1})
        train_together(VastsumMethod(config), "tvsum", [assignment], judged, shares.append, bookmark=bookmark)
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


def test_dropout_drops_the_share_it_says_and_keeps_the_mean() -> None:
    dropout = Dropout(0.7).train()
    dropout.keys = torch.tensor([1, 2], dtype=torch.int32)
    dropped = dropout(torch.ones(2, 400, 64))
    assert float((dropped == 0).float().mean()) == pytest.approx(0.7, abs=0.01)
    assert float(dropped.mean()) == pytest.approx(1.0, abs=0.03)
    agree = (dropped[0] == dropped[1]).float().mean()  # two videos: independent
    assert float(agree) == pytest.approx(0.7**2 + 0.3**2, abs=0.01)
    assert torch.equal(dropout.eval()(torch.ones(1, 3, 2)), torch.ones(1, 3, 2))


def test_noise_belongs_to_the_video_not_to_the_padding() -> None:
    normal = Normal()
    normal.keys = torch.tensor([7], dtype=torch.int32)
    alone = normal(torch.Size((1, 50, 8)))
    normal.keys = torch.tensor([3, 7], dtype=torch.int32)
    padded = normal(torch.Size((2, 80, 8)))
    assert torch.equal(alone[0], padded[1, :50])


def test_normal_noise_is_normal_and_uncorrelated() -> None:
    normal = Normal()
    normal.keys = torch.arange(4, dtype=torch.int32)
    draws = normal(torch.Size((4, 2000, 16)))
    assert float(draws.mean()) == pytest.approx(0.0, abs=0.01)
    assert float(draws.std()) == pytest.approx(1.0, abs=0.01)
    assert float((draws**4).mean()) == pytest.approx(3.0, abs=0.1)
    for one, two in ((draws[:, 1:], draws[:, :-1]), (draws[..., 1:], draws[..., :-1]), (draws[1:], draws[:-1])):
        assert float((one * two).mean()) == pytest.approx(0.0, abs=0.02)


def test_every_layer_has_keys_of_its_own() -> None:
    network = torch.nn.Sequential(Dropout(0.5), torch.nn.Linear(2, 2), Dropout(0.5))
    keys = layer_keys(noise_layers(network), torch.tensor([[1, 2]], dtype=torch.int32))
    assert set(keys) == {"0.keys", "2.keys"}
    assert len({int(key) for each in keys.values() for key in each.flatten()}) == 4
