"""Configuration: defaults, TOML, --set, ablations; and every mistake gets a clear word."""

from __future__ import annotations

from pathlib import Path

import pytest

from vastsum.bench.methods.recipes import ABLATIONS, load_config
from vastsum.bench.methods.vastsum import Config
from vastsum.errors import ConfigError


def test_file_then_assignments(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[network]\nwidth = 64\nheads = 4\n[training]\nepochs = 3\nlearning_rate = 1\n")
    config = load_config(path, ["training.epochs=7", "training.schedule=constant"])
    assert (config.network.width, config.training.epochs, config.training.learning_rate) == (64, 7, 1.0)
    assert config.training.schedule == "constant"
    assert config.loss == Config().loss


def test_a_configuration_survives_json() -> None:
    config = load_config(None, ["network.width=64", "loss.kl_weight=0.5"])
    assert Config.from_dict(config.to_dict(), "test") == config


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_changes_what_it_says(name: str) -> None:
    config = load_config(None, (), name)
    for setting, value in ABLATIONS[name].items():
        section, key = setting.split(".")
        assert getattr(getattr(config, section), key) == value
    assert config != load_config()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("network.widht=3", "no setting 'network.widht'"),
        ("net.width=3", "no section 'net'"),
        ("width=3", "section.key=value"),
        ("network.width", "section.key=value"),
        ("network.width=wide", "type int"),
        ("network.width=3.5", "type int"),
        ("network.width=true", "type int"),
        ("network.width=0", "not positive"),
        ("network.width=100", "multiple of 8 heads"),
        ("network.kernel_size=4", "odd"),
        ("network.positions=1", "too few"),
        ("network.dropout=1.0", "not below 1"),
        ("network.dropout=-0.1", "negative"),
        ("network.gated_residual=1", "type bool"),
        ("network.temperature=0", "not positive"),
        ("network.smoothing=1e300", "at most 2048"),
        ("network.sharpness=inf", "at most 5"),
        ("network.layers=1e300", "at most 100"),
        ("loss.softmin_temperature=0", "not positive"),
        ("loss.rank_weight=-1", "negative"),
        ("loss.stability_draws=0", "not positive"),
        ("training.epochs=0", "not positive"),
        ("training.schedule=step", "choose one of cosine, constant"),
        ("training.weight_average=1.0", "not below 1"),
        ("training.chosen_after=1.0", "not below 1"),
        ("training.weight_decay=-1", "negative"),
        ("training.learning_rate=nan", "not positive"),
    ],
)
def test_wrong_settings(setting: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(None, [setting])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [("width = 3", "outside a section"), ("[network\n", "not TOML"), ("[network]\nwidth = 'x'", "type int")],
)
def test_wrong_files(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        load_config(path)
    assert str(path) in str(caught.value)


def test_absent_file_and_unknown_ablation(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="gated-residual"):
        load_config(None, (), "no-such")
