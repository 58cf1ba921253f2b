"""A look at an HDF5 file before libhdf5 has one, for damage that would keep it busy for ever.

Texts of any length lie in "global heaps": rows of objects, each of which tells how long it is. Where one says that it
takes no room at all, libhdf5 reads it again and again (found by fuzzing; seen with libhdf5 2.0). Sizes are taken to be
of eight bytes, as they are in all but the rarest files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_BEGINNING = re.compile(rb"GCOL\x01\0\0\0")
_HEADER = 16  # of a heap, and of an object in it
_ALL_BITS = (1 << 64) - 1
_BLOCK = 1 << 24
_LARGEST_HEAP = 1 << 24  # they are of 4 kB, or as large as the one text in them


def has_endless_heap(path: Path) -> bool:
    with path.open("rb") as file:
        for start in list(_heaps(file)):
            file.seek(start)
            if not _comes_to_an_end(file.read(_LARGEST_HEAP)):
                return True
    return False


def _heaps(file: BinaryIO) -> Iterator[int]:
    """Where they begin. Blocks overlap, so that none is missed between two."""
    position, rest = 0, b""
    while block := file.read(_BLOCK):
        data = rest + block
        yield from (position - len(rest) + found.start() for found in _BEGINNING.finditer(data))
        position += len(block)
        rest = data[-7:]


def _comes_to_an_end(data: bytes) -> bool:
    end = min(int.from_bytes(data[8:_HEADER], "little"), len(data))
    at = _HEADER
    while at + _HEADER <= end:
        index = int.from_bytes(data[at : at + 2], "little")
        length = int.from_bytes(data[at + 8 : at + _HEADER], "little")
        # Object 0 is the free rest of the heap, and its length that of all of it. Sums overflow as libhdf5's do.
        step = length if index == 0 else (_HEADER + (length + 7 & ~7)) & _ALL_BITS
        if step == 0 or at + step > _ALL_BITS:
            return False
        at += step
    return True
