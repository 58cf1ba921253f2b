"""Small videos at the rates of editing programs, each frame of which shows its own number; and their summaries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import Prediction, Segments
from vastsum.video import probe, read_timeline

_BITS = 12
_SIZE = (16 * _BITS, 48)
N_FRAMES = 300


@dataclass(frozen=True)
class Clip:
    """`timecode` is what the file itself says of its first frame. Names have what must be quoted in a URL."""

    name: str
    rate: Fraction
    base: int
    drop: bool = False
    timecode: str = ""
    first: int = 0  # the frame that `timecode` stands for
    sound: bool = True
    variable: bool = False

    @property
    def even(self) -> bool:
        return not self.variable and self.rate != 15

    @property
    def rate_told(self) -> Fraction:
        """The frame rate that files for editing programs use."""
        return self.rate if self.even else Fraction(30)


_NTSC = Fraction(1000, 1001)
CLIPS = [
    Clip("23.976 fps.mp4", 24 * _NTSC, 24),
    Clip("25 fps & more.mp4", Fraction(25), 25),
    Clip("25 fps at ten.mov", Fraction(25), 25, timecode="10:00:00:00", first=900_000),
    Clip("29.97 df.mov", 30 * _NTSC, 30, drop=True, timecode="00:59:58;15", first=107_892 - 45),
    Clip("29.97 ndf.mov", 30 * _NTSC, 30, timecode="00:59:58:15", first=108_000 - 45),
    Clip("29.97 untold #1.mp4", 30 * _NTSC, 30, drop=True, sound=False),
    Clip("30 fps.mkv", Fraction(30), 30),
    Clip("59.94 fps.mp4", 60 * _NTSC, 60, drop=True),
    Clip("15 fps.mp4", Fraction(15), 30),
    Clip("variable.mp4", Fraction(30), 30, variable=True),
]


def make(clip: Clip, folder: Path) -> Path:
    path = folder / clip.name
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=clip.rate, options={"preset": "ultrafast", "qp": "10", "g": "50"})
        stream.width, stream.height, stream.pix_fmt = *_SIZE, "yuv420p"
        stream.time_base = stream.codec_context.time_base = 1 / (clip.rate * 4)
        if clip.timecode:
            stream.metadata["timecode"] = clip.timecode
        audio = out.add_stream("aac", rate=48_000, layout="stereo") if clip.sound else None
        pts = 0
        for n in range(N_FRAMES):
            frame = av.VideoFrame.from_ndarray(_picture(n))
            frame.pts, frame.time_base = pts, stream.codec_context.time_base
            # A phone's in poor light: now and then a frame stays for twice as long, or half of it.
            pts += 4 if not clip.variable else (4, 4, 8, 2)[n % 4]
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
        if audio is not None:
            length = int(pts / clip.rate / 4 * 48_000)
            block = av.AudioFrame.from_ndarray(np.zeros((2, length), np.float32), format="fltp", layout="stereo")
            block.sample_rate = 48_000
            out.mux(audio.encode(block))
            out.mux(audio.encode(None))
    return path


def _picture(n: int) -> np.ndarray:
    bits = [n >> bit & 1 for bit in range(_BITS)]
    row = np.repeat(np.array(bits, np.uint8) * 200 + 25, _SIZE[0] // _BITS)
    return np.repeat(np.tile(row, (_SIZE[1], 1))[:, :, None], 3, axis=2)


def numbers_shown(path: Path) -> list[int]:
    """Which frame of the clip each frame of a video shows."""
    numbers = []
    with av.open(str(path)) as container:
        for frame in container.decode(video=0):
            grey = frame.to_ndarray(format="gray")[8:-8]
            bits = grey.reshape(grey.shape[0], _BITS, -1)[:, :, 4:-4].mean(axis=(0, 2)) > 125
            numbers.append(int((bits << np.arange(_BITS)).sum()))
    return numbers


def summarised(path: Path) -> Summary:
    timeline = read_timeline(path)
    starts = np.arange(10) * 30
    picks = np.arange(0, N_FRAMES, 5)
    rng = np.random.default_rng(0)
    prediction = Prediction(rng.random(len(picks)), rng.uniform(0.05, 0.2, len(picks)))
    return Summary.choose(
        SourceVideo.of(probe(path), timeline),
        ModelNames("vastsum", "efficientnet_lite0"),
        prediction,
        Segments(np.column_stack([starts, starts + 29]), picks, N_FRAMES),
        0.3,
        timeline=timeline,
    ).with_budget(0.3, keep=[2, 3, 7], leave_out=[0])
