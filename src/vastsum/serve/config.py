"""How a studio is set up."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vastsum.errors import ConfigError
from vastsum.scoring.onnx_scorer import EMBEDDED

MIN_TOKEN_LENGTH = 8
GIB = 2**30


@dataclass(frozen=True)
class StudioSettings:
    """`library` and `models` are folders to read videos and .onnx scorers from; all else is under `data`."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    library: Path | None = None
    models: Path | None = None
    token: str | None = None
    names: tuple[str, ...] = ()  # further host names that browsers may use for this server
    workers: int = 1
    max_queued: int = 100
    max_upload_bytes: int = 20 * GIB
    max_uploads: int = 8  # at a time

    def __post_init__(self) -> None:
        if not self.on_loopback and not self.token:
            raise ConfigError(
                f"--host {self.host}",
                "others could use this studio without being asked who they are",
                "add --token with a secret of your own, or leave --host out",
            )
        if self.token is not None and self.token.strip() != self.token:  # as HTTP and copying would trim it
            raise ConfigError("--token", "begins or ends with a space", "leave the space out")
        if self.token is not None and (len(self.token) < MIN_TOKEN_LENGTH or len(set(self.token)) == 1):
            raise ConfigError(
                "--token", "is easily guessed", f"use at least {MIN_TOKEN_LENGTH} characters, not all the same"
            )
        for option, folder in (("--library", self.library), ("--models", self.models)):
            if folder is not None and not folder.is_dir():
                raise ConfigError(f"{option} {folder}", "is not a folder", "check the name")

    @property
    def on_loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"

    @cached_property
    def known_names(self) -> frozenset[str]:
        """What browsers may call this server, apart from its numeric addresses."""
        own = () if self.on_loopback else (self.host, socket.gethostname(), socket.getfqdn())
        return frozenset(name.lower() for name in ("localhost", *own, *self.names))

    def model_path(self, name: str) -> str | Path:
        """What `Summarizer` takes for a model of this name; names are looked up, never read as paths."""
        if name in EMBEDDED:
            return name
        for path in self._model_files():
            if path.stem == name:
                return path
        raise ConfigError(f"model '{name}'", "is not known here", f"choose one of {', '.join(self.model_names)}")

    @property
    def model_names(self) -> list[str]:
        return [*EMBEDDED, *(path.stem for path in self._model_files() if path.stem not in EMBEDDED)]

    def _model_files(self) -> list[Path]:
        return [] if self.models is None else sorted(path for path in self.models.glob("*.onnx") if path.is_file())


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
