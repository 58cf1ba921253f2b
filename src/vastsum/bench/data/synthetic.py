"""A synthetic benchmark with known latent importance and annotators who disagree.

Every video is a chain of segments, each showing a mix of a few concepts. Concepts differ in how much people care for
them, and people differ in that too: each annotator belongs to one of two tastes, adds a private one, and is noisy. So
the features tell the importance, the mean annotator is a good but not perfect judge, and people agree only in part:
what a scorer needs to show that it learns, and that its uncertainty means something.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vastsum.errors import ConfigError, MissingExtraError
from vastsum.files import atomic_path
from vastsum.selection import knapsack, segment_means
from vastsum.types import FloatArray, IntArray, Kind

FPS = 30
PICK_EVERY = 15
N_CONCEPTS = 12
SCORE_HOLD_S = 2  # TVSum's people scored two-second pieces


def make_synthetic(
    destination: Path,
    *,
    kind: Kind = "tvsum",
    n_videos: int = 25,
    n_annotators: int = 12,
    feature_width: int = 64,
    mean_duration_s: float = 60.0,
    disagreement: float = 0.6,
    seed: int = 0,
) -> None:
    """Write a benchmark file of `kind`. Its `latent_importance` (T) is the truth the annotators were drawn around."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtraError("h5py", "train") from error
    if min(n_videos, n_annotators, feature_width) < 1 or mean_duration_s < 5:
        raise ConfigError(
            "synth", "videos, annotators and width must be positive, and the mean duration at least 5 s", "raise them"
        )
    rng = np.random.default_rng(seed)
    world = _World(rng, feature_width, n_annotators, disagreement)
    with atomic_path(destination) as temporary, h5py.File(temporary, "w", locking=False) as file:
        file.attrs["dataset"] = kind
        file.attrs["synthetic"] = True
        for number in range(1, n_videos + 1):
            group = file.create_group(f"synth_{number}")
            for key, value in world.video(rng, kind, mean_duration_s).items():
                group.create_dataset(key, data=value)
            group.create_dataset("video_name", data=f"Synthetic {number}")


class _World:
    """What all videos of one file share: how concepts look, and who likes which."""

    def __init__(self, rng: np.random.Generator, width: int, n_annotators: int, disagreement: float) -> None:
        self.looks = rng.standard_normal((N_CONCEPTS, width))
        self.worth = rng.standard_normal(N_CONCEPTS)
        two_tastes = rng.standard_normal((2, N_CONCEPTS))
        private = rng.standard_normal((n_annotators, N_CONCEPTS))
        taste = two_tastes[rng.integers(0, 2, n_annotators)]
        self.worth_to = self.worth + disagreement * (0.7 * taste + 0.7 * private)  # (U, concepts)

    def video(self, rng: np.random.Generator, kind: Kind, mean_duration_s: float) -> dict[str, object]:
        n_frames = max(int(rng.gamma(6.0, mean_duration_s / 6.0) * FPS), 5 * FPS)
        bounds = _cut(rng, n_frames)
        picks = np.arange(0, n_frames, PICK_EVERY)
        mix = self._mix(rng, bounds, picks)  # (T, concepts)
        features = mix @ self.looks + 0.5 * rng.standard_normal((len(picks), self.looks.shape[1]))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        latent = mix @ self.worth  # (T,)
        opinions = self.worth_to @ mix.T + 0.3 * rng.standard_normal((len(self.worth_to), len(picks)))  # (U, T)
        frame_opinions = np.repeat(opinions, PICK_EVERY, axis=1)[:, :n_frames]
        content: dict[str, object] = {
            "features": features.astype(np.float16),
            "picks": picks,
            "n_frames": n_frames,
            "n_steps": len(picks),
            "change_points": bounds,
            "n_frame_per_seg": bounds[:, 1] - bounds[:, 0] + 1,
            "fps": float(FPS),
            "latent_importance": latent,
            "user_summary": _summaries(frame_opinions, bounds),
        }
        if kind == "tvsum":
            scores = _five_point_scores(frame_opinions)
            content |= {"user_scores": scores, "gtscore": (scores.mean(axis=0)[picks] - 1) / 4}
        return content

    def _mix(self, rng: np.random.Generator, bounds: IntArray, picks: IntArray) -> FloatArray:
        """Each segment shows a main concept and a trace of others; within it the mix drifts a little."""
        per_segment = rng.dirichlet(np.full(N_CONCEPTS, 0.25), len(bounds))
        drift = (
            0.05
            * rng.standard_normal((len(picks), N_CONCEPTS)).cumsum(axis=0)
            / np.sqrt(np.arange(1, len(picks) + 1))[:, None]
        )
        return per_segment[np.searchsorted(bounds[:, 1], picks)] + drift


def _cut(rng: np.random.Generator, n_frames: int) -> IntArray:
    """Segments of about five seconds, as in the published files."""
    lengths = np.maximum(rng.gamma(3.0, 5.0 / 3.0, n_frames // FPS + 1) * FPS, FPS).astype(np.int64)
    ends = np.cumsum(lengths) - 1
    ends = np.append(ends[ends < n_frames - FPS], n_frames - 1)
    return np.column_stack([np.append(0, ends[:-1] + 1), ends])


def _five_point_scores(frame_opinions: FloatArray) -> FloatArray:
    """Opinions held for two seconds and put on the scale 1 … 5 by each person's own quintiles."""
    hold = SCORE_HOLD_S * FPS
    held = np.repeat(frame_opinions[:, hold // 2 :: hold], hold, axis=1)
    held = np.pad(held, ((0, 0), (0, max(0, frame_opinions.shape[1] - held.shape[1]))), mode="edge")[
        :, : frame_opinions.shape[1]
    ]
    quintiles = np.quantile(held, [0.2, 0.4, 0.6, 0.8], axis=1)  # (4, U)
    return (1 + (held[None] > quintiles[:, :, None]).sum(axis=0)).astype(np.uint8)


def _summaries(frame_opinions: FloatArray, bounds: IntArray) -> FloatArray:
    """Each person's own 15 % summary: the knapsack over their opinion."""
    lengths = bounds[:, 1] - bounds[:, 0] + 1
    values = np.stack([segment_means(opinion, bounds) for opinion in frame_opinions])
    values -= values.min(axis=1, keepdims=True)
    chosen = knapsack(values, lengths, int(0.15 * frame_opinions.shape[1]))
    return np.repeat(chosen, lengths, axis=1).astype(np.uint8)
