"""Videos: probed, sampled, looked into and listened to."""

from __future__ import annotations

import sys
from pathlib import Path

from fuzz.mutation import mutate_bytes
from fuzz.target import Target
from vastsum.sound import find_speech
from vastsum.video import grab, probe, sample

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "video"))

from films import Recipe, make_video

_SMALL = {"n_frames": 24, "size": (32, 32), "gop": 8}
RECIPES = {
    "a.mp4": Recipe(b_frames=2, sounds=["aac"], **_SMALL),
    "b.mp4": Recipe(container_options={"movflags": "+faststart"}, rotation=90, **_SMALL),
    "c.mkv": Recipe(b_frames=2, **_SMALL),
    "d.webm": Recipe(codec="libvpx", **_SMALL),
    "e.avi": Recipe(codec="mpeg4", **_SMALL),
    "f.ts": Recipe(b_frames=2, sounds=["aac"], **_SMALL),
    "g.flv": Recipe(**_SMALL),
    "h.gif": Recipe(codec="gif", pix_fmt="rgb8", fps=25, n_frames=12, size=(32, 32)),
    "i.mov": Recipe(codec="mjpeg", pix_fmt="yuvj420p", n_frames=12, size=(32, 32)),
    "j.h264": Recipe(b_frames=2, **_SMALL),
    "k.mpg": Recipe(codec="mpeg2video", b_frames=2, **_SMALL),
}


def seeds(folder: Path) -> list[bytes]:
    return [make_video(folder / name, recipe).read_bytes() for name, recipe in RECIPES.items()]


def use(path: Path) -> None:
    info = probe(path)
    assert info.width > 0, info
    assert info.height > 0, info
    with sample(path, 8.0, size=(16, 16), threads=1) as samples:
        found = list(samples)
    indices = [taken.index for taken in found]
    assert indices == sorted(set(indices)), indices
    assert 0 <= indices[-1] < samples.timeline.n_frames, (indices, samples.timeline.n_frames)
    assert samples.timeline.duration_s > 0, samples.timeline
    grab(path, [0.0, 0.5], max_size=(16, 16), threads=1)
    speech = find_speech(path)
    assert all(start_s < end_s for start_s, end_s in speech.spans), speech.spans


TARGET = Target("video.mp4", seeds, use, mutate_bytes, native=True)
