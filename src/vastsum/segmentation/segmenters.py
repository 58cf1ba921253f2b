"""The ways to cut a video, by name. A further one is a class with `cuts` and a line in SEGMENTERS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vastsum.segmentation.kts import kernel_cuts
from vastsum.types import FloatArray, IntArray

DEFAULT_STRENGTH = 0.1
MEAN_LENGTH_S = 5.0


class Segmenter(Protocol):
    def cuts(self, features: FloatArray, duration_s: float) -> IntArray:
        """The picks (rows of `features`) that start a new segment: increasing, never the first."""


@dataclass(frozen=True)
class KernelSegmenter:
    """Kernel temporal segmentation, with no more segments than one every `mean_s` seconds.

    The benchmark's published segments come from such a limit too: whatever is in the video there is one every 5 s, to
    a few per cent. Without a limit the criterion is no guide on sampled frames: below a strength of about 0.7 it makes
    every pick of a lively video a segment, above it misses most cuts of a quiet one. With the limit, the strength has
    only to say when a video has fewer segments than that; at 0.1 their mean length is the published one, in both
    benchmarks.
    """

    strength: float = DEFAULT_STRENGTH
    mean_s: float = MEAN_LENGTH_S

    def cuts(self, features: FloatArray, duration_s: float) -> IntArray:
        return kernel_cuts(features, self.strength, max_cuts=max(int(duration_s / self.mean_s) - 1, 0))


@dataclass(frozen=True)
class UniformSegmenter:
    """Segments of equal numbers of picks, as near to `length_s` seconds as goes evenly into the video."""

    length_s: float = MEAN_LENGTH_S

    def cuts(self, features: FloatArray, duration_s: float) -> IntArray:
        n_segments = min(max(round(duration_s / self.length_s), 1), len(features))
        return np.linspace(0, len(features), n_segments + 1).round().astype(np.int64)[1:-1]


SEGMENTERS: dict[str, type[KernelSegmenter] | type[UniformSegmenter]] = {
    "kts": KernelSegmenter,
    "uniform": UniformSegmenter,
}
DEFAULT_SEGMENTER = "kts"
