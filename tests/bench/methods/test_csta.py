"""CSTA's convolutional network: its weights, its statistics, its smallest picture."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

from vastsum.bench.data import Dataset
from vastsum.bench.methods.csta import Csta, CstaNetwork, GoogLeNet, read_imagenet
from vastsum.bench.training import Member, Trainer
from vastsum.errors import CheckpointError


def test_torchvisions_weights_are_read(tmp_path: Path) -> None:
    path = tmp_path / "googlenet.safetensors"
    trained = GoogLeNet(thinner=16)
    save_file({**trained.state_dict(), "fc.weight": torch.zeros(1), "aux1.fc1.bias": torch.zeros(1)}, path)
    network = Csta(read_imagenet(path, thinner=16), thinner=16).build(24)
    assert isinstance(network, CstaNetwork)
    for name, weight in network.cnn.state_dict().items():
        torch.testing.assert_close(weight, trained.state_dict()[name])


def test_a_training_from_other_weights_is_another_one(tmp_path: Path) -> None:
    weights = []
    for n in range(2):
        save_file(GoogLeNet(thinner=16).state_dict(), tmp_path / f"{n}.safetensors")
        weights.append(read_imagenet(tmp_path / f"{n}.safetensors", thinner=16))
    recipes = [Csta(own, thinner=16).trained_by for own in (None, *weights, weights[0])]
    assert recipes[1] == recipes[3]
    assert "weights" not in recipes[0]
    assert recipes[1]["weights"] != recipes[2]["weights"]


@pytest.mark.parametrize("content", [None, b"", b"no weights", "other", "thicker", "pickled"])
def test_a_file_without_them_is_named(tmp_path: Path, content: bytes | str | None) -> None:
    path = tmp_path / "googlenet.safetensors"
    if content == "other":
        save_file({"fc.weight": torch.zeros(1)}, path)
    elif content == "thicker":
        save_file(GoogLeNet(thinner=8).state_dict(), path)
    elif content == "pickled":
        torch.save(GoogLeNet(thinner=16).state_dict(), path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"googlenet\.safetensors"):
        read_imagenet(path, thinner=16)


def test_it_is_googlenet_in_size() -> None:
    network = GoogLeNet()
    assert network.width == 1024
    assert (
        sum(weight.numel() for weight in network.parameters()) == 6_624_904 - 1024 * 1000 - 1000
    )  # less its classifier


@pytest.mark.parametrize("n_picks", [1, 2, 9, 40])
def test_no_video_is_too_short(n_picks: int) -> None:
    network = CstaNetwork(8, thinner=16).eval()
    mask = torch.ones(1, n_picks, dtype=torch.bool)
    assert network(torch.rand(1, n_picks, 8), mask.long(), mask, [n_picks]).shape == (1, n_picks)


def test_the_mean_of_neighbours_is_adaptive_pooling_by_one_row_less() -> None:
    rows = torch.rand(1, 3, 50)
    torch.testing.assert_close(F.adaptive_avg_pool1d(rows, 49), (rows[..., :-1] + rows[..., 1:]) / 2)


def test_statistics_are_learned_with_the_weights(tvsum: Dataset) -> None:
    method = Csta(thinner=16)
    method = method.with_recipe(batch_size=2)
    trainer = Trainer(method, [Member(tuple(tvsum.videos.values())[:3], seed=0)])
    trainer.train_epoch(0)
    network = trainer.network()
    assert isinstance(network, CstaNetwork)
    assert network.map_norm.num_batches_tracked == 3
    assert network.map_norm.running_mean != 0
