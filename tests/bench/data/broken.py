"""A good benchmark file, and the many ways in which one can be broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

Breakage = Callable[[h5py.Group], None]


def write_good(path: Path, *, kind: str = "tvsum", n_videos: int = 3) -> None:
    rng = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        for number in range(1, n_videos + 1):
            group = file.create_group(f"video_{number}")
            group["features"] = rng.random((6, 4)).astype(np.float32)
            group["picks"] = np.arange(0, 90, 15)
            group["n_frames"] = 90
            group["n_steps"] = 6
            group["change_points"] = np.array([[0, 29], [30, 59], [60, 89]])
            group["n_frame_per_seg"] = np.array([30, 30, 30])
            group["gtscore"] = rng.random(6)
            group["user_summary"] = rng.integers(0, 2, (2, 90)).astype(np.float32)
            group["video_name"] = f"title {number}"
            if kind == "tvsum":
                group["user_scores"] = rng.integers(1, 6, (2, 90))


def put(key: str, value: object) -> Breakage:
    def change(group: h5py.Group) -> None:
        if key in group:
            del group[key]
        group[key] = value

    return change


def drop(key: str) -> Breakage:
    def change(group: h5py.Group) -> None:
        del group[key]

    return change


def nan_in(key: str) -> Breakage:
    def change(group: h5py.Group) -> None:
        values = np.asarray(group[key][()], dtype=np.float64)
        values.flat[0] = np.nan
        put(key, values)(group)

    return change


def group_instead_of(key: str) -> Breakage:
    def change(group: h5py.Group) -> None:
        del group[key]
        group.create_group(key)

    return change


# What is broken → (the change to video_2, the key the error must name, words it must contain)
BREAKAGES: dict[str, tuple[Breakage, str, str]] = {
    "no features": (drop("features"), "features", "missing"),
    "no picks": (drop("picks"), "picks", "missing"),
    "no change points": (drop("change_points"), "change_points", "missing"),
    "no annotations": (drop("user_scores"), "user_scores", "missing"),
    "no n_frames": (lambda g: (drop("n_frames")(g), drop("user_summary")(g)), "n_frames", "missing"),
    "NaN features": (nan_in("features"), "features", "NaN"),
    "infinite features": (put("features", np.full((6, 4), np.inf)), "features", "infinite"),
    "NaN scores": (nan_in("user_scores"), "user_scores", "NaN"),
    "flat features": (put("features", np.ones(6)), "features", "shape"),
    "empty features": (put("features", np.ones((0, 4))), "features", "shape"),
    "text features": (put("features", np.array([b"a", b"b"])), "features", "numbers"),
    "features are a group": (group_instead_of("features"), "features", "group"),
    "too few features": (put("features", np.ones((4, 4))), "features", "4 vectors for 6 picks"),
    "wider features": (put("features", np.ones((6, 5))), "features", "wide"),
    "empty picks": (put("picks", np.array([], dtype=int)), "picks", "empty"),
    "picks repeat": (put("picks", np.array([0, 15, 15, 30, 45, 60])), "picks", "increase"),
    "picks go back": (put("picks", np.array([0, 30, 15, 45, 60, 75])), "picks", "increase"),
    "picks past the end": (put("picks", np.array([0, 15, 30, 45, 60, 90])), "picks", "out of range"),
    "picks negative": (put("picks", np.array([-1, 15, 30, 45, 60, 75])), "picks", "out of range"),
    "picks fractional": (put("picks", np.array([0, 15.5, 30, 45, 60, 75])), "picks", "fractions"),
    "segments overlap": (put("change_points", [[0, 30], [30, 59], [60, 89]]), "change_points", "overlap"),
    "segments leave a gap": (put("change_points", [[0, 28], [30, 59], [60, 89]]), "change_points", "gap"),
    "segments stop early": (put("change_points", [[0, 29], [30, 80]]), "change_points", "covers"),
    "segments start late": (put("change_points", [[1, 29], [30, 89]]), "change_points", "covers"),
    "segments run too far": (put("change_points", [[0, 29], [30, 95]]), "change_points", "covers"),
    "segment backwards": (put("change_points", [[0, 29], [59, 30], [60, 89]]), "change_points", "before it starts"),
    "segments of one column": (put("change_points", [[0], [30]]), "change_points", "shape"),
    "no segments": (put("change_points", np.zeros((0, 2), int)), "change_points", "shape"),
    "segment lengths too few": (put("n_frame_per_seg", [30, 60]), "n_frame_per_seg", "entries"),
    "features beyond single precision": (put("features", np.full((6, 4), 1e308)), "features", "beyond"),
    "n_frames zero": (put("n_frames", 0), "n_frames", "positive"),
    "n_frames twice": (put("n_frames", [90, 90]), "n_frames", "positive"),
    "summary too short": (put("user_summary", np.ones((2, 80))), "user_summary", "80 columns for 90 frames"),
    "summary not binary": (put("user_summary", np.full((2, 90), 0.5)), "user_summary", "other than 0 and 1"),
    "summary of nobody": (put("user_summary", np.ones((0, 90))), "user_summary", "shape"),
    "scores too long": (put("user_scores", np.ones((2, 95))), "user_scores", "95 columns for 90 frames"),
    "scores off the scale": (put("user_scores", np.full((2, 90), 7)), "user_scores", "1 to 5"),
    "gtscore of another video": (put("gtscore", np.ones(40)), "gtscore", "40 steps"),
    "n_steps of another video": (put("n_steps", 60), "n_steps", "60 steps"),
}
