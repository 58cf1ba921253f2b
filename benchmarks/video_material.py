"""Videos to measure on: synthetic, but as hard to decode as filmed ones of the same size and bitrate."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

UInt8Array = NDArray[np.uint8]

WIDTH, HEIGHT, FPS, AUDIO_RATE = 1280, 720, 30, 48_000
MINUTE_FRAMES = 60 * FPS


SCENES_S = 3.0, 14.0
FAST_SCENES_S = 0.7, 2.5


def video_of(minutes: int, folder: Path, scenes_s: tuple[float, float] = SCENES_S) -> Path:
    """A 720p30 h264 + aac file (x264's default GOP and B-frames, about 3 Mbit/s); made once and kept in `folder`.

    One minute is encoded, and its packets repeated: decoding cannot tell, and making an hour takes seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kind = "720p30" if scenes_s == SCENES_S else f"720p30-scenes-{scenes_s[0]}-{scenes_s[1]}s"
    minute, wanted = folder / f"{kind}-1min.mp4", folder / f"{kind}-{minutes}min.mp4"
    if not minute.exists():
        _encode_minute(minute.with_suffix(".part.mp4"), scenes_s)
        minute.with_suffix(".part.mp4").rename(minute)
    if not wanted.exists():
        repeat(minute, wanted.with_suffix(".part.mp4"), minutes)
        wanted.with_suffix(".part.mp4").rename(wanted)
    return wanted


def _texture(rng: np.random.Generator, height: int, width: int) -> UInt8Array:
    """Noise at every scale, like foliage, brick and clouds have."""
    image = np.zeros((height, width, 3))
    for cell in (2, 4, 8, 16, 32, 64, 128, 256):
        coarse = rng.standard_normal((height // cell + 2, width // cell + 2, 3))
        image += np.repeat(np.repeat(coarse, cell, 0), cell, 1)[:height, :width] * cell**0.6
    image -= image.min()
    return np.asarray(image * (255 / image.max()), np.uint8)


def _scene_lengths(rng: np.random.Generator, shortest_s: float, longest_s: float) -> list[int]:
    """Scenes that fill one minute exactly."""
    lengths: list[int] = []
    while sum(lengths) < MINUTE_FRAMES:
        lengths.append(int(rng.integers(round(shortest_s * FPS), round(longest_s * FPS))))
    lengths[-1] -= sum(lengths) - MINUTE_FRAMES
    return lengths


def _scene(rng: np.random.Generator, n_frames: int) -> list[UInt8Array]:
    """A camera that pans over a texture while things move before it, seen through a noisy sensor."""
    margin = 400
    ground = _texture(rng, HEIGHT + 2 * margin, WIDTH + 2 * margin)
    things = [_texture(rng, int(s), int(s)) for s in rng.integers(80, 260, 5)]
    grain = rng.integers(-3, 4, (8, HEIGHT, WIDTH, 1), dtype=np.int16)
    pan, sway = rng.uniform(-1.2, 1.2, 2), rng.uniform(0.01, 0.05, 2)
    start, speed = rng.uniform(0, 400, (5, 2)), rng.uniform(-4, 4, (5, 2))
    frames = []
    for t in range(n_frames):
        y, x = (np.clip(margin + pan * t + 30 * np.sin(sway * t), 0, 2 * margin)).astype(int)
        frame = ground[y : y + HEIGHT, x : x + WIDTH].copy()
        for thing, origin, step in zip(things, start, speed, strict=True):
            top, left = (int(v) for v in (origin + step * t) % (HEIGHT - 260, WIDTH - 260))
            frame[top : top + len(thing), left : left + len(thing)] = thing
        frames.append(np.clip(frame + grain[t % 8], 0, 255).astype(np.uint8))
    return frames


def _encode_minute(path: Path, scenes_s: tuple[float, float]) -> None:
    rng = np.random.default_rng(7)
    with av.open(str(path), "w") as out:
        video = out.add_stream("libx264", rate=FPS, options={"preset": "medium"})
        video.width, video.height, video.bit_rate = WIDTH, HEIGHT, 3_000_000
        video.codec_context.thread_type = "FRAME"  # PyAV's own default cuts every frame in slices; x264's does not
        sound = out.add_stream("aac", rate=AUDIO_RATE)
        sound.layout = "stereo"
        for n_frames in _scene_lengths(rng, *scenes_s):
            for frame in _scene(rng, n_frames):
                out.mux(video.encode(av.VideoFrame.from_ndarray(frame, "rgb24")))
        out.mux(video.encode(None))
        t = np.arange(60 * AUDIO_RATE) / AUDIO_RATE
        wave = (0.2 * np.sin(2 * np.pi * 220 * t) * (1 + np.sin(t))).astype(np.float32)
        for begin in range(0, len(wave), 1024):
            block = np.tile(wave[begin : begin + 1024], (2, 1))
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block), "fltp", "stereo")
            frame.sample_rate, frame.pts, frame.time_base = AUDIO_RATE, begin, Fraction(1, AUDIO_RATE)
            out.mux(sound.encode(frame))
        out.mux(sound.encode(None))


def repeat(video: Path, path: Path, times: int, every_s: int = 60) -> None:
    """The same video over and over, its packets copied; each turn begins `every_s` after the last."""
    with av.open(str(path), "w") as out:
        with av.open(str(video)) as source:
            streams = {s.index: out.add_stream_from_template(s, opaque=True) for s in source.streams}
        for turn in range(times):
            with av.open(str(video)) as source:
                for packet in source.demux():
                    if packet.dts is None or packet.pts is None:
                        continue
                    if packet.stream.type == "audio" and packet.pts < 0 < turn:
                        continue  # the encoder's priming belongs to the very start only
                    shift = int(every_s * turn / packet.time_base)
                    packet.pts, packet.dts = packet.pts + shift, packet.dts + shift
                    packet.stream = streams[packet.stream.index]
                    out.mux(packet)
