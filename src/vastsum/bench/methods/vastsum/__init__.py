"""The scorer of the paper: network, probabilistic head and losses. Importing this package does not import torch."""

from vastsum.bench.methods.vastsum.config import LossConfig, NetworkConfig

__all__ = ["LossConfig", "NetworkConfig"]
