"""Segments begin and end where a person would cut."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from vastsum.segmentation import LONGEST_S, at_good_places
from vastsum.types import Marks, Segments, Stretch

FPS = 25


def tiling(starts: list[int], n_frames: int = 1000) -> Segments:
    bounds = np.column_stack([starts, [*[start - 1 for start in starts[1:]], n_frames - 1]])
    return Segments(bounds, np.arange(0, n_frames, 12), n_frames, float(FPS))


def starts_of(segments: Segments) -> list[int]:
    return segments.bounds[:, 0].tolist()


def test_a_boundary_near_a_hard_cut_moves_there_and_others_stay() -> None:
    found = at_good_places(tiling([0, 87, 160]), Marks(cuts=(100,)), max_s=100)
    assert starts_of(found) == [0, 100, 160]


def test_segments_do_not_straddle_a_hard_cut() -> None:
    found = at_good_places(tiling([0, 300]), Marks(cuts=(100, 500)), max_s=100)
    assert starts_of(found) == [0, 100, 300, 500]


def test_shots_shorter_than_a_second_are_taken_together() -> None:
    found = at_good_places(tiling([0]), Marks(cuts=(500, 510, 520)), max_s=100)
    lengths = found.lengths
    assert lengths.min() >= FPS
    assert set(starts_of(found)) <= {0, 500, 510, 520}


def test_shots_that_would_flash_up_lie_within_segments() -> None:
    cuts = Marks(cuts=(100, 110, 160, 500))
    assert starts_of(at_good_places(tiling([0]), cuts, max_s=7)) == [0, 160, 330, 500, 666, 833]
    assert starts_of(at_good_places(tiling([0]), cuts, max_s=4))[:3] == [0, 100, 160]  # 160 frames are more than 4 s


def test_what_shows_nothing_is_a_segment_of_its_own_however_short() -> None:
    found = at_good_places(tiling([0]), Marks(empty=(Stretch(200, 209, "black"),)), max_s=100)
    assert starts_of(found) == [0, 200, 210]
    at_the_end = at_good_places(tiling([0]), Marks(empty=(Stretch(980, 999, "black"),)), max_s=100)
    assert starts_of(at_the_end) == [0, 980]


def test_less_than_a_second_between_empty_stretches_goes_with_them() -> None:
    card = (Stretch(200, 299, "frozen"), Stretch(310, 399, "black"))
    assert starts_of(at_good_places(tiling([0]), Marks(empty=card), max_s=100)) == [0, 200, 300, 400]


def test_no_boundary_lies_inside_a_fade() -> None:
    found = at_good_places(tiling([0, 210, 500]), Marks(), fades=[Stretch(200, 240)], max_s=100)
    assert starts_of(found) == [0, 200, 500]


def test_boundaries_move_to_pauses_but_never_over_a_hard_cut() -> None:
    def pause_near(frame: int) -> int | None:
        return {300: 310, 520: 490}.get(frame)

    found = at_good_places(tiling([0, 300, 520]), Marks(cuts=(500,)), pause_near=pause_near, max_s=100)
    assert starts_of(found) == [0, 310, 500]


def test_long_shots_are_split() -> None:
    found = at_good_places(tiling([0, 500]), Marks(cuts=(30,)), max_s=LONGEST_S)
    assert found.lengths.max() <= LONGEST_S * FPS
    assert 500 in starts_of(found)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_was_found_segments_tile_the_video(data: st.DataObject) -> None:
    n_frames = data.draw(st.integers(1, 400))
    frames = st.integers(0, n_frames - 1)
    starts = sorted({0} | data.draw(st.sets(frames, max_size=8)))
    edges = sorted(data.draw(st.sets(frames, max_size=6)))
    empty = tuple(Stretch(a, b, "black") for a, b in zip(edges[::2], edges[1::2], strict=False))
    fades = [Stretch(frame, min(frame + 9, n_frames - 1)) for frame in data.draw(st.lists(frames, max_size=3))]
    marks = Marks(cuts=tuple(sorted(data.draw(st.sets(frames, max_size=6)) - {0})), empty=empty)
    found = at_good_places(tiling(starts, n_frames), marks, fades=fades, max_s=3.0)
    assert found.lengths.min() > 0
    assert found.lengths.sum() == n_frames
    assert starts_of(found)[0] == 0
    stretches = [(one.first_frame, one.last_frame) for one in empty]
    for first, last in found.bounds.tolist():
        assert last - first + 1 >= FPS or (first, last) in stretches or n_frames < FPS
