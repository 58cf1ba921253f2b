"""Configuration, training loop and checkpoints. Importing this package does not import torch."""

from vastsum.bench.training.config import ABLATIONS, Config, load_config

__all__ = ["ABLATIONS", "Config", "load_config"]
