"""What is fuzzed: something that reads a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz.mutation import Mutator


@dataclass(frozen=True)
class Target:
    """`use` reads a file called `file`; it may refuse it with a VastsumError, and do nothing else but succeed.

    `native` targets run code in C that may crash or hang: they are for mutation in processes of their own, and too slow
    for engines that watch every line of Python.
    """

    file: str
    seeds: Callable[[Path], list[bytes]]
    use: Callable[[Path], object]
    mutate: Mutator
    native: bool = False
