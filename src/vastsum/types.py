"""The few values that travel between rooms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Progress = Callable[[str, float, float | None], None]
"""Told as work on a video goes on: the stage, how much of it is done, and of how much in all where that is known."""

FloatArray = NDArray[np.floating[Any]]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Kind = Literal["summe", "tvsum"]
"""How people annotated a video: by binary summaries (as SumMe's did) or by scores (as TVSum's)."""


@dataclass(frozen=True, eq=False)
class Segments:
    """A video's timeline cut into segments, and the picks (sampled frames) that lie on it.

    `bounds` holds inclusive [start, end] frame indices: contiguous, disjoint, covering 0 … n_frames − 1.
    `picks` are the strictly increasing frame indices whose features a scorer sees.
    """

    bounds: IntArray  # (M, 2)
    picks: IntArray  # (T,)
    n_frames: int
    fps: float = 30.0

    def __len__(self) -> int:
        return len(self.bounds)

    @cached_property
    def times_s(self) -> FloatArray:
        """When each pick is on screen, at an even frame rate."""
        return self.picks / self.fps  # (T,)

    @cached_property
    def lengths(self) -> IntArray:
        """ℓ_k, in frames of the original timeline."""
        return self.bounds[:, 1] - self.bounds[:, 0] + 1  # (M,)

    @cached_property
    def ids(self) -> IntArray:
        """s_t: the segment each pick lies in."""
        return np.searchsorted(self.bounds[:, 1], self.picks, side="left").astype(np.int64)  # (T,)

    @cached_property
    def first_picks(self) -> IntArray:
        """The pick in force where each segment starts: the last one at or before it, or else the first of all."""
        return np.maximum(np.searchsorted(self.picks, self.bounds[:, 0], side="right") - 1, 0).astype(np.int64)  # (M,)


@dataclass(frozen=True)
class Decoder:
    """How the knapsack values a segment: mean of exp(sharpness · z) over its frames, times its length ^ length_power.

    z are the video's scores with mean 0 and deviation 1. With sharpness 0 the scores are averaged as they are.
    """

    sharpness: float = 0.0
    length_power: float = 0.0


MAX_SHARPNESS, MAX_LENGTH_POWER = 5.0, 2.0
FLASH_S = 0.5  # a shot that is seen for less is a flash
"""What a file may ask of a decoder: exp() and powers stay finite."""

PAPER_DECODER = Decoder()
"""The paper's: a segment is worth its mean score."""


HIGHEST_SCORE = 1e30
"""Sums and squares of more would not be numbers any more."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Importance of each pick and the standard deviation that goes with it, in the same unit."""

    mean: FloatArray  # (T,)
    std: FloatArray  # (T,)
    decoder: Decoder = PAPER_DECODER  # what the method was made for

    @property
    def is_sound(self) -> bool:
        """Whether these are numbers to calculate with."""
        mean, std = np.asarray(self.mean), np.asarray(self.std)
        return bool((np.abs(mean) <= HIGHEST_SCORE).all() and ((std >= 0) & (std <= HIGHEST_SCORE)).all())

    @classmethod
    def certain(cls, mean: FloatArray, decoder: Decoder = PAPER_DECODER) -> Prediction:
        """Of a method that claims no uncertainty: the deviation is zero."""
        return cls(mean, np.zeros_like(mean), decoder)


class Stretch(NamedTuple):
    """Frames in a row, the last one included, and what they show."""

    first_frame: int
    last_frame: int
    kind: str = ""


@dataclass(frozen=True)
class Marks:
    """What was noticed in a video besides its importance: where it is good to cut, and what shows nothing.

    `cuts` are the first frames of its shots, `pauses` frames at which no word is broken. `speech` are stretches in
    which somebody speaks; a pause outside of them ends a sentence. `empty` are stretches with nothing to see: "black",
    "blank", "frozen" or "test card".
    """

    cuts: tuple[int, ...] = ()
    pauses: tuple[int, ...] = ()
    speech: tuple[Stretch, ...] = ()
    empty: tuple[Stretch, ...] = ()


@dataclass(frozen=True, eq=False)
class Selection:
    """Which segments make the summary, and what each was worth to the knapsack."""

    chosen: BoolArray  # (M,)
    values: FloatArray  # (M,)
    budget_frames: int
