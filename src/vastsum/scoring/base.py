"""The one interface that the rest of the house knows of a method."""

from __future__ import annotations

from typing import Protocol

from vastsum.types import FloatArray, Prediction, Segments


class Scorer(Protocol):
    """Scores the picks of one video: their importance and how unsure it is."""

    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        """`features` is (T, D), one vector a pick of `segments`; the prediction holds T means and T deviations."""
        ...
