"""A network opened for use, whichever library computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray


class Port(NamedTuple):
    """An input or output of a network. Sides that may vary are names or None."""

    type: str  # as ONNX Runtime writes it: tensor(float)
    shape: list[Any]


class Session(Protocol):
    device: str  # cpu or cuda
    inputs: dict[str, Port]
    outputs: dict[str, Port]
    metadata: dict[str, str]

    def run(self, names: Sequence[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        """The outputs called `names`. May be called from several threads."""
        ...


class NotHereError(Exception):
    """This library cannot run this network on this device here; another may. Its text is part of a sentence."""
