"""Very long videos are scored a part at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vastsum.types import IntArray

# Attention compares every segment with every other, and so does the mean over like frames with picks: some twelve
# minutes at a time keep memory the same however long a video is. No training video is longer than either of these, so
# nothing that was learned reaches further.
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
