"""Ways to spoil a file: its bytes, its text, or the values of its JSON."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

Mutator = Callable[[bytes, random.Random, Sequence[bytes]], bytes]
"""From a file, a source of chance and other files of its kind, another file."""

MAX_BYTES = 1 << 16
_INTEGERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63, 2**64 - 1)
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e-300, 1e308, 10**30, -(2**63), 2**53 + 1, float("nan"), float("inf"),
    "", " ", "\0", "../..", "video_1", "ä", "\ud800", "a" * 300, [], {}, [[]], [None], {"": None}, [0, 1, 2],
)  # fmt: skip


def mutate_bytes(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """One to six small changes, in nine of ten cases of single places, else of whole stretches."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        change = rng.choice(_POINT_CHANGES if rng.random() < 0.9 else _STRETCH_CHANGES)
        change(changed, rng)
    if others and rng.random() < 0.03:
        other = rng.choice(others)
        at, cut = rng.randrange(len(changed) + 1), rng.randrange(len(other) + 1)
        changed[at:] = other[cut:]
    return bytes(changed)


def _flip(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _set(data: bytearray, rng: random.Random) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _set_integer(data: bytearray, rng: random.Random) -> None:
    size, order = rng.choice((2, 4, 8)), rng.choice("<>")
    value = rng.choice(_INTEGERS) % (1 << (8 * size))
    at = rng.randrange(max(len(data) - size, 0) + 1)
    data[at : at + size] = struct.pack(order + {2: "H", 4: "I", 8: "Q"}[size], value)


def _stretch(data: bytearray, rng: random.Random) -> slice:
    start = rng.randrange(len(data) + 1)
    return slice(start, start + rng.choice((1, 4, 16, 64, 1024)))


def _remove(data: bytearray, rng: random.Random) -> None:
    del data[_stretch(data, rng)]


def _repeat(data: bytearray, rng: random.Random) -> None:
    place = _stretch(data, rng)
    data[place.start : place.start] = data[place]


def _blank(data: bytearray, rng: random.Random) -> None:
    place = _stretch(data, rng)
    data[place] = bytes([rng.choice((0, 255, 32))]) * len(data[place])


def _insert(data: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(data) + 1)
    data[at:at] = rng.randbytes(rng.choice((1, 4, 32)))


def _cut_off(data: bytearray, rng: random.Random) -> None:
    del data[rng.randrange(len(data) + 1) :]


_Change = Callable[[bytearray, random.Random], None]
_POINT_CHANGES: tuple[_Change, ...] = (_flip, _set, _set_integer)
_STRETCH_CHANGES: tuple[_Change, ...] = (_remove, _repeat, _blank, _insert, _cut_off)


def mutate_json(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """Mostly other values in a file that stays JSON; now and then other bytes."""
    if rng.random() < 0.15:
        return mutate_bytes(data, rng, others)
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng, others)
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = _with_another_value(content, rng)
    text = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _with_another_value(content: Any, rng: random.Random) -> Any:
    """A walk down to some value, which is replaced, removed, doubled or renamed where it stands."""
    if not isinstance(content, dict | list) or not content or rng.random() < 0.1:
        return _another(content, rng)
    key: Any = rng.choice(list(content)) if isinstance(content, dict) else rng.randrange(len(content))
    if rng.random() < 0.7:
        content[key] = _with_another_value(content[key], rng)
        return content
    what = rng.randrange(4)
    if what == 0:
        del content[key]
    elif what == 1 and isinstance(content, list):
        content.insert(key, deepcopy(content[key]))
    elif what == 1:
        content[rng.choice(("", "x", str(key) + "_keys", *content))] = deepcopy(content[key])
    elif what == 2:
        content[key] = deepcopy(rng.choice(list(content.values() if isinstance(content, dict) else content)))
    else:
        content[key] = _another(content[key], rng)
    return content


def _another(value: Any, rng: random.Random) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool) and rng.random() < 0.5:
        return rng.choice((value + 1, value - 1, -value, value * 2, value / 3, str(value)))
    if isinstance(value, str) and value and rng.random() < 0.5:
        return mutate_bytes(value.encode("utf-8", "replace"), rng).decode("utf-8", "replace")
    return deepcopy(rng.choice(_VALUES))


def text_mutator(words: Sequence[str]) -> Mutator:
    """For lines of text: words that mean something to its reader are put in, lines moved, bytes changed."""

    def mutate(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
        for _ in range(rng.choice((1, 2, 4))):
            kind = rng.random()
            if kind < 0.5:
                at, end = sorted(rng.randrange(len(data) + 1) for _ in range(2))
                word = rng.choice(words).encode("utf-8", "surrogatepass")
                data = data[:at] + word + data[at if rng.random() < 0.5 else min(end, at + 8) :]
            elif kind < 0.7:
                lines = data.split(b"\n")
                lines.insert(rng.randrange(len(lines) + 1), lines[rng.randrange(len(lines))])
                data = b"\n".join(lines)
            else:
                data = mutate_bytes(data, rng, others)
        return data

    return mutate
