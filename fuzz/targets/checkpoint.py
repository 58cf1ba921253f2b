"""Checkpoints: safetensors with a header of JSON."""

from __future__ import annotations

from pathlib import Path

import torch

from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from vastsum.bench.checkpoints import load_checkpoint, save_tensors
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import VastsumNetwork

_SMALL = ("network.width=4", "network.heads=1", "network.layers=1", "network.head_width=4", "network.positions=4",
          "network.latent_width=1", "network.feature_width=2")  # fmt: skip


def seeds(folder: Path) -> list[bytes]:
    torch.manual_seed(0)
    config = load_config(None, _SMALL)
    meta = {
        "kind": "tvsum",
        "config": config.to_dict(),
        "data": {},
        "protocol": "last",
        "split": 0,
        "seed": 0,
        "epoch": 1,
    }
    save_tensors(folder / "seed.safetensors", VastsumNetwork(config.network).state_dict(), meta)
    return [(folder / "seed.safetensors").read_bytes()]


TARGET = Target("last.safetensors", seeds, load_checkpoint, mutate_bytes, native=True)
