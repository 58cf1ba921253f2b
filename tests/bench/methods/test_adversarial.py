"""Networks that play against each other treat a padded video, in training too, as if it were alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

from vastsum.bench.batches import VideoTensors, pad
from vastsum.bench.data import Dataset
from vastsum.bench.methods.ac_sum_gan import AcSumGan, fragment_means, fragments
from vastsum.bench.methods.learned import LearnedMethod, Moment
from vastsum.bench.methods.nn.noise import layer_keys, noise_layers
from vastsum.bench.methods.sum_gan import SumGan, SumGanNetwork
from vastsum.bench.training import Member, Trainer

METHODS = [SumGan(), AcSumGan()]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_padding_changes_no_loss(method: LearnedMethod, tvsum: Dataset) -> None:
    torch.manual_seed(0)
    videos = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))
    short, long = VideoTensors.of(videos[0]), VideoTensors.of(videos[-1])
    network = method.build(short.features.shape[1])
    layers = noise_layers(network)
    for phase in method.phases:
        moment = Moment(0, [], phase)
        with torch.no_grad():
            alone, padded = (
                method.losses(
                    functional_call(network, dict(layer_keys(layers, keys)), method.inputs(batch)), batch, moment
                )
                for batch, keys in ((pad([short]), torch.tensor([3])), (pad([short, long]), torch.tensor([3, 4])))
            )
        for name, values in alone.items():
            np.testing.assert_allclose(padded[name][0], values[0], rtol=1e-4, atol=1e-5, err_msg=f"{phase} {name}")


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_every_parameter_is_trained_in_some_phase(method: LearnedMethod, tvsum: Dataset) -> None:
    video = VideoTensors.of(next(iter(tvsum.videos.values())))
    network = method.build(video.features.shape[1])
    moved = set()
    for phase, (prefixes, _) in method.phases.items():
        network.zero_grad()
        batch = pad([video])
        method.losses(network(*method.inputs(batch)), batch, Moment(0, [], phase))["total"].sum().backward()
        moved |= {
            name
            for name, weight in network.named_parameters()
            if name.startswith(prefixes) and weight.grad is not None and bool(weight.grad.any())
        }
    still = {name for name, _ in network.named_parameters()} - moved
    assert still <= {"decoder.recurrent.layers.0.from_input"}, "the decoder is fed nothing; all else learns"


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_discriminator_learns_ten_times_slower(method: LearnedMethod, tvsum: Dataset) -> None:
    """As both papers have it. The first step that Adam takes is the learning rate, wherever there is a gradient."""
    videos = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))[:1]
    trainer = Trainer(method, [Member(tuple(videos), seed=0)])
    before = {name: weight.detach().clone() for name, weight in trainer.weights.items()}
    trainer.train_epoch(0)
    for part, rate in {"decoder.": 1e-4, "discriminator.": 1e-5}.items():
        moved = [weight.detach() - before[name] for name, weight in trainer.weights.items() if name.startswith(part)]
        assert float(max(step.abs().max() for step in moved)) == pytest.approx(rate, rel=0.01)


def test_all_parts_learn_from_one_pass(monkeypatch: pytest.MonkeyPatch, tvsum: Dataset) -> None:
    passes = []
    forward = SumGanNetwork.forward
    monkeypatch.setattr(SumGanNetwork, "forward", lambda *given: passes.append(0) or forward(*given))
    videos = sorted(tvsum.videos.values(), key=lambda video: len(video.segments.picks))[:2]
    trainer = Trainer(SumGan(), [Member(tuple(videos), seed=0)])
    before = {name: weight.detach().clone() for name, weight in trainer.weights.items()}
    trainer.train_epoch(0)
    still = {name for name, weight in trainer.weights.items() if bool((weight == before[name]).all())}
    assert len(passes) == len(videos)
    assert still <= {"decoder.recurrent.layers.0.from_input"}, "the decoder is fed nothing; all else learns"


def test_the_selector_learns_how_long_a_summary_should_be(tvsum: Dataset) -> None:
    torch.set_num_threads(1)
    video = min(tvsum.videos.values(), key=lambda video: len(video.segments.picks))
    method = SumGan()
    method = method.with_recipe(epochs=20, learning_rate=5e-3)
    trainer = Trainer(method, [Member((video,), seed=0)])

    def off() -> float:
        scores = method.scorer(trainer.network(), "tvsum").predict(video.features, video.segments).mean
        return abs(float(scores.mean()) - method.LENGTH)

    before = off()
    for epoch in range(method.recipe.epochs):
        trainer.train_epoch(epoch)
    assert off() < 0.5 * before


@given(st.integers(1, 200), st.integers(0, 30))
def test_fragments_share_a_video_evenly(n_picks: int, n_padded: int) -> None:
    mask = torch.arange(n_picks + n_padded)[None] < n_picks
    fragment = fragments(mask)
    sizes = torch.bincount(fragment[0, :n_picks], minlength=60)
    assert sizes.max() - sizes.min() <= 1
    scores = torch.rand(1, n_picks + n_padded)
    means, occupied = fragment_means(scores, fragment, mask)
    assert torch.equal(occupied[0], sizes > 0)
    for number in range(60):
        own = scores[0, :n_picks][fragment[0, :n_picks] == number]
        assert means[0, number].item() == pytest.approx(own.mean().item() if len(own) else 0.0, abs=1e-6)


def test_rewards_to_come_are_discounted() -> None:
    returns = AcSumGan().returns(torch.tensor([[1.0, 0.0, 2.0]]))
    np.testing.assert_allclose(returns, [[1 + 0.99**2 * 2, 0.99 * 2, 2]], rtol=1e-6)
