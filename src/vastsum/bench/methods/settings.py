"""Settings in sections: read from files and `section.key=value`, each checked as it comes in."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, Self, get_args, get_type_hints

from vastsum.errors import ConfigError


@dataclass(frozen=True)
class Sections:
    """Every field is a section: a frozen dataclass of numbers, words and switches."""

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], where: str) -> Self:
        return cls().with_settings(flatten(content, where), where)

    def with_settings(self, settings: Mapping[str, Any], where: str) -> Self:
        """A copy with dotted settings changed, such as {"network.width": 128}; unknown names are errors."""
        changes: dict[str, dict[str, Any]] = {}
        for name, value in settings.items():
            section, _, key = name.partition(".")
            changes.setdefault(section, {})[key] = self._checked(where, section, key, value)
        return replace(self, **{section: replace(getattr(self, section), **keys) for section, keys in changes.items()})

    def _checked(self, where: str, section: str, key: str, value: Any) -> Any:
        sections = [part.name for part in fields(self)]
        if section not in sections:
            raise ConfigError(where, f"there is no section '{section}'", f"choose one of {', '.join(sections)}")
        kinds = get_type_hints(type(getattr(self, section)))
        if key not in kinds:
            raise ConfigError(where, f"there is no setting '{section}.{key}'", f"choose one of {', '.join(kinds)}")
        return _as(kinds[key], value, where, f"{section}.{key}")


def require(
    section: str,
    config: object,
    *,
    positive: Sequence[str] = (),
    not_negative: Sequence[str] = (),
    below_one: Sequence[str] = (),
    at_most: Mapping[str, float] | None = None,
) -> None:
    """Hold the numbers of a section to their ranges."""

    def refuse(name: str, problem: str, remedy: str) -> ConfigError:
        return ConfigError(f"{section}.{name}", f"{getattr(config, name)} {problem}", remedy)

    for name in positive:
        if not getattr(config, name) > 0:
            raise refuse(name, "is not positive", "use a number above 0")
    for name in (*not_negative, *below_one):
        if not getattr(config, name) >= 0:
            raise refuse(name, "is negative", "use 0 or more")
    for name in below_one:
        if not getattr(config, name) < 1:
            raise refuse(name, "is not below 1", "use a number from 0 to below 1")
    for name, most in (at_most or {}).items():
        if getattr(config, name) > most:
            raise refuse(name, "is too much", f"use at most {most:g}")


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return flatten(tomllib.loads(Path(path).read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise ConfigError(path, f"cannot be read ({error.strerror})", "give the path of a TOML file") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, or nested beyond all measure
        raise ConfigError(path, f"is not TOML ({error})", "write settings as in docs/training.md") from error


def flatten(content: Any, where: str) -> dict[str, Any]:
    """{"network": {"width": 128}} as {"network.width": 128}."""
    settings: dict[str, Any] = {}
    if not isinstance(content, Mapping):
        raise ConfigError(where, "holds no settings", "put them under [network], [loss] or [training]")
    for section, keys in content.items():
        if not isinstance(keys, Mapping):
            problem = f"'{section}' stands outside a section"
            raise ConfigError(where, problem, "put it under [network], [loss] or [training]")
        settings |= {f"{section}.{key}": value for key, value in keys.items()}
    return settings


def parse_assignment(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or "." not in name:
        raise ConfigError("--set", f"'{text}' is not section.key=value", "write e.g. --set network.width=128")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        return name.strip(), value.strip()


def _as(kind: Any, value: Any, where: str, name: str) -> Any:
    """The value, if it is one of this type."""
    choices = get_args(kind)
    if choices:
        if value not in choices:
            raise ConfigError(where, f"{name} cannot be '{value}'", f"choose one of {', '.join(choices)}")
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float and is_number and (isinstance(value, float) or _is_finite(value)):
        return float(value)
    if kind is int and is_number and _is_finite(value) and value == int(value):
        return int(value)
    if kind is bool and isinstance(value, bool):
        return value
    raise ConfigError(where, f"{name} cannot be '{value}'", f"give it a value of type {kind.__name__}")


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False
