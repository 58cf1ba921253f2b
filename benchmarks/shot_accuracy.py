"""Hard cuts found here, against planted ones and against PySceneDetect, which runs in an environment of its own.

    python -m venv ELSEWHERE && ELSEWHERE/bin/pip install "scenedetect[opencv-headless]" av
    python benchmarks/shot_accuracy.py FOLDER VIDEO ... --scenedetect ELSEWHERE/bin/python

Each video is searched as it is. Where the two disagree, FOLDER gets a strip of the frames around, to be judged by eye:
the third of the six is the last frame of the old shot. Then shots of the videos are joined at known frames, encoded in
several ways, and searched again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vastsum.video import read_timeline, sample

OTHERS = """
import json, sys
from scenedetect import AdaptiveDetector, ContentDetector, SceneManager, open_video
found = {}
for path in sys.argv[1:]:
    found[path] = {}
    for detector in (ContentDetector, AdaptiveDetector):
        manager = SceneManager()
        manager.add_detector(detector(min_scene_len=2))
        manager.detect_scenes(open_video(path, backend="pyav"))
        found[path][detector.__name__] = [start.get_seconds() for start, _ in manager.get_scene_list()][1:]
print(json.dumps(found))
"""
X264 = {"preset": "veryfast", "crf": "24"}
ENCODINGS: dict[str, tuple[str, str, dict[str, str]]] = {
    "x264": ("mp4", "libx264", X264),
    "x264, no scene cuts": ("mp4", "libx264", {**X264, "x264-params": "scenecut=0:bframes=3:keyint=250"}),
    "x264, groups of 30": ("mp4", "libx264", {**X264, "x264-params": "scenecut=0:bframes=2:keyint=30"}),
    "x264, open groups": ("mp4", "libx264", {**X264, "x264-params": "open-gop=1:bframes=3:keyint=48"}),
    "x265": ("mkv", "libx265", {"preset": "ultrafast", "x265-params": "log-level=none:bframes=4"}),
    "mpeg4": ("avi", "mpeg4", {"qscale": "4", "bf": "2", "g": "12"}),
    "mpeg2": ("mpg", "mpeg2video", {"qscale": "4", "bf": "2", "g": "15"}),
    "vp9": ("webm", "libvpx-vp9", {"cpu-used": "8", "deadline": "realtime", "b": "1000000"}),
    "mjpeg": ("avi", "mjpeg", {"qscale": "4"}),
}
SIZE, FPS = (640, 360), 25
Shot = list[NDArray[np.uint8]]


def ours(path: Path) -> list[int]:
    with sample(path) as samples:
        for _ in samples:
            pass
        return [int(cut) for cut in samples.shots.cuts]


def theirs(python: Path, paths: list[Path]) -> dict[Path, dict[str, list[int]]]:
    command = [str(python), "-c", OTHERS, *map(str, paths)]
    times_s = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    timelines = {path: read_timeline(path) for path in paths}
    return {
        path: {
            name: [timeline.frame_at(time_s + 0.4 / timeline.fps) for time_s in cuts]
            for name, cuts in times_s[str(path)].items()
        }
        for path, timeline in timelines.items()
    }


def strip(path: Path, cut: int, out: Path) -> None:
    """Six frames, the fourth of which is said to begin a shot."""
    with av.open(str(path)) as container:
        frames = [f.to_image() for n, f in enumerate(container.decode(video=0)) if cut - 3 <= n < cut + 3]
    width, height = 320, round(320 * frames[0].height / frames[0].width)
    picture = Image.new("RGB", (width * len(frames), height))
    for n, frame in enumerate(frames):
        picture.paste(frame.resize((width, height)), (n * width, 0))
    picture.save(out)


def shots_in(path: Path, cuts: set[int]) -> list[Shot]:
    """The frames between any two places that any detector calls a cut, two at either end left out."""
    with av.open(str(path)) as container:
        frames = [np.asarray(f.reformat(*SIZE, "yuv420p").to_ndarray()) for f in container.decode(video=0)]
    bounds = [0, *sorted(cuts), len(frames)]
    return [frames[a + 2 : b - 2] for a, b in pairwise(bounds) if b - a > 16]


def planted(sources: list[list[Shot]], rng: np.random.Generator, n_shots: int, longest: int) -> tuple[Shot, list[int]]:
    """Pieces of shots, each from another video than the one before."""
    film: Shot = []
    cuts: list[int] = []
    last = -1
    for _ in range(n_shots):
        last = int(rng.choice([n for n in range(len(sources)) if n != last]))
        shot = sources[last][int(rng.integers(len(sources[last])))]
        length = int(rng.integers(10, min(longest, len(shot)) + 1))
        start = int(rng.integers(len(shot) - length + 1))
        cuts += [len(film)] if film else []
        film += shot[start : start + length]
    return film, cuts


def encode(film: Shot, path: Path, codec: str, options: dict[str, str]) -> Path:
    with av.open(str(path), "w") as out:
        video: Any = out.add_stream(codec, rate=FPS, options=options)
        (video.width, video.height), video.pix_fmt = SIZE, "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for n, values in enumerate(film):
            frame = av.VideoFrame.from_ndarray(values, "yuv420p").reformat(format=video.pix_fmt)
            frame.pts, frame.time_base = n, Fraction(1, FPS)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
    return path


def score(found: list[int], true: list[int], slack: int) -> tuple[int, int]:
    """How many true cuts are found, and how many found ones are true."""
    distances = np.abs(np.subtract.outer(found, true))
    return int((distances.min(0, initial=99) <= slack).sum()), int((distances.min(1, initial=99) <= slack).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("videos", type=Path, nargs="+")
    parser.add_argument("--scenedetect", type=Path, required=True, help="a Python that has it")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    reference = theirs(arguments.scenedetect, arguments.videos)
    sources = []
    for path in arguments.videos:
        found, others = ours(path), reference[path]
        print(f"{path.name}: ours {found}, " + ", ".join(f"{name} {cuts}" for name, cuts in others.items()))
        everything = [cut for cuts in (found, *others.values()) for cut in cuts]
        for cut in set(everything):
            if any(score(cuts, [cut], 1)[0] == 0 for cuts in (found, *others.values())):
                strip(path, cut, arguments.folder / f"{path.stem}-{cut}.png")
        sources += [shots] if (shots := shots_in(path, set(everything))) else []
    print("\nplanted: recall and precision of ours, and to within a frame of ContentDetector and AdaptiveDetector")
    for kind, n_shots, longest in (("long", 24, 150), ("short", 60, 40)):
        film, true = planted(sources, np.random.default_rng(n_shots), n_shots, longest)
        for name, (suffix, codec, options) in ENCODINGS.items():
            path = encode(film, arguments.folder / f"planted-{kind}-{codec}.{suffix}", codec, options)
            results = [ours(path), *theirs(arguments.scenedetect, [path])[path].values()]
            parts = []
            for found, slack in zip(results, (0, 1, 1), strict=True):
                n_true, n_right = score(found, true, slack)
                parts.append(f"{n_true / len(true):.3f} {n_right / max(len(found), 1):.3f}")
            print(f"{name:22} {kind:5} {len(true):4}   " + "   ".join(parts))
            print("   missed", sorted(set(true) - set(results[0])), "extra", sorted(set(results[0]) - set(true)))


if __name__ == "__main__":
    main()
