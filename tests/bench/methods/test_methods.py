"""Every method of the bench that learns: it learns, padding changes nothing, and company changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from vastsum.bench.batches import VideoTensors, pad
from vastsum.bench.data import BenchmarkVideo, Dataset
from vastsum.bench.measures import agreement
from vastsum.bench.methods.clip_it import ClipIt
from vastsum.bench.methods.csta import Csta
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.methods.nn.noise import Dropout
from vastsum.bench.methods.registry import ABLATED, GIVEN, METHODS, entry_of
from vastsum.bench.methods.summdiff import Summdiff
from vastsum.bench.training import Member, Trainer
from vastsum.errors import ConfigError
from vastsum.scoring.base import Scorer

LEARNED = [name for name, entry in (METHODS | GIVEN).items() if entry.learn is not None]
UNSUPERVISED = ["sum-gan", "ac-sum-gan"]  # these see no annotation, so they owe no agreement with it
# These learn which picks are keyshots, not how important each pick is.
DETECTORS = ["dsnet-ab", "dsnet-af", "a2summ", "clip-it:text"]
SLOW: dict[str, dict[str, float]] = {  # these need more than the common recipe
    "pgl-sum": {"epochs": 30, "learning_rate": 5e-3},
    "summdiff": {"epochs": 30, "learning_rate": 1e-3},
    "a2summ": {"epochs": 40, "learning_rate": 5e-4},
    "clip-it:text": {"learning_rate": 1e-3},
}
UNDROPPED = ["a2summ"]  # these drop so much that seven videos drown in the noise


def method_of(name: str) -> LearnedMethod:
    """The method with a recipe for nine short videos: published ones take hundreds of epochs of small steps."""
    learn = entry_of(name).learn
    assert learn is not None
    method = learn("tvsum")
    # Whole, these networks take a second a video.
    if isinstance(method, Csta):
        method.thinner = 16
    if isinstance(method, Summdiff | ClipIt):
        method.width = 64
    short: dict[str, Any] = {"epochs": 15, "batch_size": 2, "learning_rate": 2e-3} | SLOW.get(name, {})
    if name in UNSUPERVISED:
        short["epochs"] = 2  # enough to see that nothing breaks
    return method.with_recipe(**short)


def keyshots_found(scorer: Scorer, video: BenchmarkVideo) -> float:
    """How often a pick in a keyshot is scored above one that is not; ties count half."""
    importance = scorer.predict(video.features, video.segments).mean
    chosen = VideoTensors.of(video).keyshots.numpy() > 0
    difference = importance[chosen][:, None] - importance[~chosen]
    return float(np.mean((np.sign(difference) + 1) / 2))


@pytest.mark.parametrize("name", LEARNED)
def test_it_learns_the_synthetic_benchmark(name: str, tvsum: Dataset) -> None:
    torch.set_num_threads(1)
    videos = list(tvsum.videos.values())
    trainer = Trainer(method_of(name), [Member(tuple(videos[:7]), seed=0)])
    for layer in trainer.skeleton.modules():
        if name in UNDROPPED and isinstance(layer, Dropout):
            layer.probability = 0.0
    logs = [trainer.train_epoch(epoch)[0] for epoch in range(trainer.recipe.epochs)]
    assert all(np.isfinite(value) for log in logs for value in log.values())
    if name in UNSUPERVISED:
        return
    scorer = trainer.method.scorer(trainer.network(), "tvsum")
    if name in DETECTORS:
        assert np.mean([keyshots_found(scorer, video) for video in videos[:7]]) > 0.75
        return
    taus = [agreement(scorer.predict(v.features, v.segments), v, "tvsum").tau for v in videos[:7]]
    unseen = [agreement(scorer.predict(v.features, v.segments), v, "tvsum").tau for v in videos[7:]]
    assert np.mean(taus) > 0.25
    assert np.mean(unseen) > 0.1


@pytest.mark.parametrize("name", LEARNED)
def test_padding_changes_nothing(name: str, tvsum: Dataset) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    method = method_of(name)
    videos = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))
    short, long = VideoTensors.of(videos[0]), VideoTensors.of(videos[-1])
    assert short.n_picks < long.n_picks
    network = method.build(short.features.shape[1]).eval()
    with torch.no_grad():
        alone, padded = pad([short]), pad([short, long])
        expected = method.importance(network(*method.inputs(alone)), alone)[0]
        found = method.importance(network(*method.inputs(padded)), padded)[0, : short.n_picks]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("name", LEARNED)
def test_a_member_of_a_population_learns_as_if_alone(name: str, tvsum: Dataset) -> None:
    torch.set_num_threads(1)
    method = method_of(name)
    videos = list(tvsum.videos.values())
    members = [Member(tuple(videos[:4]), 0), Member(tuple(videos[3:7]), 1)]
    if not method.stack:
        with pytest.raises(ConfigError, match="cannot be stacked"):
            Trainer(method, members)
        return
    together = Trainer(method, members)
    logs = [together.train_epoch(epoch) for epoch in range(2)]
    scored = together.importance([videos[7:9], videos[8:10]])
    for n, member in enumerate(members):
        alone = Trainer(method, [member])
        for epoch in range(2):
            assert alone.train_epoch(epoch)[0] == pytest.approx(logs[epoch][n], rel=1e-3, abs=1e-4)
        for found, expected in zip(scored[n], alone.importance([videos[7 + n : 9 + n]])[0], strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ABLATED)
@pytest.mark.parametrize("kind", ["tvsum", "summe"])
def test_every_ablation_of_the_paper_trains(name: str, kind: str, tvsum: Dataset, summe: Dataset) -> None:
    torch.set_num_threads(1)
    learn = entry_of(name).learn
    assert learn is not None
    method = learn(kind)
    plain = entry_of("vastsum").learn(kind)
    changed = (method.config, method.recipe) != (plain.config, plain.recipe)
    assert changed, "nothing is left out"
    videos = tuple({"tvsum": tvsum, "summe": summe}[kind].videos.values())[:2]
    log = Trainer(method, [Member(videos, seed=0)]).train_epoch(1)[0]
    assert all(np.isfinite(value) for value in log.values())


def test_a_width_that_heads_cannot_share_is_named() -> None:
    learn = METHODS["dsnet-af"].learn
    assert learn is not None
    with pytest.raises(ConfigError, match=r"8 heads cannot share a width of 47; use .* that 8 divides"):
        learn("tvsum").build(47)
