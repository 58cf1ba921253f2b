"""Small videos whose frames say which they are: twelve black or white blocks spell each frame's index in binary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.codec.context import ThreadType
from av.stream import Disposition

COLUMNS, ROWS = 4, 3
AUDIO_RATE = 48_000
BEEP_EVERY = 15


def picture_of(index: int, width: int = 160, height: int = 120) -> np.ndarray:
    """White blocks for the ones, dark ones for the noughts, the lowest bit top left."""
    bits = np.array([(index >> bit) & 1 for bit in range(COLUMNS * ROWS)], np.uint8).reshape(ROWS, COLUMNS)
    rows = np.arange(height) * ROWS // height
    columns = np.arange(width) * COLUMNS // width
    return np.repeat((bits[rows][:, columns] * 200 + 20)[:, :, None], 3, axis=2)


def read_index(image: np.ndarray) -> int:
    """What `picture_of` wrote, whatever size the picture has now."""
    height, width = image.shape[:2]
    rows, columns = _around_middles(height, ROWS), _around_middles(width, COLUMNS)
    middles = image[rows.ravel()][:, columns.ravel()].reshape(ROWS, 3, COLUMNS, 3, -1)
    bits = (middles.mean(axis=(1, 3, 4)) > 120).ravel()
    return int(bits @ (1 << np.arange(COLUMNS * ROWS)))


def _around_middles(length: int, n_blocks: int) -> np.ndarray:
    """The three pixels in the middle of each block, (blocks, 3)."""
    middles = ((np.arange(n_blocks) + 0.5) * length / n_blocks).astype(int)
    return middles[:, None] + np.array([-1, 0, 1])


def tone(n_samples: int, beep_at: Iterable[int] = (), length: int = 1600) -> np.ndarray:
    """Silence with a 1 kHz beep from each of these samples on."""
    wave = np.zeros(n_samples, np.float32)
    beep = 0.8 * np.sin(2 * np.pi * 1000 * np.arange(length) / AUDIO_RATE)
    for start in beep_at:
        wave[start : start + length] = beep[: max(0, n_samples - start)]
    return wave


@dataclass
class Recipe:
    """How to make a video. `times` are in units of `time_base`; by default one frame follows another at `fps`."""

    codec: str = "libx264"
    pix_fmt: str = "yuv420p"
    n_frames: int = 90
    fps: Fraction | int = 30
    size: tuple[int, int] = (160, 120)
    times: Sequence[int] | None = None
    time_base: Fraction | None = None
    options: dict[str, str] = field(default_factory=dict)
    b_frames: int | None = None
    gop: int | None = None
    rotation: int = 0  # clockwise, stored as a display matrix
    aspect: Fraction | None = None
    sounds: Sequence[str] = ()  # codecs
    beeps: bool = False
    cover: bool = False
    second_video: bool = False
    container_options: dict[str, str] = field(default_factory=dict)


def make_video(path: Path, recipe: Recipe) -> Path:
    time_base = recipe.time_base or 1 / Fraction(recipe.fps)
    times = recipe.times if recipe.times is not None else range(recipe.n_frames)
    with av.open(str(path), "w", container_options=recipe.container_options) as out:
        if recipe.second_video:
            small: Any = out.add_stream("mpeg4", rate=30)
            small.width, small.height, small.pix_fmt = 64, 48, "yuv420p"
        video: Any = _video_stream(out, recipe, time_base)
        sounds: list[Any] = [_audio_stream(out, codec) for codec in recipe.sounds]
        if recipe.cover:
            cover: Any = out.add_stream("mjpeg", rate=1)
            cover.width, cover.height, cover.pix_fmt = 320, 320, "yuvj420p"
            cover.disposition = Disposition.attached_pic
            out.mux(cover.encode(av.VideoFrame.from_ndarray(np.zeros((320, 320, 3), np.uint8))))
            out.mux(cover.encode(None))
        if recipe.second_video:
            for index in range(30):
                out.mux(small.encode(av.VideoFrame.from_ndarray(picture_of(index, 64, 48))))
            out.mux(small.encode(None))
        for index, time in zip(range(recipe.n_frames), times, strict=True):
            stored = np.rot90(picture_of(index, *_upright_size(recipe)), recipe.rotation // 90)
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(stored)).reformat(format=recipe.pix_fmt)
            frame.pts, frame.time_base = time, time_base
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        length_s = float((times[-1] - min(times[0], 0) + 1) * time_base)
        for n, sound in enumerate(sounds):
            beeps = [round(float(times[i] * time_base) * AUDIO_RATE) for i in range(0, recipe.n_frames, BEEP_EVERY)]
            _encode_sound(out, sound, tone(round(length_s * AUDIO_RATE), beeps if recipe.beeps and n == 0 else ()))
    return path


def _upright_size(recipe: Recipe) -> tuple[int, int]:
    width, height = recipe.size
    return (height, width) if recipe.rotation % 180 else (width, height)


def _video_stream(out: Any, recipe: Recipe, time_base: Fraction) -> Any:
    options = dict(recipe.options)
    if recipe.codec == "libx264":
        options.setdefault("preset", "veryfast")
    video = out.add_stream(recipe.codec, rate=recipe.fps, options=options)
    video.width, video.height, video.pix_fmt = *recipe.size, recipe.pix_fmt
    video.codec_context.time_base = time_base
    video.codec_context.thread_type, video.codec_context.thread_count = ThreadType.FRAME, 1
    if recipe.b_frames is not None:
        video.codec_context.max_b_frames = recipe.b_frames
    if recipe.gop is not None:
        video.codec_context.gop_size = recipe.gop
    if recipe.aspect is not None:
        video.codec_context.sample_aspect_ratio = recipe.aspect
    if recipe.rotation:
        video.set_display_rotation(-recipe.rotation)
    return video


def _audio_stream(out: Any, codec: str) -> Any:
    sound = out.add_stream(codec, rate=AUDIO_RATE)
    sound.codec_context.layout = "stereo"
    return sound


def _encode_sound(out: Any, stream: Any, wave: np.ndarray) -> None:
    for begin in range(0, len(wave), 960):
        block = np.ascontiguousarray(np.tile(wave[begin : begin + 960], (2, 1)))
        frame = av.AudioFrame.from_ndarray(block, "fltp", "stereo")
        frame.sample_rate, frame.pts, frame.time_base = AUDIO_RATE, begin, Fraction(1, AUDIO_RATE)
        out.mux(stream.encode(frame))
    out.mux(stream.encode(None))


@dataclass
class Decoded:
    """A whole video, played back."""

    indices: list[int]
    times_s: list[float]
    size: tuple[int, int]
    samples: np.ndarray  # mono, at AUDIO_RATE, from time 0 on; empty without sound


def play(path: Path) -> Decoded:
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        indices = [read_index(np.asarray(f.to_ndarray(format="rgb24"))) for f in frames]
        times = [float(f.pts * f.time_base) for f in frames]
    return Decoded(indices, times, (frames[0].width, frames[0].height), _heard(path))


def _heard(path: Path) -> np.ndarray:
    blocks: list[tuple[int, np.ndarray]] = []
    with av.open(str(path)) as container:
        if container.streams.audio:
            resampler = av.AudioResampler("fltp", "mono", AUDIO_RATE)
            for frame in container.decode(audio=0):
                for block in resampler.resample(frame):
                    at = round(float(block.pts * block.time_base) * AUDIO_RATE)
                    data = block.to_ndarray()[0]
                    blocks.append((max(at, 0), data[max(-at, 0) :]))
    samples = np.zeros(max((at + len(data) for at, data in blocks), default=0), np.float32)
    for at, data in blocks:
        samples[at : at + len(data)] = data
    return samples


def beep_onsets_s(samples: np.ndarray) -> list[float]:
    """When the sound goes from silent to loud."""
    window = 48
    loud = np.sqrt(np.convolve(samples**2, np.ones(window) / window, "same")) > 0.15
    onsets = np.flatnonzero(loud[1:] & ~loud[:-1]) + 1
    kept: list[int] = []
    for onset in onsets:
        if not kept or onset - kept[-1] > 0.1 * AUDIO_RATE:
            kept.append(int(onset))
    return [onset / AUDIO_RATE for onset in kept]


_VFR_TIMES = list(np.cumsum([0, *([10, 50, 33, 400, 20, 20, 90, 33, 33, 1100] * 8)]))[:80]

_AV1 = {"preset": "10", "crf": "15", "svtav1-params": "lp=1"}  # several threads now and then lose a timestamp

KINDS: dict[str, tuple[str, Recipe]] = {
    "h264 mp4": (".mp4", Recipe(b_frames=3, sounds=["aac"])),
    "h264 mp4 short GOP": (".mp4", Recipe(b_frames=2, gop=12)),
    "h264 mp4 open GOP": (".mp4", Recipe(gop=20, options={"x264-params": "open-gop=1:bframes=3:b-adapt=0:scenecut=0"})),
    "h264 mkv": (".mkv", Recipe(b_frames=3, sounds=["libopus"])),
    "h264 ts": (".ts", Recipe(b_frames=3, sounds=["aac"])),
    "h264 avi": (".avi", Recipe(b_frames=2)),
    "h264 flv": (".flv", Recipe(b_frames=2, sounds=["aac"])),
    "h264 raw": (".h264", Recipe(b_frames=2)),
    "hevc mp4": (".mp4", Recipe(codec="libx265", options={"preset": "ultrafast", "x265-params": "log-level=none"})),
    "hevc mkv": (
        ".mkv",
        Recipe(codec="libx265", options={"x265-params": "log-level=none:keyint=30:bframes=4:open-gop=1"}, n_frames=75),
    ),
    "vp8 webm": (
        ".webm",
        Recipe(codec="libvpx", options={"auto-alt-ref": "1", "lag-in-frames": "16"}),
    ),
    "vp9 webm": (".webm", Recipe(codec="libvpx-vp9", options={"cpu-used": "8", "deadline": "realtime"})),
    "av1 mp4": (".mp4", Recipe(codec="libsvtav1", options=_AV1, n_frames=60)),
    "av1 webm": (".webm", Recipe(codec="libsvtav1", options=_AV1, n_frames=60)),
    "mpeg4 avi": (".avi", Recipe(codec="mpeg4", b_frames=2, sounds=["libmp3lame"])),
    "mpeg4 mov": (".mov", Recipe(codec="mpeg4", sounds=["aac"])),
    "mpeg2 mpg": (".mpg", Recipe(codec="mpeg2video", b_frames=2)),
    "mjpeg avi": (".avi", Recipe(codec="mjpeg", pix_fmt="yuvj420p")),
    "prores mov": (".mov", Recipe(codec="prores_ks", pix_fmt="yuv422p10le", n_frames=40)),
    "gif": (".gif", Recipe(codec="gif", pix_fmt="rgb8", fps=25, n_frames=50)),
    "10 bit": (".mkv", Recipe(pix_fmt="yuv420p10le")),
    "4:2:2": (".mp4", Recipe(pix_fmt="yuv422p")),
    "alpha": (".webm", Recipe(codec="libvpx-vp9", pix_fmt="yuva420p", options={"cpu-used": "8", "auto-alt-ref": "0"})),
    "interlaced": (".mp4", Recipe(options={"x264-params": "tff=1"})),
    "variable rate": (".mkv", Recipe(times=_VFR_TIMES, time_base=Fraction(1, 1000), n_frames=80)),
    "variable rate mp4": (".mp4", Recipe(times=_VFR_TIMES, time_base=Fraction(1, 1000), n_frames=80, sounds=["aac"])),
    "ntsc": (".mp4", Recipe(fps=Fraction(30_000, 1001), sounds=["aac"])),
    "60 fps": (".mp4", Recipe(fps=60, n_frames=150)),
    "start offset": (".mkv", Recipe(times=range(150, 240), b_frames=2)),
    "start offset mp4": (".mp4", Recipe(times=range(150, 240), b_frames=2)),
    "rotated 90": (".mp4", Recipe(rotation=90)),
    "rotated 180": (".mov", Recipe(rotation=180)),
    "rotated 270": (".mp4", Recipe(rotation=270, sounds=["aac"])),
    "wide pixels": (".mp4", Recipe(aspect=Fraction(4, 3))),
    "odd size": (".mkv", Recipe(codec="libvpx-vp9", size=(161, 121), options={"cpu-used": "8"})),
    "cover picture": (".mp4", Recipe(cover=True, sounds=["aac"])),
    "two videos": (".mkv", Recipe(second_video=True)),
    "two sounds": (".mkv", Recipe(sounds=["aac", "libopus"])),
    "2 s": (".mp4", Recipe(n_frames=60, sounds=["aac"])),
    "1 frame": (".mp4", Recipe(n_frames=1)),
    "1 frame webm": (".webm", Recipe(codec="libvpx-vp9", n_frames=1)),
}


def times_of(kind: str) -> list[Fraction]:
    """When each frame of a kind is shown, the first at 0."""
    recipe = KINDS[kind][1]
    times = recipe.times if recipe.times is not None else range(recipe.n_frames)
    unit = recipe.time_base or 1 / Fraction(recipe.fps)
    return [Fraction(int(t) - int(times[0])) * unit for t in times]


def video_maker(folder: Path) -> Callable[[str], Path]:
    """Gives a video of any of the KINDS; each is made once."""

    def video(kind: str) -> Path:
        suffix, recipe = KINDS[kind]
        path = folder / (kind.replace(" ", "_").replace(":", "") + suffix)
        return path if path.exists() else make_video(path, recipe)

    return video
