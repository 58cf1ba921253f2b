"""Noise belongs to a video: not to its batch, its population, or the machine."""

from __future__ import annotations

import pytest
import torch
from torch.func import functional_call, vmap

from vastsum.bench.methods.nn.noise import Dropout, Normal, Uniform, layer_keys, noise_layers

KEYS = torch.arange(6, dtype=torch.int32) * 77_777
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
SHAPES = [(6, 5), (6, 5, 7), (6, 3, 4, 5)]


def drawn(layer: Uniform | Normal, shape: tuple[int, ...], keys: torch.Tensor = KEYS) -> torch.Tensor:
    layer.keys = keys
    return layer(torch.Size(shape))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_video_meets_the_same_noise_alone_padded_and_in_a_population(shape: tuple[int, ...]) -> None:
    together = drawn(Uniform(), shape)
    for video, key in enumerate(KEYS):
        assert torch.equal(drawn(Uniform(), (1, *shape[1:]), key[None])[0], together[video])
    padded = drawn(Uniform(), (shape[0], *(size + 2 for size in shape[1:])))
    assert torch.equal(padded[(slice(None), *(slice(size) for size in shape[1:]))], together)

    x = torch.ones(3, 2, *shape[1:])
    layer = Dropout(0.3)
    stacked = vmap(lambda keys, x: functional_call(layer, {"keys": keys}, (x,)))(KEYS.view(3, 2), x)
    layer.keys = KEYS
    assert torch.equal(stacked.flatten(0, 1), layer(x.flatten(0, 1)))


def test_noise_has_the_distribution_it_should() -> None:
    uniform, normal = (drawn(layer, (6, 300, 300)) for layer in (Uniform(), Normal()))
    assert uniform.mean().item() == pytest.approx(0.5, abs=0.002)
    assert uniform.std().item() == pytest.approx(12**-0.5, abs=0.002)
    assert 0 < uniform.min() < uniform.max() < 1
    assert normal.mean().item() == pytest.approx(0, abs=0.005)
    assert normal.std().item() == pytest.approx(1, abs=0.005)
    dropout = Dropout(0.3)
    dropout.keys = KEYS
    kept = dropout(torch.ones(6, 300, 300))
    assert kept.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert kept.mean().item() == pytest.approx(1, abs=0.005)


@needs_gpu
@pytest.mark.parametrize("shape", SHAPES)
def test_a_gpu_draws_the_same(shape: tuple[int, ...]) -> None:
    assert torch.equal(drawn(Uniform(), shape, KEYS.cuda()).cpu(), drawn(Uniform(), shape))


def test_neighbours_and_videos_draw_independently() -> None:
    draws = drawn(Normal(), (4, 2000, 16), torch.arange(4, dtype=torch.int32))
    assert float((draws**4).mean()) == pytest.approx(3.0, abs=0.1)
    for one, two in ((draws[:, 1:], draws[:, :-1]), (draws[..., 1:], draws[..., :-1]), (draws[1:], draws[:-1])):
        assert float((one * two).mean()) == pytest.approx(0.0, abs=0.02)


def test_every_layer_has_keys_of_its_own() -> None:
    network = torch.nn.Sequential(Dropout(0.5), torch.nn.Linear(2, 2), Dropout(0.5))
    keys = layer_keys(noise_layers(network), torch.tensor([[1, 2]], dtype=torch.int32))
    assert set(keys) == {"0.keys", "2.keys"}
    assert len({int(key) for each in keys.values() for key in each.flatten()}) == 4
