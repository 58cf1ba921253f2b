"""What finding shots costs, as a share of watching the same video without it, the two by turns in one run.

    python benchmarks/shots.py FOLDER [--minutes 2] [--rounds 3] [--video FILE ...]

The best of the rounds counts; CPU time is that of the whole process. "extra" is how many more
frames are decoded: those around what may be cuts, and those looked at afterwards. Without videos of your own, one with
scenes of 3 to 14 s and one with scenes of 0.7 to 2.5 s are made in FOLDER and kept.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
from video_material import FAST_SCENES_S, video_of

from vastsum.features import load_backbone
from vastsum.features.backbone import Backbone
from vastsum.features.watching import watch
from vastsum.video import runs, schedule, shots
from vastsum.video.source import Source


def nothing(*_: object) -> None:
    """In place of what is measured; a Mock would remember the frames it was given."""


def no_shots_found(*_: object) -> shots.Shots:
    return shots.Shots(np.array([], np.int64), (), ())


@contextlib.contextmanager
def no_shots() -> Iterator[None]:
    with (
        mock.patch.object(runs, "glimpse", nothing),
        mock.patch.object(schedule.Surprises, "tells", nothing),
        mock.patch.object(shots.ShotFinder, "finish", no_shots_found),
    ):
        yield


@contextlib.contextmanager
def counted(frames: list[int]) -> Iterator[None]:
    decode = Source.decode

    def counting(self: Source, packet: object) -> list[object]:
        found: list[object] = decode(self, packet)  # type: ignore[arg-type, assignment]
        frames.append(len(found))
        return found

    with mock.patch.object(Source, "decode", counting):
        yield


def row(video: Path, backbone: Backbone, rounds: int, keyframes_only: bool) -> str:
    cpu, wall = np.zeros((2, rounds)), np.zeros((2, rounds))
    n_decoded = [0, 0]
    n_cuts = 0
    for turn in range(rounds):
        for found in (turn % 2, 1 - turn % 2):  # who goes first changes
            frames: list[int] = []
            with contextlib.nullcontext() if found else no_shots(), counted(frames):
                cpu_s, wall_s = time.process_time(), time.perf_counter()
                watched = watch(video, backbone, 2.0, keyframes_only=keyframes_only)
                cpu[found, turn], wall[found, turn] = time.process_time() - cpu_s, time.perf_counter() - wall_s
            n_decoded[found] = sum(frames)
            n_cuts = len(watched.shots.cuts) if found else n_cuts
    ratios = [times[1].min() / times[0].min() for times in (cpu, wall)]
    extra = n_decoded[1] / n_decoded[0] - 1
    name = f"{video.name}{' --fast' if keyframes_only else ''}"
    return f"{name:44} {n_cuts:5} {ratios[0]:8.3f} {ratios[1]:8.3f} {extra:7.1%} {cpu[0].min():8.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--video", type=Path, nargs="*")
    arguments = parser.parse_args()
    made = [(), (FAST_SCENES_S,)]
    videos = arguments.video or [video_of(arguments.minutes, arguments.folder, *scenes) for scenes in made]
    backbone = load_backbone()
    print(f"{'':44} {'cuts':>5} {'CPU':>8} {'wall':>8} {'extra':>7} {'CPU s':>8}")
    for video in videos:
        for keyframes_only in (False, True):
            print(row(video, backbone, arguments.rounds, keyframes_only), flush=True)


if __name__ == "__main__":
    main()
