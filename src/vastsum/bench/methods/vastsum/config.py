"""Sizes of the network and settings of the losses, named after the paper's symbols."""

from __future__ import annotations

from dataclasses import dataclass

from vastsum.errors import ConfigError
from vastsum.types import MAX_LENGTH_POWER, MAX_SHARPNESS, Decoder

# Beyond these there is no sense in a setting, and exp(), powers and memory have an end.
_MOST = {
    "layers": 100,
    "conv_layers": 100,
    "kernel_size": 2049,
    "linear_share": 1.0,
    **dict.fromkeys(("linear_smoothing", "smoothing", "nonlocal_smoothing"), 2048.0),
    "sharpness": MAX_SHARPNESS,
    "length_power": MAX_LENGTH_POWER,
}


@dataclass(frozen=True)
class NetworkConfig:
    """Section IV-C and IV-D. `feature_width` is set from the data."""

    feature_width: int = 1024  # D
    relative: bool = False  # beyond the paper: the last of these are relative channels, the others are centred
    visual_weight: float = 1.0  # of the others beside the channels, in the network
    channel_dropout: float = 0.0
    width: int = 256  # d
    layers: int = 3  # L, segment transformer layers
    heads: int = 8  # H
    conv_layers: int = 1  # L_c
    kernel_size: int = 9  # picks seen by one depthwise convolution
    latent_width: int = 16  # d_z
    head_width: int = 128  # hidden units of the importance head
    positions: int = 1024  # learned positions; longer videos stretch them
    temperature: float = 1.0  # T_s
    offset: float = 0.0  # the importance at which a summary takes a frame as often as not: p = σ((μ − offset) / T_s)
    dropout: float = 0.5
    input_dropout: float = 0.8
    linear_share: float = 0.0  # beyond the paper: how much of μ is the linear path's when a video is scored
    linear_smoothing: float = 3.0  # of the linear path over time, in picks
    linear_penalty: float = 0.01  # λ of the linear path's ridge, a video
    channel_weight: float = 0.33  # of the channels beside the others, in the linear path
    smoothing: float = 0.0  # beyond the paper: of the network's μ over time when a video is scored, in picks
    nonlocal_sharpness: float = 0.0  # beyond the paper: of the mean over like frames when a video is scored; 0: none
    nonlocal_reach: float = 120.0  # how far apart they may be, in picks
    nonlocal_smoothing: float = 1.0  # of that mean over time, in picks
    deviation_scale: float = 1.0  # beyond the paper: times the standard deviation when a video is scored
    probability_scale: float = 1.0  # beyond the paper: times p when a video is scored; the knapsack sees no difference
    sharpness: float = 0.0  # beyond the paper: the temperature before the knapsack, exp(sharpness · z); 0: none
    length_power: float = 0.0  # beyond the paper: a segment's value is its mean times its length to this power
    gated_residual: bool = False  # ablation: + gated residual modules
    cnn_attention: bool = False  # ablation: + CSTA-style attention block

    def __post_init__(self) -> None:
        sizes = ("feature_width", "width", "heads", "latent_width", "head_width")
        scales = ("temperature", "linear_penalty", "nonlocal_reach", "deviation_scale", "probability_scale")
        _require("network", self, positive=(*sizes, *scales))
        not_negative = (
            "layers",
            "conv_layers",
            "dropout",
            "input_dropout",
            "visual_weight",
            "channel_dropout",
            "linear_share",
            "linear_smoothing",
            "channel_weight",
            "smoothing",
            "nonlocal_sharpness",
            "nonlocal_smoothing",
            "sharpness",
            "length_power",
        )
        _require("network", self, not_negative=not_negative)
        for name, most in _MOST.items():
            if getattr(self, name) > most:
                raise ConfigError(f"network.{name}", f"{getattr(self, name)} is too much", f"use at most {most:g}")
        if self.width % self.heads:
            raise ConfigError(
                "network.width", f"{self.width} is not a multiple of {self.heads} heads", "change one of them"
            )
        if self.kernel_size < 1 or self.kernel_size % 2 == 0:
            raise ConfigError("network.kernel_size", f"{self.kernel_size} is not odd", "use an odd number such as 9")
        if self.positions < 2:
            raise ConfigError("network.positions", f"{self.positions} is too few", "use at least 2")
        for name in ("dropout", "input_dropout", "channel_dropout"):
            if getattr(self, name) >= 1:
                raise ConfigError(f"network.{name}", f"{getattr(self, name)} drops everything", "use a value below 1")

    @property
    def decoder(self) -> Decoder:
        return Decoder(self.sharpness, self.length_power)


@dataclass(frozen=True)
class LossConfig:
    """Section IV-F. Warm-ups are in epochs; a weight grows linearly from 0 to its value over them."""

    softmin_temperature: float = 0.05  # τ_sm
    rank_weight: float = 1.0  # λ_rank
    rank_margin: float = 0.05  # m
    rank_pairs: int = 2048  # pairs sampled a video
    rank_warmup: int = 5
    stability_weight: float = 0.05  # λ_stab
    stability_margin: float = 0.05  # m_s
    stability_noise: float = 0.02  # σ
    stability_draws: int = 8  # R
    stability_warmup: int = 10
    kl_weight: float = 1e-3  # λ_kl
    kl_warmup: int = 10
    variance_floor: float = 1e-6  # ϵ of the Gaussian likelihood

    def __post_init__(self) -> None:
        _require("loss", self, positive=("softmin_temperature", "rank_pairs", "stability_draws", "variance_floor"))
        names = [f"{loss}_{part}" for loss in ("rank", "stability", "kl") for part in ("weight", "warmup")]
        _require("loss", self, not_negative=(*names, "rank_margin", "stability_margin", "stability_noise"))


def _require(
    section: str, config: object, *, positive: tuple[str, ...] = (), not_negative: tuple[str, ...] = ()
) -> None:
    for name in positive:
        if not getattr(config, name) > 0:
            raise ConfigError(f"{section}.{name}", f"{getattr(config, name)} is not positive", "use a number above 0")
    for name in not_negative:
        if not getattr(config, name) >= 0:
            raise ConfigError(f"{section}.{name}", f"{getattr(config, name)} is negative", "use 0 or more")
