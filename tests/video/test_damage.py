"""Damaged and hostile files: what can be decoded is used, what was lost is said, and nothing half-written stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import av
import numpy as np
import pytest
from films import Recipe, make_video, play, read_index

from vastsum.errors import VideoError
from vastsum.video import Sample, Timeline, grab, probe, read_timeline, sample, write_summary

N_FRAMES = 300
WHOLE = {
    "faststart mp4": (".mp4", Recipe(n_frames=N_FRAMES, sounds=["aac"], container_options={"movflags": "+faststart"})),
    "mp4": (".mp4", Recipe(n_frames=N_FRAMES, sounds=["aac"])),
    "mkv": (".mkv", Recipe(n_frames=N_FRAMES, sounds=["aac"], b_frames=2, gop=30)),
    "webm": (".webm", Recipe(codec="libvpx", n_frames=N_FRAMES, sounds=["libopus"], gop=50)),
    "avi": (".avi", Recipe(codec="mpeg4", n_frames=N_FRAMES, sounds=["libmp3lame"])),
    "ts": (".ts", Recipe(n_frames=N_FRAMES, sounds=["aac"], gop=60)),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("whole")

    def video(kind: str) -> Path:
        suffix, recipe = WHOLE[kind]
        path = folder / (kind.replace(" ", "_") + suffix)
        return path if path.exists() else make_video(path, recipe)

    return video


def use(path: Path) -> tuple[list[Sample], Timeline]:
    with sample(path) as samples:
        found = list(samples)
    return found, samples.timeline


def truncated(source: Path, tenths: int, folder: Path) -> Path:
    path = folder / f"cut{source.suffix}"
    data = source.read_bytes()
    header = data.index(b"mdat") if data.find(b"moov") < data.find(b"mdat") else 0
    path.write_bytes(data[: header + (len(data) - header) * tenths // 10])
    return path


@pytest.mark.parametrize("tenths", range(1, 10))
@pytest.mark.parametrize("kind", ["faststart mp4", "mkv", "webm", "avi"])
def test_cut_off_file_gives_its_start_and_says_so(
    whole: Callable[[str], Path], tmp_path: Path, kind: str, tenths: int
) -> None:
    path = truncated(whole(kind), tenths, tmp_path)
    samples, timeline = use(path)
    assert samples[0].index == 0
    assert 10 < timeline.n_frames < N_FRAMES
    assert [read_index(s.image) for s in samples[:-1]] == [s.index for s in samples[:-1]]
    assert any("stops at" in warning for warning in timeline.warnings)
    last = timeline.n_frames - 1
    written = write_summary(path, [(0, 3), (last - 5, last)], tmp_path / "out.mp4", timeline=timeline)
    assert play(tmp_path / "out.mp4").indices[:4] == [0, 1, 2, 3]
    assert written.has_audio
    assert len(grab(path, [0.0, timeline.duration_s])) == 2


@pytest.mark.parametrize("tenths", range(1, 10))
def test_cut_off_stream_is_a_shorter_stream(whole: Callable[[str], Path], tmp_path: Path, tenths: int) -> None:
    samples, timeline = use(truncated(whole("ts"), tenths, tmp_path))
    assert 10 < timeline.n_frames < N_FRAMES
    assert [read_index(s.image) for s in samples[:-1]] == [s.index for s in samples[:-1]]


@pytest.mark.parametrize("tenths", range(1, 10))
def test_cut_off_before_its_index_is_a_clear_error(whole: Callable[[str], Path], tmp_path: Path, tenths: int) -> None:
    path = truncated(whole("mp4"), tenths, tmp_path)
    for use_it in (probe, sample, lambda p: grab(p, [0.0]), lambda p: write_summary(p, [(0, 1)], tmp_path / "o.mp4")):
        with pytest.raises(VideoError, match="cut off: its index"):
            use_it(path)
    assert not (tmp_path / "o.mp4").exists()


def test_cut_off_before_the_first_frame_is_a_clear_error(whole: Callable[[str], Path], tmp_path: Path) -> None:
    data = whole("faststart mp4").read_bytes()
    path = tmp_path / "header.mp4"
    path.write_bytes(data[: data.index(b"mdat") + 4])
    with pytest.raises(VideoError):
        probe(path)
    with pytest.raises(VideoError), sample(path) as samples:
        list(samples)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["faststart mp4", "mkv", "webm", "avi", "ts"])
def test_flipped_bits_do_not_stop_the_rest(whole: Callable[[str], Path], tmp_path: Path, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(whole(kind).read_bytes())
    start = max(data.find(b"mdat"), 2000)  # headers are for other tests
    for position in rng.integers(start, len(data), 20):
        data[position] ^= 1 << int(rng.integers(8))
    path = tmp_path / f"flipped{whole(kind).suffix}"
    path.write_bytes(data)
    samples, timeline = use(path)
    assert len(samples) >= 8
    assert len(samples) >= 18 or timeline.warnings
    assert [s.index for s in samples] == sorted({s.index for s in samples})
    assert timeline.n_frames > 0.8 * N_FRAMES or timeline.warnings
    ranges = [(5, 30), (timeline.n_frames - 30, timeline.n_frames - 1)]
    write_summary(path, ranges, tmp_path / "out.mp4", timeline=timeline)
    assert len(play(tmp_path / "out.mp4").indices) > 30


@pytest.mark.parametrize("seed", range(12))
def test_flipped_bits_in_headers_never_crash(whole: Callable[[str], Path], tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = ["faststart mp4", "mkv", "avi"][seed % 3]
    data = bytearray(whole(kind).read_bytes())
    for position in rng.integers(0, 2500, 6):
        data[position] ^= 1 << int(rng.integers(8))
    path = tmp_path / f"flipped{whole(kind).suffix}"
    path.write_bytes(data)
    error: VideoError | None = None
    try:
        samples, timeline = use(path)
    except VideoError as raised:
        error = raised
    if error is not None:
        assert error.problem
        assert error.remedy
    else:
        assert samples
        assert timeline.n_frames >= len(samples)


def test_frames_lost_in_the_middle_are_counted(whole: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "hole.mkv"
    data = bytearray(whole("mkv").read_bytes())
    third = len(data) // 3
    data[third : third + len(data) // 6] = bytes(len(data) // 6)
    path.write_bytes(data)
    samples, timeline = use(path)
    assert samples[0].index == 0
    assert samples[-1].time_s > 9
    assert timeline.warnings or timeline.n_frames < N_FRAMES


def test_undecodable_frames_are_counted(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", Recipe(codec="mjpeg", pix_fmt="yuvj420p", n_frames=60))
    broken = tmp_path / "broken.mkv"
    with av.open(str(path)) as source, av.open(str(broken), "w") as out:
        stream = out.add_stream_from_template(source.streams.video[0], opaque=True)
        for n, packet in enumerate(p for p in source.demux(video=0) if p.size):
            if 20 <= n < 40:
                spoiled = av.Packet(b"\0" * packet.size)
                spoiled.pts, spoiled.dts, spoiled.time_base = packet.pts, packet.dts, packet.time_base
                spoiled.is_keyframe = True
                packet = spoiled
            packet.stream = stream
            out.mux(packet)
    samples, timeline = use(broken)
    assert timeline.n_frames == 60
    assert [read_index(s.image) for s in samples] == [s.index for s in samples]
    assert [s.index for s in samples] == [0, 15, 45]
    assert any("1 sampled frames could not be decoded" in warning for warning in timeline.warnings)
    written = write_summary(broken, [(10, 50)], tmp_path / "out.mp4")
    assert written.warnings == ("20 frames of the summary could not be decoded and are missing in it",)
    assert play(tmp_path / "out.mp4").indices == [*range(10, 20), *range(40, 51)]


def test_nothing_decodable_is_a_clear_error(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", Recipe(codec="mjpeg", pix_fmt="yuvj420p", n_frames=10))
    broken = tmp_path / "broken.mkv"
    with av.open(str(path)) as source, av.open(str(broken), "w") as out:
        stream = out.add_stream_from_template(source.streams.video[0], opaque=True)
        for packet in source.demux(video=0):
            if packet.size:
                spoiled = av.Packet(b"\0" * packet.size)
                spoiled.pts, spoiled.dts, spoiled.time_base = packet.pts, packet.dts, packet.time_base
                spoiled.stream = stream
                out.mux(spoiled)
    with pytest.raises(VideoError, match="none of its frames can be decoded"):
        probe(broken)
    with pytest.raises(VideoError, match="none of its frames can be decoded"), sample(broken) as samples:
        list(samples)
    with pytest.raises(VideoError, match="can be decoded"):
        write_summary(broken, [(0, 5)], tmp_path / "out.mp4")
    assert not (tmp_path / "out.mp4").exists()


def test_headers_that_lie_about_the_length_are_not_believed(whole: Callable[[str], Path], tmp_path: Path) -> None:
    """Matroska's duration is one float in the header: make it a hundredth, and a hundredfold."""
    data = whole("mkv").read_bytes()
    at = data.index(b"\x44\x89\x88") + 3  # Duration, eight bytes
    for factor in (0.01, 100.0):
        true = np.frombuffer(data[at : at + 8], ">f8")[0]
        path = tmp_path / f"lie{factor}.mkv"
        path.write_bytes(data[:at] + np.array([true * factor], ">f8").tobytes() + data[at + 8 :])
        samples, timeline = use(path)
        assert (timeline.n_frames, len(samples)) == (N_FRAMES, 20)
        assert timeline.duration_s == pytest.approx(10.0, abs=0.01)


@pytest.mark.parametrize(
    ("missing", "words"),
    [([40, 41], "2 frames are missing in 1 place"), ([40, 41, 60, 61], "4 frames are missing in 2 places")],
)
def test_gaps_are_counted(tmp_path: Path, missing: list[int], words: str) -> None:
    times = [n for n in range(200) if n not in missing]
    recipe = Recipe(times=times, n_frames=len(times), options={"bf": "0"})
    assert read_timeline(make_video(tmp_path / "a.mp4", recipe)).warnings == (words,)


def test_file_that_shrinks_after_it_was_sampled(whole: Callable[[str], Path], tmp_path: Path) -> None:
    path = tmp_path / "shrinks.mkv"
    shutil.copy(whole("mkv"), path)
    _, timeline = use(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    written = write_summary(path, [(0, 9), (280, 289)], tmp_path / "out.mp4", timeline=timeline)
    assert written.warnings == ("10 frames of the summary could not be decoded and are missing in it",)
    assert play(tmp_path / "out.mp4").indices == list(range(10))


def test_timeline_of_another_video_cannot_do_harm(whole: Callable[[str], Path], tmp_path: Path) -> None:
    _, timeline = use(whole("mkv"))
    shifted = replace(timeline, pts=timeline.pts + 10_000_000)
    with pytest.raises(VideoError, match="none of the chosen frames"):
        write_summary(whole("mkv"), [(0, 9)], tmp_path / "out.mp4", timeline=shifted)
    assert list(tmp_path.iterdir()) == []
