"""What a file says about itself, and what is said about files that are no videos."""

from __future__ import annotations

import os
import shutil
import wave
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
from films import KINDS, Recipe, make_video, times_of

from vastsum.errors import VideoError
from vastsum.video import limit_pixels, probe, read_timeline, sample, source

VideoOf = Callable[[str], Path]


@pytest.mark.parametrize("kind", KINDS)
def test_timeline_has_every_frame_at_its_time(video_of: VideoOf, kind: str) -> None:
    timeline = read_timeline(video_of(kind))
    times = [float(t) for t in times_of(kind)]
    assert timeline.n_frames == len(times)
    # Matroska and FLV count in milliseconds, GIF in hundredths.
    np.testing.assert_allclose(timeline.times_s, times, atol=0.0011)
    assert timeline.duration_s >= times[-1]
    assert timeline.warnings == ()


def test_frames_of_too_many_pixels_are_refused(
    video_of: VideoOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the header, unread; and where they come larger than it says, before they take memory."""
    sizes = [Recipe(n_frames=10), Recipe(n_frames=10, times=range(10, 20), size=(320, 240))]
    parts = [make_video(tmp_path / f"{n}.ts", recipe).read_bytes() for n, recipe in enumerate(sizes)]
    grown = tmp_path / "grown.ts"
    grown.write_bytes(b"".join(parts))
    monkeypatch.setattr(source, "_OPENING", dict(source._OPENING))  # and back
    limit_pixels(24_000)
    assert probe(video_of("h264 mp4")).width == 160
    for threads in (1, 4):
        with pytest.raises(VideoError, match="larger than 24,000 pixels"), sample(grown, every=1, threads=threads) as s:
            list(s)
    limit_pixels(1000)
    for kind in ("h264 mp4", "mpeg4 avi", "vp9 webm", "mjpeg avi", "av1 mp4", "hevc mkv"):
        with pytest.raises(VideoError, match="larger than 1,000 pixels; if you trust"):
            probe(video_of(kind))


@pytest.mark.parametrize(
    ("kind", "size", "rotation"),
    [
        ("h264 mp4", (160, 120), 0),
        ("rotated 90", (120, 160), 90),
        ("rotated 180", (160, 120), 180),
        ("rotated 270", (120, 160), 270),
        ("wide pixels", (213, 120), 0),
        ("odd size", (161, 121), 0),
        ("cover picture", (160, 120), 0),
        ("two videos", (160, 120), 0),
    ],
)
def test_size_is_the_one_on_screen(video_of: VideoOf, kind: str, size: tuple[int, int], rotation: int) -> None:
    info = probe(video_of(kind))
    assert (info.width, info.height, info.rotation) == (*size, rotation)


@pytest.mark.parametrize(
    ("kind", "codec", "n_sounds"),
    [("h264 mp4", "h264", 1), ("av1 webm", "av1", 0), ("two sounds", "h264", 2), ("mpeg4 avi", "mpeg4", 1)],
)
def test_codec_and_sounds(video_of: VideoOf, kind: str, codec: str, n_sounds: int) -> None:
    info = probe(video_of(kind))
    assert (info.codec, info.n_audio_streams, info.has_audio) == (codec, n_sounds, n_sounds > 0)


def test_material_is_what_it_claims(video_of: VideoOf) -> None:
    """The other tests mean little if the videos lack what they are about."""
    with av.open(str(video_of("h264 mp4"))) as container:
        assert any(p.pts != p.dts for p in container.demux(video=0) if p.size), "no B-frames"
    with av.open(str(video_of("h264 mp4 open GOP"))) as container:
        packets = [p for p in container.demux(video=0) if p.size]
        after_second_key = packets[[i for i, p in enumerate(packets) if p.is_keyframe][1] :]
        assert any(p.pts < after_second_key[0].pts for p in after_second_key), "no leading frames"
    with av.open(str(video_of("interlaced"))) as container:
        assert next(container.decode(video=0)).interlaced_frame
    with av.open(str(video_of("cover picture"))) as container:
        assert len(container.streams.video) == 2
    with av.open(str(video_of("start offset"))) as container:
        assert next(container.decode(video=0)).time == pytest.approx(5.0)
    with av.open(str(video_of("10 bit"))) as container:
        assert container.streams.video[0].pix_fmt == "yuv420p10le"


def test_edit_list_hides_what_it_cuts_off(edit_list_video: Path) -> None:
    assert read_timeline(edit_list_video).n_frames == 80


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"nowhere\.mp4: no such file"):
        probe(tmp_path / "nowhere.mp4")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="folder"):
        probe(tmp_path)


def test_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    with pytest.raises(VideoError, match="empty"):
        probe(tmp_path / "empty.mp4")


@pytest.mark.parametrize("name", ["notes.mp4", "notes.txt", "notes.webm", "notes.m3u8"])
def test_text_is_no_video(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("This is not a video.\n" * 200)
    with pytest.raises(VideoError, match=r"not a video"):
        probe(tmp_path / name)


def test_noise_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "noise.mp4").write_bytes(np.random.default_rng(0).bytes(100_000))
    with pytest.raises(VideoError):
        probe(tmp_path / "noise.mp4")


def test_sound_alone_is_no_video(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "sound.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16_000))
    with pytest.raises(VideoError, match="no video stream"):
        probe(tmp_path / "sound.wav")


def test_picture_is_no_video(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "picture.png"), "w", format="image2") as out:
        stream = out.add_stream("png", rate=1)
        stream.width, stream.height, stream.pix_fmt = 16, 16, "rgb24"
        out.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((16, 16, 3), np.uint8))))
        out.mux(stream.encode(None))
    with pytest.raises(VideoError, match="not a video"):
        probe(tmp_path / "picture.png")


def test_unreadable_file(tmp_path: Path, video_of: VideoOf) -> None:
    path = tmp_path / "locked.mp4"
    shutil.copy(video_of("1 frame"), path)
    path.chmod(0)
    if os.geteuid() == 0:
        tmp_path.chmod(0o755)
        os.seteuid(65534)  # nobody: root may read everything
    try:
        with pytest.raises(VideoError, match=r"may not read"):
            probe(path)
    finally:
        if os.getuid() == 0:
            os.seteuid(0)


def test_name_with_colon_and_spaces(tmp_path: Path, video_of: VideoOf) -> None:
    path = tmp_path / "http: my, 50% 'video'.mp4"
    shutil.copy(video_of("2 s"), path)
    assert probe(path).width == 160


def test_errors_name_file_problem_and_remedy(tmp_path: Path) -> None:
    with pytest.raises(VideoError) as raised:
        probe(tmp_path / "x.mp4")
    assert raised.value.where.endswith("x.mp4")
    assert raised.value.problem
    assert raised.value.remedy
