"""Runs decoded side by side give what one decoder gives, whole or damaged."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from films import Recipe, make_video, read_index

from vastsum.video import Sample, Timeline, sample

GOP = 15
N_FRAMES = 300


@pytest.fixture(scope="module")
def short_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = Recipe(n_frames=N_FRAMES, gop=GOP, b_frames=3, options={"x264-params": "scenecut=0"})
    return make_video(tmp_path_factory.mktemp("runs") / "runs.mp4", recipe)


def taken(path: Path, **options: object) -> tuple[list[Sample], Timeline]:
    with sample(path, **options) as samples:  # type: ignore[arg-type]
        found = list(samples)
    return found, samples.timeline


@pytest.mark.parametrize("options", [{"every": 1}, {"every": 1, "exact": True}, {"fps": 3.7}, {"keyframes_only": True}])
def test_cores_change_nothing(short_runs: Path, options: dict[str, object]) -> None:
    alone, _ = taken(short_runs, threads=1, **options)
    together, timeline = taken(short_runs, threads=4, **options)
    assert [s.index for s in together] == [s.index for s in alone] == [read_index(s.image) for s in together]
    assert all(np.array_equal(a.image, b.image) for a, b in zip(alone, together, strict=True))
    assert timeline.warnings == ()


def without(path: Path, frames: range, damaged: Path) -> Path:
    """The same file with noughts where these frames were."""
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        for packet in container.demux(stream):
            if packet.pts is None or packet.pos is None:
                continue
            if round(float(packet.pts * packet.time_base) * 30) in frames:
                data[packet.pos : packet.pos + packet.size] = bytes(packet.size)
    damaged.write_bytes(data)
    return damaged


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("lost", [range(GOP * 10, GOP * 11), range(GOP * 10 - 7, GOP * 10), range(GOP)], ids=str)
def test_the_nearest_frames_stand_in_for_a_lost_run(
    short_runs: Path, tmp_path: Path, lost: range, threads: int
) -> None:
    samples, timeline = taken(without(short_runs, lost, tmp_path / "damaged.mp4"), every=5, threads=threads)
    indices = [s.index for s in samples]
    assert indices == sorted(set(indices))
    assert {i for i in range(0, N_FRAMES, 5) if i not in lost} <= set(indices)
    assert [read_index(s.image) for s in samples] == indices
    assert any("could not be decoded; the nearest ones stand in" in warning for warning in timeline.warnings)
    assert lost.start == 0 or lost.start - 1 in indices  # the last frame there is


def test_key_frames_that_others_reach_across_are_decoded_on_their_own(tmp_path: Path) -> None:
    open_gop = "open-gop=1:bframes=3:b-adapt=0:scenecut=0"
    path = make_video(tmp_path / "open.mp4", Recipe(n_frames=N_FRAMES, gop=GOP, options={"x264-params": open_gop}))
    samples, timeline = taken(path, fps=30, keyframes_only=True)
    assert [s.index for s in samples] == timeline.keyframes.tolist() == list(range(0, N_FRAMES, GOP))
    assert [read_index(s.image) for s in samples] == [s.index for s in samples]
    assert timeline.warnings == ()
