"""A look at an HDF5 file before libhdf5 has one, for damage that would keep it busy for ever.

Texts of any length lie in "global heaps": rows of objects, each of which tells how long it is. Where one says that it
takes no room at all, libhdf5 reads it again and again (found by fuzzing; seen with libhdf5 2.0).
"""

from __future__ import annotations

import mmap
import re
from pathlib import Path

_BEGINNING = re.compile(rb"GCOL\x01\0\0\0")
_HEADER = 16  # of a heap, and of an object in it
_ALL_BITS = (1 << 64) - 1


def has_endless_heap(path: Path) -> bool:
    """Of files whose sizes take eight bytes, as all but the rarest do."""
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return not all(_comes_to_an_end(data, found.start()) for found in _BEGINNING.finditer(data))


def _comes_to_an_end(data: mmap.mmap, start: int) -> bool:
    end = min(start + int.from_bytes(data[start + 8 : start + _HEADER], "little"), len(data))
    at = start + _HEADER
    while at + _HEADER <= end:
        index = int.from_bytes(data[at : at + 2], "little")
        length = int.from_bytes(data[at + 8 : at + _HEADER], "little")
        # Object 0 is the free rest of the heap, and its length that of all of it. Sums overflow as libhdf5's do.
        step = length if index == 0 else (_HEADER + (length + 7 & ~7)) & _ALL_BITS
        if step == 0 or at + step > _ALL_BITS:
            return False
        at += step
    return True
