"""Long videos are taken apart between segments, and their parts joined without a step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vastsum.scoring import windows
from vastsum.types import FloatArray


@given(st.lists(st.integers(1, 40), min_size=1, max_size=60))
@example([16, 1, 1, 1, 1, 1])
def test_windows_overlap_and_hold_every_pick_and_whole_segments(sizes: list[int]) -> None:
    ids = np.repeat(np.arange(0, 2 * len(sizes), 2), sizes)  # every other segment has no pick
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(windows, "MAX_SEGMENTS_AT_ONCE", 9)
        patched.setattr(windows, "MAX_PICKS_AT_ONCE", 30)
        found = list(windows.windows_of(ids))
    assert found[0][0] == 0
    assert found[-1][1] == len(ids)
    for start, end in found:
        assert 0 < end - start <= 30
        assert ids[end - 1] - ids[start] < 9
    reached = 0
    for (start, end), (later_start, later_end) in pairwise(found):
        assert start < later_start <= end < later_end, "they go on, and nothing lies between them"
        assert ids[end] != ids[end - 1] or ids[end] == ids[reached], "cut is only what does not fit behind the last one"
        reached = end


def test_one_window_is_told_as_it_is() -> None:
    prediction = windows.predict_in_windows(np.arange(50), lambda a, b: (np.arange(a, b) / 7, np.ones(50)), "")
    np.testing.assert_array_equal(prediction.mean, np.arange(50) / 7)
    assert prediction.mean.dtype == prediction.std.dtype == np.float64


def test_windows_fade_into_each_other() -> None:
    def level(start: int, end: int) -> tuple[FloatArray, FloatArray]:
        """Windows that see the same frames, and say something else of them all."""
        value = 0.0 if start == 0 else 1.0
        return np.full(end - start, value), np.full(end - start, value)

    ids = np.zeros(3000, int)  # one shot without end
    (_, first_end), (second_start, _) = windows.windows_of(ids)
    assert first_end - second_start == windows.MAX_PICKS_AT_ONCE // windows.SHARED
    prediction = windows.predict_in_windows(ids, level, "")
    for curve in (prediction.mean, prediction.std):
        assert (curve[:second_start] == 0).all()
        assert (curve[first_end:] == 1).all()
        assert (np.diff(curve) >= 0).all()
        assert np.diff(curve).max() < 0.01
