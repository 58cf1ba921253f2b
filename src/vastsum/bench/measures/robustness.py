"""How much a summary changes when the scores behind it are disturbed a little."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vastsum.selection import perturbed_choices, select
from vastsum.types import Prediction, Segments

DRAWS = 64
RELATIVE_NOISE = 0.1


@dataclass(frozen=True)
class Robustness:
    """`jaccard` is the mean overlap, in frames, of the summary with those under noise; `unstable` is the share of
    segments that are in some of the disturbed summaries and out of others."""

    jaccard: float
    unstable: float


def robustness(prediction: Prediction, segments: Segments, *, budget: float = 0.15) -> Robustness:
    """Gaussian noise of a tenth of the spread of the segment scores, so that models of any scale can be compared."""
    base = select(prediction, segments, budget)
    choices = perturbed_choices(
        base.values,
        segments.lengths,
        base.budget_frames,
        noise=RELATIVE_NOISE * float(base.values.std()),
        draws=DRAWS,
        rng=np.random.default_rng(0),
    )  # (R, M)
    both = (choices & base.chosen) @ segments.lengths
    either = (choices | base.chosen) @ segments.lengths
    share = choices.mean(axis=0)
    jaccard = np.divide(both, either, out=np.ones(len(both)), where=either > 0)
    return Robustness(float(jaccard.mean()), float(((share > 0) & (share < 1)).mean()))
