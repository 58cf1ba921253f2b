"""Cuts planted at known frames, and what is not a cut; stretches in which there is nothing to see."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.video.frame import PictureType, VideoFrame

from vastsum.features.watching import watch
from vastsum.types import Stretch
from vastsum.video import Shots, sample
from vastsum.video.schedule import Surprises
from vastsum.video.shots import ShotFinder
from vastsum.video.source import Source

WIDTH, HEIGHT, FPS = 160, 96, 25
Frames = list[np.ndarray]  # (height, width) luma or (height, width, 3) RGB

X264 = ("mp4", "libx264", {"preset": "veryfast", "crf": "23"})
NO_SCENE_CUTS = ("mp4", "libx264", {"x264-params": "scenecut=0:bframes=3:b-adapt=0:keyint=250", "preset": "veryfast"})
SHORT_GROUPS = ("mp4", "libx264", {"x264-params": "scenecut=0:bframes=2:b-adapt=0:keyint=25", "preset": "veryfast"})
PYRAMID = ("mp4", "libx264", {"x264-params": "scenecut=0:bframes=7:b-adapt=0:b-pyramid=normal", "preset": "veryfast"})
OPEN_GROUPS = ("mp4", "libx264", {"x264-params": "open-gop=1:bframes=3:keyint=30", "preset": "veryfast"})
MPEG4 = ("avi", "mpeg4", {"qscale": "4", "bf": "2", "g": "12"})
VP9 = ("webm", "libvpx-vp9", {"cpu-used": "8", "deadline": "realtime"})
HEVC = ("mkv", "libx265", {"preset": "ultrafast", "x265-params": "log-level=none:bframes=4"})
MJPEG = ("avi", "mjpeg", {"qscale": "4"})
Encoding = tuple[str, str, dict[str, str]]
ALL = {
    "x264": X264,
    "no scene cuts": NO_SCENE_CUTS,
    "short groups": SHORT_GROUPS,
    "pyramid": PYRAMID,
    "open groups": OPEN_GROUPS,
    "mpeg4": MPEG4,
    "vp9": VP9,
    "hevc": HEVC,
    "mjpeg": MJPEG,
}


def scene(seed: int, width: int = 1000) -> np.ndarray:
    """A wide texture with detail at every scale."""
    rng = np.random.default_rng(seed)
    total = np.zeros((HEIGHT, width))
    for cell in (4, 8, 16, 32):
        coarse = rng.standard_normal((HEIGHT // cell + 1, width // cell + 1))
        total += np.kron(coarse, np.ones((cell, cell)))[:HEIGHT, :width] * cell**0.6
    return (total - total.min()) / np.ptp(total) * 200 + 25


def shot(seed: int, n_frames: int, speed: float = 0.5, start: float = 0.0) -> Frames:
    ground = scene(seed)
    return [ground[:, int(start + speed * i) :][:, :WIDTH] for i in range(n_frames)]


def card(luma: float, n_frames: int) -> Frames:
    return [np.full((HEIGHT, WIDTH), luma)] * n_frames


def colour_bars(n_frames: int) -> Frames:
    """As SMPTE's, with a row of other patches below."""
    top = np.array(
        [[192, 192, 192], [192, 192, 0], [0, 192, 192], [0, 192, 0], [192, 0, 192], [192, 0, 0], [0, 0, 192]]
    )
    picture = np.zeros((HEIGHT, WIDTH, 3))
    columns = np.arange(WIDTH) * 7 // WIDTH
    picture[: HEIGHT * 2 // 3] = top[columns]
    picture[HEIGHT * 2 // 3 :] = top[::-1][columns] // 2
    return [picture] * n_frames


def film(
    path: Path,
    frames: Frames,
    encoding: Encoding = X264,
    pix_fmt: str = "yuv420p",
    times: Sequence[int] | None = None,
    keyframes: Sequence[int] = (),
) -> Path:
    suffix, codec, options = encoding
    path = path.with_suffix(f".{suffix}")
    full_range = codec == "mjpeg"
    with av.open(str(path), "w") as out:
        video: Any = out.add_stream(codec, rate=FPS, options=options)
        video.width, video.height = WIDTH, HEIGHT
        video.pix_fmt = "yuvj420p" if full_range else pix_fmt
        video.codec_context.thread_count = 1
        if times is not None:
            video.codec_context.time_base = Fraction(1, 1000)
        for n, values in enumerate(frames):
            rgb = np.clip(values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=2), 0, 255)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb, np.uint8)).reformat(format=video.pix_fmt)
            frame.pts = n if times is None else times[n]
            frame.time_base = Fraction(1, FPS) if times is None else Fraction(1, 1000)
            if n in keyframes:
                frame.pict_type = PictureType.I
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
    return path


def shots_of(path: Path, **options: Any) -> Shots:
    with sample(path, **options) as samples:
        for _ in samples:
            pass
        return samples.shots


def cuts_in(path: Path, **options: Any) -> list[int]:
    return [int(cut) for cut in shots_of(path, **options).cuts]


@pytest.mark.parametrize("name", ALL)
def test_cuts_are_found_to_the_frame(tmp_path: Path, name: str) -> None:
    frames = shot(0, 31) + shot(1, 18) + shot(2, 40) + shot(3, 22) + shot(4, 27)
    assert cuts_in(film(tmp_path / "a", frames, ALL[name])) == [31, 49, 89, 111]


@pytest.mark.parametrize("at", range(26, 42))
@pytest.mark.parametrize("encoding", [NO_SCENE_CUTS, SHORT_GROUPS], ids=["long", "short"])
def test_wherever_a_cut_lies_among_skipped_frames(tmp_path: Path, encoding: Encoding, at: int) -> None:
    """Only every fourth frame, or less, is decoded to take samples: two of each second here."""
    assert cuts_in(film(tmp_path / "a", shot(0, at) + shot(1, 30), encoding)) == [at]


@pytest.mark.parametrize("before", [0, 1, 2, 5])
def test_a_key_frame_soon_after_a_cut_is_not_taken_for_it(tmp_path: Path, before: int) -> None:
    frames = shot(0, 40 - before) + shot(1, 30 + before)
    assert cuts_in(film(tmp_path / "a", frames, NO_SCENE_CUTS, keyframes=(40,))) == [40 - before]


def test_cuts_at_key_frames_cost_no_decoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is skipped for the samples alone stays skipped where the sizes of packets tell that it shows nothing new."""
    cuts = [28, 57, 87, 118, 150, 183, 217]
    path = film(tmp_path / "a", [frame for n in range(8) for frame in shot(n, 28 + n)], keyframes=cuts)
    n_decoded: list[int] = []
    decode = Source.decode

    def counted(source: Source, packet: Any) -> list[VideoFrame]:
        frames = decode(source, packet)
        n_decoded[-1] += len(frames)
        return frames

    monkeypatch.setattr(Source, "decode", counted)
    n_decoded.append(0)
    assert cuts_in(path) == cuts
    monkeypatch.setattr(Surprises, "tells", lambda *_: False)
    monkeypatch.setattr(ShotFinder, "finish", lambda *_: Shots(np.array([], np.int64), (), ()))
    n_decoded.append(0)
    cuts_in(path)
    assert n_decoded[0] == n_decoded[1]


@pytest.mark.parametrize("pix_fmt", ["yuv420p10le", "yuv422p", "yuv444p", "gray"])
def test_pixel_formats(tmp_path: Path, pix_fmt: str) -> None:
    frames = shot(0, 30) + card(16, 20) + shot(1, 30)
    found = shots_of(film(tmp_path / "a", frames, X264, pix_fmt))
    assert list(found.cuts) == [30, 50]
    assert [(dead.first_frame, dead.last_frame) for dead in found.dead] == [(30, 49)]


def test_pictures_no_larger_than_a_glimpse_and_rgb(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    with av.open(str(path), "w") as out:
        video: Any = out.add_stream("gif", rate=10)
        video.width, video.height, video.pix_fmt = 48, 32, "rgb8"
        for values in shot(0, 15) + shot(1, 15):
            small = np.repeat(values[:64:2, :96:2, None], 3, axis=2).astype(np.uint8)
            out.mux(video.encode(av.VideoFrame.from_ndarray(small).reformat(format="rgb8")))
        out.mux(video.encode(None))
    assert cuts_in(path) == [15]


def flashed(frames: Frames, at: int, brightness: Sequence[float]) -> Frames:
    lit = [frame + light for frame, light in zip(frames[at:], brightness, strict=False)]
    return frames[:at] + lit + frames[at + len(brightness) :]


def panned(n_frames: int, speed: float) -> Frames:
    return shot(0, 20, start=0) + shot(0, n_frames, speed) + shot(0, 20, start=speed * n_frames)


def dissolved(n_frames: int) -> Frames:
    one, other = shot(0, 60), shot(1, 60)
    shares = (np.arange(n_frames) + 1) / (n_frames + 1)
    between = [a * (1 - share) + b * share for a, b, share in zip(one[30:], other, shares, strict=False)]
    return one[:30] + between + other[n_frames:]


NO_CUTS = {
    "a photo's flash": flashed(shot(0, 60), 30, [255]),
    "a flash that fades": flashed(shot(0, 60), 30, [150, 90, 40]),
    "a strobe": [frame * (1 if n // 2 % 2 else 0.2) for n, frame in enumerate(shot(0, 60))],
    "a fast pan": panned(30, 12),
    "a whip": panned(8, 30),
    "a jerk": shot(0, 30) + shot(0, 30, start=50),
    "a short dissolve": dissolved(6),
    "a long dissolve": dissolved(25),
    "the light": [frame * (0.4 if n < 30 else 1) for n, frame in enumerate(shot(0, 60))],
}


@pytest.mark.parametrize("encoding", [X264, SHORT_GROUPS, MJPEG], ids=["x264", "short groups", "mjpeg"])
@pytest.mark.parametrize("name", NO_CUTS)
def test_what_is_no_cut(tmp_path: Path, name: str, encoding: Encoding) -> None:
    frames = NO_CUTS[name]
    assert cuts_in(film(tmp_path / "a", frames + shot(7, 30), encoding)) == [len(frames)]


def test_a_cut_over_one_mixed_frame_is_one(tmp_path: Path) -> None:
    frames = shot(0, 30)
    mixed = (frames[-1] + scene(1)[:, :WIDTH]) / 2
    found = cuts_in(film(tmp_path / "a", [*frames, mixed, *shot(1, 30)]))
    assert len(found) == 1
    assert found[0] in (30, 31)


@pytest.mark.parametrize("name", ["x264", "short groups", "mpeg4", "vp9", "mjpeg"])
@pytest.mark.parametrize(("luma", "kind"), [(0, "black"), (255, "blank"), (120, "blank")])
def test_cards_to_the_frame(tmp_path: Path, name: str, luma: int, kind: str) -> None:
    found = shots_of(film(tmp_path / "a", shot(0, 33) + card(luma, 20) + shot(1, 40), ALL[name]))
    assert list(found.cuts) == [33, 53]
    assert found.dead == (Stretch(33, 52, kind),)


def test_a_coloured_card(tmp_path: Path) -> None:
    blue = [np.broadcast_to(np.array([20, 30, 200]), (HEIGHT, WIDTH, 3))] * 20
    assert shots_of(film(tmp_path / "a", shot(0, 33) + blue + shot(1, 40))).dead == (Stretch(33, 52, "blank"),)


def test_a_single_black_frame_between_shots(tmp_path: Path) -> None:
    found = shots_of(film(tmp_path / "a", shot(0, 30) + card(0, 1) + shot(1, 30)))
    assert list(found.cuts) == [30, 31]
    assert found.dead == (Stretch(30, 30, "black"),)


def test_a_single_black_frame_within_a_shot_is_none(tmp_path: Path) -> None:
    frames = shot(0, 60)
    found = shots_of(film(tmp_path / "a", [*frames[:30], *card(0, 1), *frames[31:]]))
    assert not len(found.cuts)
    assert found.dead == ()


def test_a_title_on_black_is_something(tmp_path: Path) -> None:
    title = np.full((HEIGHT, WIDTH), 0.0)
    title[40:56, 40:120:4] = 235
    assert shots_of(film(tmp_path / "a", shot(0, 30) + [title] * 30 + shot(1, 30))).dead == ()


@pytest.mark.parametrize("turn", [0, 1])
def test_a_test_card(tmp_path: Path, turn: int) -> None:
    bars = [np.rot90(picture, turn)[:HEIGHT] if turn == 0 else _lying(picture) for picture in colour_bars(60)]
    found = shots_of(film(tmp_path / "a", shot(0, 30) + bars + shot(1, 30)))
    assert found.dead == (Stretch(30, 89, "test card"),)


def _lying(picture: np.ndarray) -> np.ndarray:
    """Bars one above the other, as in a film that was turned."""
    rows = np.arange(HEIGHT) * WIDTH // HEIGHT
    return np.broadcast_to(picture[0][rows][:, None], (HEIGHT, WIDTH, 3))


@pytest.mark.parametrize("encoding", [X264, SHORT_GROUPS, VP9], ids=["x264", "short groups", "vp9"])
def test_a_frozen_stretch(tmp_path: Path, encoding: Encoding) -> None:
    frames = shot(0, 40, speed=2)
    found = shots_of(film(tmp_path / "a", frames + frames[-1:] * 70 + shot(1, 30, speed=2), encoding))
    assert list(found.cuts) == [110]
    (frozen,) = found.dead
    assert frozen.kind == "frozen"
    assert 39 <= frozen.first_frame <= 50  # the encoder takes until the next key frame to settle
    assert frozen.last_frame == 109


def test_a_still_camera_is_not_frozen(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ground = scene(0)[:, :WIDTH]
    assert shots_of(film(tmp_path / "a", [ground + rng.normal(0, 3, ground.shape) for _ in range(80)])).dead == ()


def test_one_small_thing_that_moves_is_enough(tmp_path: Path) -> None:
    frames = [frame.copy() for frame in shot(0, 80, speed=0)]
    for n, frame in enumerate(frames):
        frame[40:56, n : n + 16] = 230
    assert shots_of(film(tmp_path / "a", frames)).dead == ()


def test_fades(tmp_path: Path) -> None:
    light = (np.arange(20) + 0.5) / 20
    out = [frame * share for frame, share in zip(shot(0, 20), light[::-1], strict=True)]
    into = [frame * share for frame, share in zip(shot(1, 20), light, strict=True)]
    found = shots_of(film(tmp_path / "a", shot(0, 30) + out + card(0, 15) + into + shot(1, 30)))
    assert not len(found.cuts)
    (black,) = found.dead
    assert black.kind == "black"
    assert abs(black.first_frame - 49) <= 3
    assert abs(black.last_frame - 66) <= 3
    fade_out, fade_in = found.fades
    assert (fade_out.kind, fade_in.kind) == ("fade out", "fade in")
    assert abs(fade_out.first_frame - 30) <= 3
    assert fade_out.last_frame + 1 == black.first_frame
    assert fade_in.first_frame == black.last_frame + 1
    assert abs(fade_in.last_frame - 84) <= 3


def test_key_frames_tell_what_they_can(tmp_path: Path) -> None:
    frames = shot(0, 60) + shot(1, 75) + card(0, 50) + shot(2, 130)
    scene_cuts = ("mp4", "libx264", {"x264-params": "scenecut=0:keyint=100", "preset": "veryfast"})
    path = film(tmp_path / "a", frames, scene_cuts, keyframes=(60, 135, 185))
    found = shots_of(path, keyframes_only=True)
    assert not found.exact
    assert list(found.cuts) == [60, 135, 185]
    between = ("mp4", "libx264", {"x264-params": "scenecut=0:keyint=25", "preset": "veryfast"})
    regular = shots_of(film(tmp_path / "b", frames, between), keyframes_only=True)
    assert not len(regular.cuts)  # each lies somewhere between two key frames
    assert regular.dead == (Stretch(150, 175, "black"),)


def test_a_variable_rate(tmp_path: Path) -> None:
    times = np.cumsum([40, 40, 15, 300, 33, 70, 40, 40] * 12).tolist()
    path = film(tmp_path / "a", shot(0, 37) + shot(1, 59), ("mkv", *SHORT_GROUPS[1:]), times=times)
    assert cuts_in(path) == [37]


def test_one_frame(tmp_path: Path) -> None:
    found = shots_of(film(tmp_path / "a", card(0, 1)))
    assert not len(found.cuts)
    assert found.dead == (Stretch(0, 0, "black"),)


def test_damage_is_no_error(tmp_path: Path) -> None:
    path = film(tmp_path / "a", shot(0, 60) + shot(1, 60), SHORT_GROUPS)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(1)
    for at in rng.integers(len(data) // 4, len(data) * 3 // 4, 40):
        data[at] ^= 1 << int(rng.integers(8))
    path.write_bytes(bytes(data))
    found = shots_of(path)
    assert np.all(np.diff(found.cuts) > 0)


def test_a_picture_that_changes_its_size(tmp_path: Path) -> None:
    """Two streams of other sizes, one after the other, as in a recording whose window was resized."""
    small = film(tmp_path / "a", shot(0, 40), ("ts", *X264[1:]))
    large = tmp_path / "b.ts"
    with av.open(str(large), "w") as out:
        video: Any = out.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
        video.width, video.height = 2 * WIDTH, 2 * HEIGHT
        for n, values in enumerate(shot(1, 40)):
            twice = np.kron(np.repeat(values[:, :, None], 3, axis=2), np.ones((2, 2, 1))).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(twice).reformat(format="yuv420p")
            frame.pts, frame.time_base = 40 + n, Fraction(1, FPS)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
    joined = tmp_path / "joined.ts"
    joined.write_bytes(small.read_bytes() + large.read_bytes())
    assert cuts_in(joined) == [40]


def test_cores_change_nothing(tmp_path: Path) -> None:
    frames = [frame for n in range(8) for frame in shot(n, 20 + 3 * n)]
    path = film(tmp_path / "a", frames, SHORT_GROUPS)
    found = [cuts_in(path, threads=threads) for threads in (1, 4)]
    assert found[0] == found[1] == [20, 43, 69, 98, 130, 165, 203]


def test_little_is_kept() -> None:
    """Ten hours are a million frames: what is kept of each must be a few bytes."""
    finder = ShotFinder(keyframes_only=False)
    values = np.zeros(2304, np.uint8)
    for index in range(5000):
        finder.add(index, index / 25, values)
    kept = sum(part.nbytes for part in finder._series) + sum(part.nbytes for part in finder._glimpses)
    assert kept < 5000 * 16 + 2304 * 300


class MeanColour:
    """All of a backbone that watching asks for."""

    width, input_size, frames_at_once = 3, (32, 32), 8

    def start(self, frames: np.ndarray) -> Callable[[], np.ndarray]:
        return lambda: frames.mean(axis=(1, 2))


def test_watching_brings_shots_along(tmp_path: Path) -> None:
    watched = watch(film(tmp_path / "a", shot(0, 33) + card(0, 20) + shot(1, 40)), MeanColour(), 2.0)  # type: ignore[arg-type]
    assert list(watched.shots.cuts) == [33, 53]
    assert watched.shots.dead == (Stretch(33, 52, "black"),)
    assert len(watched.features) == len(watched.picks)
