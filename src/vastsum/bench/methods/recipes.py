"""The recipes of VASTSum by name: for each kind of annotation, and for each ablation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vastsum.bench.methods.settings import parse_assignment, read_toml
from vastsum.bench.methods.vastsum import Config
from vastsum.errors import ConfigError
from vastsum.types import Kind

# The paper's model. One network, two recipes: what the paper leaves open was searched for (docs/results.md says how),
# and the two kinds of supervision want different training. The defaults are those for scores; these are the changes.
RECIPES: dict[Kind, dict[str, Any]] = {
    "tvsum": {},
    "summe": {
        "network.width": 128,
        "network.layers": 4,
        "network.kernel_size": 5,
        "network.latent_width": 8,
        "network.dropout": 0.3,
        "network.input_dropout": 0.7,
        "loss.softmin_temperature": 0.1,
        "loss.rank_weight": 0.3,
        "loss.rank_margin": 0.3,
        "loss.stability_weight": 0.01,
        "loss.kl_weight": 1e-2,
        "training.epochs": 40,
        "training.weight_decay": 1e-2,
        "training.schedule": "constant",
    },
}

# What VASTSum has beyond it: found on validation videos (studies/).
_BEYOND_BOTH = {
    "network.relative": True,
    "network.linear_share": 0.85,
    "network.linear_directions": 16,
    "network.linear_penalty": 0.003,
    "network.smoothing": 2.0,
    "network.nonlocal_sharpness": 3.0,
    "network.sharpness": 1.0,
    "network.length_power": 0.5,
}
BEYOND: dict[Kind, dict[str, Any]] = {
    "tvsum": _BEYOND_BOTH
    | {
        "network.input_dropout": 0.9,
        "network.channel_dropout": 0.5,
        "network.deviation_scale": 0.95,
        "training.chosen_after": 0.5,
    },
    "summe": _BEYOND_BOTH
    | {
        "network.width": 256,
        "network.layers": 1,
        "network.kernel_size": 9,
        "network.dropout": 0.65,
        "network.input_dropout": 0.45,
        "network.visual_weight": 0.25,
        "network.probability_scale": 1.8,
        "loss.rank_weight": 0.13,
        "loss.rank_margin": 0.07,
        "loss.stability_weight": 0.25,
        "loss.stability_margin": 0.005,
        "loss.stability_noise": 0.002,
        "loss.kl_weight": 3e-4,
        "training.epochs": 30,
        "training.chosen_after": 0.8,
        "training.weight_decay": 2e-3,
        "training.weight_average": 0.98,
    },
}

# The paper's model, and the rows of its Table IV as changes of it.
OF_THE_PAPER: dict[str, dict[str, Any]] = {
    "paper": {},
    "no-regularization": {"network.dropout": 0.0, "network.input_dropout": 0.0, "training.weight_decay": 0.0},
    "low-learning-rate": {"network.dropout": 0.6, "training.learning_rate": 2.5e-4},
    "gated-residual": {"network.gated_residual": True},
    "cnn-attention": {"network.cnn_attention": True},
    "softmin-0.25": {"loss.softmin_temperature": 0.25},
    "no-kl-warmup": {"loss.kl_warmup": 0},
    "small-latent": {"network.latent_width": 4},
    "no-stability": {"loss.stability_weight": 0.0},
}
# VASTSum without one of its parts.
OF_OURS: dict[str, dict[str, Any]] = {
    "no-channels": {"network.relative": False},
    "no-linear-path": {"network.linear_share": 0.0},
    "linear-path-alone": {"network.linear_share": 1.0, "training.epochs": 1},
    "no-down-weighting": {"network.visual_weight": 1.0, "network.channel_weight": 1.0},
    "no-temperature": {"network.sharpness": 0.0, "network.length_power": 0.0},
    "no-smoothing": {"network.smoothing": 0.0},
    "no-nonlocal-mean": {"network.nonlocal_sharpness": 0.0},
    "no-transformer": {"network.layers": 0},
    "no-ranking": {"loss.rank_weight": 0.0},
    "no-stability-training": {"loss.stability_weight": 0.0},
}
ABLATIONS = OF_THE_PAPER | OF_OURS


def load_config(
    path: Path | None = None, assignments: Sequence[str] = (), ablation: str | None = None, *, kind: Kind = "tvsum"
) -> Config:
    """The recipe for `kind`, changed by a TOML file, then by an ablation, then by `section.key=value` assignments."""
    recipe = RECIPES[kind] if ablation in OF_THE_PAPER else RECIPES[kind] | BEYOND[kind]
    config = Config().with_settings(recipe, f"recipe {kind}")
    if path is not None:
        config = config.with_settings(read_toml(path), str(path))
    if ablation is not None:
        if ablation not in ABLATIONS:
            raise ConfigError("--ablation", f"'{ablation}' is not known", f"choose one of {', '.join(ABLATIONS)}")
        config = config.with_settings(ABLATIONS[ablation], f"ablation {ablation}")
    return config.with_settings(dict(parse_assignment(text) for text in assignments), "--set")
