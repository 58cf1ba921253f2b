"""Long videos are taken apart between segments."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vastsum.scorers import windows


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
def test_windows_hold_every_pick_once_and_whole_segments(sizes: list[int]) -> None:
    ids = np.repeat(np.arange(0, 2 * len(sizes), 2), sizes)  # every other segment has no pick
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(windows, "MAX_SEGMENTS_AT_ONCE", 9)
        patched.setattr(windows, "MAX_PICKS_AT_ONCE", 30)
        found = list(windows.windows_of(ids))
    assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
    assert found[-1][1] == len(ids)
    for start, end in found:
        assert 0 < end - start <= 30
        assert ids[end - 1] - ids[start] < 9
        whole = end == len(ids) or ids[end] != ids[end - 1]
        assert whole or ids[start] == ids[end - 1], "only a segment too long for a window is cut"
