"""Very long videos are scored a part at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vastsum.types import IntArray

# Attention compares every segment with every other, and the mean over like frames every pick: some twelve minutes at a
# time, or seventeen where little happens, keep memory the same however long a video is. Training videos have up to 130
# segments and 1294 picks, so nothing that was learned reaches further.
MAX_SEGMENTS_AT_ONCE = 144
MAX_PICKS_AT_ONCE = 2048


def windows_of(ids: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of picks to be scored at once, by the segment each lies in: whole segments, unless one is too long."""
    start = 0
    while start < len(ids):
        end = int(min(np.searchsorted(ids, ids[start] + MAX_SEGMENTS_AT_ONCE), start + MAX_PICKS_AT_ONCE))
        if end < len(ids) and ids[end] > ids[start]:
            end = int(np.searchsorted(ids, ids[end]))
        yield start, end
        start = end
