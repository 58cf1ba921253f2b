"""Checkpoints, and what a killed training resumes from: read by whoever wrote it, never in the way."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from vastsum.bench import checkpoints
from vastsum.bench.checkpoints import Bookmark, load_checkpoint, save_tensors
from vastsum.bench.methods.vastsum import Config, NetworkConfig, VastsumNetwork
from vastsum.errors import CheckpointError

TENSORS = {"weight": torch.arange(3.0)}


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "bookmark"
    assert Bookmark(path, {"seeds": (1, 2)}).read() is None
    Bookmark(path, {"seeds": (1, 2)}).write(TENSORS, [0.5])
    found = Bookmark(path, {"seeds": [1, 2]}).read()
    assert found is not None
    assert found[1] == [0.5]
    torch.testing.assert_close(found[0], TENSORS)


def test_that_of_another_training_is_not_read(tmp_path: Path) -> None:
    Bookmark(tmp_path / "bookmark", {"seed": 1}).write(TENSORS, [])
    assert Bookmark(tmp_path / "bookmark", {"seed": 2}).read() is None


def test_a_damaged_one_is_not_read(tmp_path: Path) -> None:
    Bookmark(tmp_path / "bookmark", {}).write(TENSORS, [])
    whole = (tmp_path / "bookmark").read_bytes()
    (tmp_path / "bookmark").write_bytes(whole[: len(whole) // 2])
    assert Bookmark(tmp_path / "bookmark", {}).read() is None


def test_a_disk_that_takes_none_ends_no_training(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    Bookmark(tmp_path / "file" / "bookmark", {}).write(TENSORS, [])


def test_what_is_too_much_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "LARGEST_BOOKMARK", 11)
    Bookmark(tmp_path / "bookmark", {}).write(TENSORS, [])
    assert not list(tmp_path.iterdir())


def test_one_is_due_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(checkpoints.time, "monotonic", lambda: now)
    bookmark = Bookmark(tmp_path / "bookmark", {})
    due = []
    for passed in (299.0, 1.0, 1.0, 299.0):
        now += passed
        due.append(bookmark.is_due)
        if bookmark.is_due:
            bookmark.write(TENSORS, [])
    assert due == [False, True, False, True]


def test_a_checkpoint_of_other_settings_says_that_it_is_of_another_version(tmp_path: Path) -> None:
    config = Config().to_dict()
    config["network"]["kernel_share"] = 0.75
    save_tensors(tmp_path / "old.safetensors", {}, {"config": config, "kind": "tvsum"})
    with pytest.raises(CheckpointError, match=r"'network\.kernel_share'.*train it again, or use the version"):
        load_checkpoint(tmp_path / "old.safetensors")


def test_a_checkpoint_that_names_a_setting_which_is_gone_still_loads(tmp_path: Path) -> None:
    config = Config(NetworkConfig(feature_width=4, width=8, heads=2, layers=1))
    content = config.to_dict()
    content["training"]["checkpoint_every"] = 5  # of version 0.1
    weights = VastsumNetwork(config.network).state_dict()
    save_tensors(tmp_path / "old.safetensors", weights, {"config": content, "kind": "tvsum"})
    assert load_checkpoint(tmp_path / "old.safetensors")[0].network.config == config.network
