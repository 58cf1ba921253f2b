"""Summaries on disk: played back, frame by frame and beep by beep."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from films import AUDIO_RATE, BEEP_EVERY, KINDS, Recipe, beep_onsets_s, make_video, play, read_index

from vastsum.errors import OutputError, VideoError
from vastsum.video import Timeline, copy_suffix, grab, probe, read_timeline, write_summary

VideoOf = Callable[[str], Path]
Ranges = list[tuple[int, int]]


def some_ranges(kind: str) -> Ranges:
    n = KINDS[kind][1].n_frames
    return [(0, 0)] if n == 1 else [(3, 10), (22, 33), (n - 5, n - 1)]


def frames_in(ranges: Ranges | tuple[tuple[int, int], ...]) -> list[int]:
    return [i for first, last in ranges for i in range(first, last + 1)]


def times_in_summary(timeline: Timeline, ranges: Ranges) -> tuple[list[float], float]:
    """When each frame should be shown, and how long the summary is: by adding up what each range takes."""
    times, elapsed = [], 0.0
    for first, last in ranges:
        times += [elapsed + timeline.times_s[i] - timeline.times_s[first] for i in range(first, last + 1)]
        elapsed += (timeline.pts_after(last) - int(timeline.pts[first])) * float(timeline.time_base)
    return times, elapsed


def track_duration_s(path: Path) -> float:
    """How long the video says it is, which is what players show and go by."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.duration is not None
        assert stream.time_base is not None
        return float(stream.duration * stream.time_base)


@pytest.mark.parametrize("ranges", [[(5, 9)], [(20, 29)], [(7, 15), (40, 49)], [(8, 8)]], ids=str)
def test_frames_of_unequal_length_do_not_make_the_summary_longer(
    video_of: VideoOf, tmp_path: Path, ranges: Ranges
) -> None:
    written = write_summary(video_of("variable rate mp4"), ranges, tmp_path / "out.mp4")
    assert track_duration_s(tmp_path / "out.mp4") == pytest.approx(written.duration_s, abs=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_summary_has_exactly_the_chosen_frames_at_their_times(video_of: VideoOf, tmp_path: Path, kind: str) -> None:
    ranges = some_ranges(kind)
    written = write_summary(video_of(kind), ranges, tmp_path / "out.mp4")
    played = play(tmp_path / "out.mp4")
    times, duration_s = times_in_summary(read_timeline(video_of(kind)), ranges)
    assert played.indices == frames_in(ranges)
    np.testing.assert_allclose(played.times_s, times, atol=2e-4)
    assert (written.n_frames, written.duration_s) == (len(times), pytest.approx(duration_s))
    assert track_duration_s(tmp_path / "out.mp4") == pytest.approx(duration_s, abs=2e-4)
    assert written.warnings == ()
    assert probe(tmp_path / "out.mp4").codec == "h264"
    assert written.has_audio == bool(KINDS[kind][1].sounds) == probe(tmp_path / "out.mp4").has_audio
    if written.has_audio:  # up to the last frame of the encoder
        assert len(played.samples) / AUDIO_RATE == pytest.approx(duration_s, abs=0.03)
    assert [p.name for p in tmp_path.iterdir()] == ["out.mp4"]


@pytest.mark.parametrize(
    ("kind", "shown", "stored"),
    [
        ("rotated 90", (120, 160), (120, 160)),
        ("rotated 270", (120, 160), (120, 160)),
        ("wide pixels", (213, 120), (160, 120)),
        ("odd size", (162, 122), (162, 122)),
    ],
)
def test_summary_looks_like_its_source(
    video_of: VideoOf, tmp_path: Path, kind: str, shown: tuple[int, int], stored: tuple[int, int]
) -> None:
    write_summary(video_of(kind), [(0, 5)], tmp_path / "out.mp4")
    info = probe(tmp_path / "out.mp4")
    assert (info.width, info.height, info.rotation) == (*shown, 0)
    assert play(tmp_path / "out.mp4").size == stored


def test_edit_list_is_respected(edit_list_video: Path, tmp_path: Path) -> None:
    write_summary(edit_list_video, [(0, 4), (30, 34)], tmp_path / "out.mp4")
    assert play(tmp_path / "out.mp4").indices == [10, 11, 12, 13, 14, 40, 41, 42, 43, 44]


def test_summary_can_be_played_while_it_loads(video_of: VideoOf, tmp_path: Path) -> None:
    write_summary(video_of("h264 mp4"), [(0, 50)], tmp_path / "out.mp4")
    data = (tmp_path / "out.mp4").read_bytes()
    assert 0 < data.index(b"moov") < data.index(b"mdat")


def test_name_decides_the_container(video_of: VideoOf, tmp_path: Path) -> None:
    write_summary(video_of("h264 mp4"), [(0, 5)], tmp_path / "out.mkv")
    assert "matroska" in probe(tmp_path / "out.mkv").container
    assert play(tmp_path / "out.mkv").indices == [0, 1, 2, 3, 4, 5]
    with pytest.raises(OutputError, match="webm cannot hold h264"):
        write_summary(video_of("h264 mp4"), [(0, 5)], tmp_path / "out.webm")


def test_every_cut_is_a_place_to_jump_to(video_of: VideoOf, tmp_path: Path) -> None:
    write_summary(video_of("h264 mp4"), [(3, 10), (22, 33), (60, 65)], tmp_path / "out.mp4")
    assert {0, 8, 20} <= set(read_timeline(tmp_path / "out.mp4").keyframes.tolist())


BEEPING = {
    "mp4": (".mp4", Recipe(n_frames=600, sounds=["aac"], beeps=True, b_frames=3)),
    "mkv, opus": (".mkv", Recipe(n_frames=600, sounds=["libopus"], beeps=True)),
    "avi, mp3": (".avi", Recipe(codec="mpeg4", n_frames=600, sounds=["libmp3lame"], beeps=True)),
    "ntsc": (".mp4", Recipe(fps=Fraction(30_000, 1001), n_frames=600, sounds=["aac"], beeps=True)),
    "ts": (".ts", Recipe(n_frames=600, sounds=["aac"], beeps=True, b_frames=2)),
    "flv": (".flv", Recipe(n_frames=600, sounds=["aac"], beeps=True)),
    "mov, pcm": (".mov", Recipe(n_frames=600, sounds=["pcm_f32le"], beeps=True)),
    "late start": (".mkv", Recipe(n_frames=600, times=range(45, 645), sounds=["aac"], beeps=True)),
}


@pytest.fixture(scope="module")
def beeping(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("beeping")

    def video(kind: str) -> Path:
        suffix, recipe = BEEPING[kind]
        path = folder / (kind.replace(", ", "-").replace(" ", "-") + suffix)
        return path if path.exists() else make_video(path, recipe)

    return video


@pytest.mark.parametrize("kind", BEEPING)
def test_beeps_stay_on_their_flashes(beeping: Callable[[str], Path], tmp_path: Path, kind: str) -> None:
    # Twenty cuts of a length that is no whole number of audio frames: an error of rounding would add up.
    ranges = [(start, start + 18) for start in range(7, 587, 29)]
    write_summary(beeping(kind), ranges, tmp_path / "out.mp4")
    played = play(tmp_path / "out.mp4")
    assert played.indices == frames_in(ranges)
    flashes = [t for i, t in zip(played.indices, played.times_s, strict=True) if i % BEEP_EVERY == 0]
    beeps = beep_onsets_s(played.samples)
    assert len(flashes) >= 20
    frame_s = 1 / 30
    lag_s = source_lag_s(beeping(kind))
    assert abs(lag_s) < frame_s
    for flash in flashes:
        assert min(abs(beep - lag_s - flash) for beep in beeps) < 0.005
    # And no beep that belongs to no flash: a cut may leave the tail of one whose flash is not in the summary.
    starts = [t for i, t in zip(played.indices, played.times_s, strict=True) if (i - 1) % BEEP_EVERY == 0]
    for beep in beeps:
        assert min(abs(beep - t) for t in flashes + starts) < frame_s


def source_lag_s(path: Path) -> float:
    """How late the sound already is in the source: AVI, for one, cannot say that its mp3 starts with padding."""
    played = play(path)
    flashes = [t for i, t in zip(played.indices, played.times_s, strict=True) if i % BEEP_EVERY == 0]
    beeps = beep_onsets_s(played.samples)
    return float(np.median([min((beep - flash for beep in beeps), key=abs) for flash in flashes]))


def test_cuts_do_not_click(tmp_path: Path) -> None:
    """A loud tone is cut at its crest again and again; faded, it never jumps by more than it does within itself."""
    path = tmp_path / "tone.mp4"
    t = np.arange(4 * AUDIO_RATE) / AUDIO_RATE
    wave = (0.8 * np.sin(2 * np.pi * 97 * t)).astype(np.float32)
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=30, options={"preset": "ultrafast"})
        video.width, video.height, video.pix_fmt = 64, 64, "yuv420p"
        sound = out.add_stream("aac", rate=AUDIO_RATE)
        sound.codec_context.layout = "mono"
        for _ in range(120):
            out.mux(video.encode(av.VideoFrame.from_ndarray(np.zeros((64, 64, 3), np.uint8))))
        out.mux(video.encode(None))
        for begin in range(0, len(wave), 1024):
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(wave[None, begin : begin + 1024]), "fltp", "mono")
            frame.sample_rate, frame.pts = AUDIO_RATE, begin
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))
    ranges = [(start, start + 6) for start in range(0, 110, 11)]
    write_summary(path, ranges, tmp_path / "out.mp4")
    samples = play(tmp_path / "out.mp4").samples
    assert np.abs(samples).max() > 0.7
    assert np.abs(np.diff(samples)).max() < 0.04  # a cut without fading jumps by up to 1.6
    for cut in range(1, len(ranges)):
        at = round(cut * 7 / 30 * AUDIO_RATE)
        assert np.abs(samples[at - 10 : at + 10]).max() < 0.1


def test_sound_shorter_than_the_video_ends_in_silence(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mkv", Recipe(n_frames=90, sounds=["aac"], b_frames=0))
    short = tmp_path / "short.mkv"
    with av.open(str(path)) as source, av.open(str(short), "w") as out:
        streams = {s.index: out.add_stream_from_template(s, opaque=True) for s in source.streams}
        for packet in source.demux():
            if packet.dts is not None and (packet.stream.type == "video" or packet.pts * packet.time_base < 1):
                packet.stream = streams[packet.stream.index]
                out.mux(packet)
    written = write_summary(short, [(0, 9), (60, 89)], tmp_path / "out.mp4")
    played = play(tmp_path / "out.mp4")
    assert len(played.samples) / AUDIO_RATE == pytest.approx(written.duration_s, abs=0.03)


def test_touching_and_unordered_ranges_are_joined(video_of: VideoOf, tmp_path: Path) -> None:
    written = write_summary(video_of("h264 mp4"), [(30, 40), (5, 9), (10, 12), (35, 45)], tmp_path / "out.mp4")
    assert written.ranges == ((5, 12), (30, 45))
    assert play(tmp_path / "out.mp4").indices == frames_in(written.ranges)


def test_segment_bounds_as_array(video_of: VideoOf, tmp_path: Path) -> None:
    write_summary(video_of("h264 mp4"), np.array([[0, 4], [50, 54]]), tmp_path / "out.mp4")
    assert play(tmp_path / "out.mp4").indices == [0, 1, 2, 3, 4, 50, 51, 52, 53, 54]


@pytest.mark.parametrize("ranges", [[], [(5, 4)], [(-1, 3)], [(80, 90)]])
def test_senseless_ranges_are_refused(video_of: VideoOf, tmp_path: Path, ranges: Ranges) -> None:
    with pytest.raises(VideoError):
        write_summary(video_of("h264 mp4"), ranges, tmp_path / "out.mp4")
    assert list(tmp_path.iterdir()) == []


def test_progress_reaches_the_end(video_of: VideoOf, tmp_path: Path) -> None:
    seen: list[tuple[float, float | None]] = []
    write_summary(
        video_of("h264 mp4"), [(0, 29)], tmp_path / "out.mp4", progress=lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (pytest.approx(1.0), pytest.approx(1.0))


# Copying


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"h264 avi", "h264 raw", "gif", "h264 mp4 open GOP"}))
def test_copy_has_the_frames_it_says(video_of: VideoOf, tmp_path: Path, kind: str) -> None:
    wanted = some_ranges(kind)
    path = tmp_path / f"out{copy_suffix(video_of(kind))}"
    written = write_summary(video_of(kind), wanted, path, copy=True)
    with av.open(str(path)) as container:
        assert container.streams.video[0].codec_context.codec.canonical_name == probe(video_of(kind)).codec
    found = [read_index(np.asarray(picture)) for picture in _all_pictures(path)]
    assert found == frames_in(written.ranges)
    assert set(frames_in(wanted)) <= set(found)
    assert read_timeline(path).duration_s == pytest.approx(written.duration_s, abs=0.002)
    assert probe(path).rotation == probe(video_of(kind)).rotation
    assert written.has_audio == bool(KINDS[kind][1].sounds)


def _all_pictures(path: Path) -> list[np.ndarray]:
    from vastsum.video import sample

    with sample(path, every=1, exact=True) as samples:
        return [s.image for s in samples]


def test_copied_hevc_plays_on_apple_devices(video_of: VideoOf, tmp_path: Path) -> None:
    write_summary(video_of("hevc mkv"), [(0, 20)], tmp_path / "out.mp4", copy=True)
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert container.streams.video[0].codec_tag == "hvc1"


def test_copy_starts_at_the_key_frame_before(video_of: VideoOf, tmp_path: Path) -> None:
    timeline = read_timeline(video_of("h264 mp4 short GOP"))
    written = write_summary(video_of("h264 mp4 short GOP"), [(40, 45)], tmp_path / "out.mp4", copy=True)
    (first, last) = written.ranges[0]
    assert first == timeline.keyframe_before(40)
    assert 45 <= last <= 48


def test_copy_of_open_groups_drops_what_cannot_be_decoded(video_of: VideoOf, tmp_path: Path) -> None:
    written = write_summary(video_of("h264 mp4 open GOP"), [(45, 50), (70, 75)], tmp_path / "out.mp4", copy=True)
    found = [read_index(picture) for picture in _all_pictures(tmp_path / "out.mp4")]
    assert found == frames_in(written.ranges)


def test_copied_sound_stays_in_step(beeping: Callable[[str], Path], tmp_path: Path) -> None:
    write_summary(beeping("mp4"), [(100, 160), (300, 340), (500, 560)], tmp_path / "out.mp4", copy=True)
    played = play(tmp_path / "out.mp4")
    flashes = [t for i, t in zip(played.indices, played.times_s, strict=True) if i % BEEP_EVERY == 0]
    beeps = beep_onsets_s(played.samples)
    inside = [t for t in flashes if t > 0.1]
    assert sum(min(abs(beep - t) for beep in beeps) < 1 / 30 for t in inside) >= len(inside) - 2  # cut at a packet


def test_copy_that_does_not_fit_says_what_does(video_of: VideoOf, tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"vp8 cannot be copied into mp4; name the output out\.webm"):
        write_summary(video_of("vp8 webm"), [(0, 5)], tmp_path / "out.mp4", copy=True)
    with pytest.raises(VideoError, match="leave out --copy"):
        write_summary(video_of("gif"), [(0, 5)], tmp_path / "out.mkv", copy=True)
    with pytest.raises(VideoError, match="leave out --copy"):
        write_summary(video_of("h264 raw"), [(0, 5)], tmp_path / "out.mp4", copy=True)
    assert list(tmp_path.iterdir()) == []


# Places that cannot be written to


def test_missing_folder(video_of: VideoOf, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="folder does not exist"):
        write_summary(video_of("2 s"), [(0, 5)], tmp_path / "no" / "out.mp4")


def test_folder_in_the_way(video_of: VideoOf, tmp_path: Path) -> None:
    (tmp_path / "out.mp4").mkdir()
    with pytest.raises(OutputError, match="folder of this name"):
        write_summary(video_of("2 s"), [(0, 5)], tmp_path / "out.mp4")


def test_source_is_never_overwritten(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.mp4", Recipe(n_frames=10))
    before = path.read_bytes()
    with pytest.raises(OutputError, match="the video itself"):
        write_summary(path, [(0, 5)], tmp_path / "." / "a.mp4")
    assert path.read_bytes() == before


@pytest.mark.parametrize("copy", [False, True])
def test_unwritable_folder(tmp_path: Path, copy: bool) -> None:
    source = make_video(tmp_path / "a.mp4", Recipe(n_frames=10))
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    for parent in [tmp_path, *tmp_path.parents[:3]]:
        parent.chmod(parent.stat().st_mode | 0o055)
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(65534)  # nobody: root may write everywhere
    try:
        with pytest.raises(OutputError, match="choose a folder you may write to"):
            write_summary(source, [(0, 5)], folder / "out.mp4", copy=copy)
    finally:
        if was_root:
            os.seteuid(0)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("limit", [0, 1_000, 4_000])
def test_full_disk_leaves_nothing_behind(video_of: VideoOf, tmp_path: Path, limit: int, copy: bool) -> None:
    """A limit on the size of files fails a write just as a full disk does."""
    (tmp_path / "out.mp4").write_text("an older summary")
    code = f"""
import resource, sys
from vastsum.errors import OutputError
from vastsum.video import write_summary
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    write_summary({str(video_of("60 fps"))!r}, [(0, 100)], {str(tmp_path / "out.mp4")!r}, copy={copy})
except OutputError as error:
    sys.exit(0 if "cannot be written" in str(error) and error.remedy else 3)
sys.exit(4)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["out.mp4"]
    assert (tmp_path / "out.mp4").read_text() == "an older summary"


def test_existing_output_is_replaced_whole(video_of: VideoOf, tmp_path: Path) -> None:
    (tmp_path / "out.mp4").write_text("an older summary")
    write_summary(video_of("2 s"), [(0, 5)], tmp_path / "out.mp4")
    assert play(tmp_path / "out.mp4").indices == [0, 1, 2, 3, 4, 5]


# Thumbnails


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"variable rate", "variable rate mp4"}))
def test_thumbnails_are_near_their_times(video_of: VideoOf, kind: str) -> None:
    recipe = KINDS[kind][1]
    last_s = float((recipe.n_frames - 1) / Fraction(recipe.fps))
    times = [last_s / 2, 0.0, last_s, last_s / 3, 1000.0]
    pictures = grab(video_of(kind), times, max_size=(100, 100))
    info = probe(video_of(kind))
    for time_s, picture in zip(times, pictures, strict=True):
        height, width = picture.shape[:2]
        assert max(width, height) == 100
        assert width / height == pytest.approx(info.width / info.height, rel=0.02)
        wanted = round(min(time_s, last_s) * float(recipe.fps))
        assert wanted - 5 <= read_index(picture) <= wanted


def test_thumbnails_are_not_enlarged(video_of: VideoOf) -> None:
    assert grab(video_of("2 s"), [0.5], max_size=(4000, 4000))[0].shape == (120, 160, 3)
    assert grab(video_of("2 s"), []) == []


def test_a_nearby_key_frame_will_do(video_of: VideoOf) -> None:
    path = video_of("h264 mp4 short GOP")
    keyframes = read_timeline(path).keyframes.tolist()
    times = [k / 10 for k in range(30)]
    for time_s, picture in zip(times, grab(path, times, nearby_s=0.5), strict=True):
        assert read_index(picture) in keyframes
        assert abs(read_index(picture) / 30 - time_s) <= 0.5
    assert read_index(grab(path, [1.5], nearby_s=0.01)[0]) in {43, 44, 45}  # there is none: as without


@pytest.mark.parametrize(("kind", "n_warnings"), [("h264 mp4", 0), ("h264 mp4 open GOP", 1)])
def test_a_copy_that_begins_within_an_open_group_says_what_players_may_do(
    video_of: Callable[[str], Path], tmp_path: Path, kind: str, n_warnings: int
) -> None:
    written = write_summary(video_of(kind), [(45, 70)], tmp_path / "copy.mp4", copy=True)
    assert len(written.warnings) == n_warnings
    assert all("do without --copy" in warning for warning in written.warnings)
