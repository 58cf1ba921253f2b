"""Configurations: a TOML file, and the same lines as `--set` assignments."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from fuzz.mutation import text_mutator
from fuzz.target import Target
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import Config
from vastsum.errors import VastsumError

_WORDS = (
    "[network]\n", "[loss]\n", "[training]\n", "width", "layers", "epochs", "schedule", "learning_rate", "kl_warmup",
    "gated_residual", "=", "= ", ".", '"', "'''", "#", "true", "false", "nan", "inf", "-inf", "1e400", "0x10", "1_000",
    "1979-05-27", "07:32:00", "[[", "]]", "{a = 1}", '"constant"', "99999999999999999999", "\ud800", "network.width=",
)  # fmt: skip


def seeds(_: Path) -> list[bytes]:
    return [
        b'[network]\nwidth = 128\nlayers = 2\ngated_residual = true\n[training]\nschedule = "constant"\nepochs = 3\n',
        b"[loss]\nrank_margin = 0.3\nkl_warmup = 5\n[network]\ndropout = 0.5\n",
        b"network.width=128\nloss.rank_margin=0.3\ntraining.schedule=constant\n",
    ]


def use(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    with suppress(VastsumError):  # the file may be good though its lines are no assignments
        load_config(None, text.splitlines()[:4])
    Config.from_dict(load_config(path).to_dict(), "a checkpoint")


TARGET = Target("config.toml", seeds, use, text_mutator(_WORDS))
