"""Every metric of one prediction. Importing this does not import torch: it is what judging processes run."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.measures.calibration import calibration
from vastsum.bench.measures.metrics import Agreement, agreement
from vastsum.bench.measures.robustness import robustness
from vastsum.types import Kind, Prediction


def measure(prediction: Prediction, video: BenchmarkVideo, kind: Kind) -> tuple[dict[str, float | None], int]:
    """Every metric of one prediction, and how many correlations were undefined. A method that claims no uncertainty
    (its deviation is zero everywhere) is not held to any. `range` is the highest importance less the lowest."""
    agreed = agreement(prediction, video, kind)
    trust = asdict(calibration(prediction, video, kind)) if prediction.std.any() else {}
    firm = asdict(robustness(prediction, video.segments))
    return {**numbers(agreed), **trust, **firm, "range": float(np.ptp(prediction.mean))}, agreed.undefined


def numbers(agreed: Agreement) -> dict[str, float | None]:
    return {name: value for name, value in asdict(agreed).items() if name != "undefined"}
