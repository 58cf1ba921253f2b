"""Which frames are sampled: read back from the pictures themselves."""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from films import KINDS, Recipe, make_video, read_index, times_of

from vastsum.errors import ConfigError, VideoError
from vastsum.video import Sample, probe, sample

VideoOf = Callable[[str], Path]
JUMPS = Path(__file__).parents[3] / "shared" / "videos" / "Jumps.webm"


def taken(path: Path, **options: object) -> list[Sample]:
    with sample(path, **options) as samples:  # type: ignore[arg-type]
        return list(samples)


def on_screen(times: list[Fraction], fps: float, duration_s: float) -> list[int]:
    """By definition: for each k the last frame shown at or before k / fps."""
    indices = []
    k = 0
    while k / fps < duration_s - 1e-9:
        indices.append(bisect_right(times, Fraction(k) / Fraction(fps)) - 1)
        k += 1
    return sorted(set(indices))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_the_frames_their_index_says(video_of: VideoOf, kind: str, exact: bool) -> None:
    samples = taken(video_of(kind), fps=4.0, exact=exact)
    assert [read_index(s.image) for s in samples] == [s.index for s in samples]
    assert all(s.image.shape == (224, 224, 3) and s.image.dtype == np.uint8 for s in samples)


@pytest.mark.parametrize("fps", [0.7, 2.0, 7.5, 100.0])
@pytest.mark.parametrize("kind", ["h264 mp4", "h264 mp4 short GOP", "h264 mp4 open GOP", "ntsc", "variable rate mp4"])
def test_sampled_are_the_frames_on_screen(video_of: VideoOf, kind: str, fps: float) -> None:
    with sample(video_of(kind), fps) as samples:
        found = list(samples)
    times = times_of(kind)
    assert [s.index for s in found] == on_screen(times, fps, samples.timeline.duration_s)
    assert [read_index(s.image) for s in found] == [s.index for s in found]
    np.testing.assert_allclose([s.time_s for s in found], [float(times[s.index]) for s in found], atol=1e-6)


@pytest.mark.parametrize("every", [1, 7, 15])
@pytest.mark.parametrize("kind", ["h264 mp4", "h264 mp4 open GOP", "vp9 webm", "mpeg4 avi", "hevc mkv"])
def test_every_nth_frame(video_of: VideoOf, kind: str, every: int) -> None:
    samples = taken(video_of(kind), every=every)
    wanted = list(range(0, KINDS[kind][1].n_frames, every))
    assert [s.index for s in samples] == wanted
    assert [read_index(s.image) for s in samples] == wanted


def test_edit_list_is_respected(edit_list_video: Path) -> None:
    samples = taken(edit_list_video, every=20)
    assert [s.index for s in samples] == [0, 20, 40, 60]
    assert [read_index(s.image) for s in samples] == [10, 30, 50, 70]


def packed(path: Path, plain: Path) -> Path:
    """As DivX and Xvid do: a B-frame goes into the packet of the frame it refers to, an empty packet comes after."""
    divx = b"\0\0\1\xb2DivX503b1393p"
    with av.open(str(plain)) as source, av.open(str(path), "w") as out:
        stream = out.add_stream_from_template(source.streams.video[0])
        stream.codec_context.extradata = (stream.codec_context.extradata or b"") + divx
        found = [bytes(packet) for packet in source.demux(video=0) if packet.size]
        at, n_packed = 0, 0
        for n, data in enumerate(found):
            vop = data.index(b"\0\0\1\xb6")
            data = data[:vop] + divx * (n == 0) + data[vop:]
            if n + 1 < len(found) and found[n + 1][4] & 0xC0 == 0x80:  # a B-frame comes next
                data += found[n + 1]
                n_packed += 1
            elif data[4] & 0xC0 == 0x80:
                data = b"\0\0\1\xb6\x51\xf4\x7f"
            packet = av.Packet(data)
            packet.pts = packet.dts = at
            packet.stream, packet.is_keyframe, at = stream, n == 0, at + 1
            out.mux(packet)
    assert n_packed > 10
    return path


def test_frames_that_share_packets(tmp_path: Path) -> None:
    plain = make_video(tmp_path / "plain.avi", Recipe(codec="mpeg4", b_frames=1, gop=300))
    with sample(packed(tmp_path / "packed.avi", plain), every=1) as samples:
        found = list(samples)
    assert [s.index for s in found] == [read_index(s.image) for s in found] == list(range(90))
    assert samples.timeline.warnings == ()


def test_keyframes_only_gives_key_frames(video_of: VideoOf) -> None:
    with sample(video_of("h264 mp4 short GOP"), keyframes_only=True) as samples:
        found = list(samples)
    assert [read_index(s.image) for s in found] == [s.index for s in found]
    assert {s.index for s in found} <= set(samples.timeline.keyframes.tolist())
    assert len(found) >= 5
    assert samples.timeline.n_frames == 90
    assert samples.timeline.warnings == ()


@pytest.mark.parametrize("kind", ["h264 mp4 open GOP", "hevc mkv", "vp8 webm", "av1 webm", "mjpeg avi", "mpeg2 mpg"])
def test_keyframes_of_other_codecs(video_of: VideoOf, kind: str) -> None:
    samples = taken(video_of(kind), keyframes_only=True)
    assert samples
    assert [read_index(s.image) for s in samples] == [s.index for s in samples]


def test_sparse_key_frames_are_mentioned(video_of: VideoOf) -> None:
    with sample(video_of("av1 mp4"), keyframes_only=True) as samples:
        assert len(list(samples)) == 1
    assert samples.timeline.keyframe_interval_s == pytest.approx(2.0)
    with sample(video_of("vp9 webm"), keyframes_only=True) as samples:
        assert len(list(samples)) == 1
    assert any("key frames are 3.0 s apart;" in w for w in samples.timeline.warnings)


def test_frame_long_on_screen_comes_once(tmp_path: Path) -> None:
    slides = make_video(tmp_path / "slides.mp4", Recipe(n_frames=5, fps=Fraction(1, 4)))
    samples = taken(slides, fps=2.0)
    assert [s.index for s in samples] == [0, 1, 2, 3, 4]
    assert [s.time_s for s in samples] == [0, 4, 8, 12, 16]


def test_size_and_colours(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mp4", Recipe(n_frames=2))
    assert taken(path, size=(64, 32))[0].image.shape == (32, 64, 3)
    with av.open(str(tmp_path / "red.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        red = np.zeros((64, 64, 3), np.uint8)
        red[:, :, 0] = 200
        out.mux(stream.encode(av.VideoFrame.from_ndarray(red)))
        out.mux(stream.encode(None))
    np.testing.assert_allclose(taken(tmp_path / "red.mp4")[0].image[100, 100], [200, 0, 0], atol=6)


def test_fast_pictures_look_like_exact_ones(video_of: VideoOf) -> None:
    for fast, exact in zip(taken(video_of("h264 mp4")), taken(video_of("h264 mp4"), exact=True), strict=True):
        assert np.abs(fast.image.astype(int) - exact.image).mean() < 3


def test_timeline_waits_for_the_last_sample(video_of: VideoOf) -> None:
    with sample(video_of("h264 mp4"), every=1) as samples:  # more than are decoded ahead, so it cannot be at the end
        next(samples)
        with pytest.raises(VideoError, match="after the last sample"):
            _ = samples.timeline


def decoding_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "vastsum-decode"]


def test_stopping_early_stops_decoding(video_of: VideoOf) -> None:
    with sample(video_of("60 fps"), every=1) as samples:
        next(samples)
    assert decoding_threads() == []
    assert list(samples) == []


def test_dropping_the_iterator_stops_decoding(video_of: VideoOf) -> None:
    samples = sample(video_of("60 fps"), every=1)
    next(samples)
    del samples
    deadline = time.monotonic() + 5
    while decoding_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert decoding_threads() == []


def test_decoding_does_not_run_away_from_a_slow_consumer(tmp_path: Path) -> None:
    path = make_video(tmp_path / "long.mp4", Recipe(n_frames=400))
    with sample(path, every=1) as samples:
        next(samples)
        time.sleep(0.5)
        assert samples._ahead._feed.made.qsize() < 100
        assert 1 + sum(1 for _ in samples) == 400


def test_progress_reaches_the_end(video_of: VideoOf) -> None:
    seen: list[tuple[float, float | None]] = []
    with sample(video_of("h264 mp4"), progress=lambda done, total: seen.append((done, total))) as samples:
        list(samples)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[0] == (0.0, pytest.approx(3.0, abs=0.1))
    assert seen[-1] == (pytest.approx(3.0), pytest.approx(3.0))


@pytest.mark.parametrize("options", [{"fps": 0}, {"fps": -1}, {"fps": float("nan")}, {"every": 0}])
def test_senseless_rates_are_refused(video_of: VideoOf, options: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        sample(video_of("1 frame"), **options)  # type: ignore[arg-type]


@pytest.mark.skipif(not JUMPS.exists(), reason="needs the project's shared videos (../shared/videos/Jumps.webm)")
def test_benchmark_video_gives_the_benchmarks_picks() -> None:
    with sample(JUMPS, every=15) as samples:
        indices = [s.index for s in samples]
    assert indices == list(range(0, 950, 15))
    assert len(indices) == 64
    assert samples.timeline.n_frames == 950
    assert probe(JUMPS).codec == "vp8"
