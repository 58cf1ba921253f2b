"""A trained scorer as it is deployed: an ONNX file, run without torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vastsum.assets import read_asset
from vastsum.errors import CheckpointError
from vastsum.features.onnx_model import read_model
from vastsum.features.ort_session import OrtSession
from vastsum.features.relative import NAMES, with_channels
from vastsum.scoring.windows import predict_in_windows
from vastsum.types import FloatArray, IntArray, Prediction, Segments

DEFAULT_SCORER = "vastsum"
EMBEDDED = {DEFAULT_SCORER: "vastsum.onnx"}


class OnnxScorer:
    """Inputs `features` (1, T, D), `segment_ids` (1, T) and `segments` (1, M); outputs `mean` and `std` (1, T).

    Where its card names relative channels, they are computed here from a backbone's features and put beside them.
    """

    def __init__(self, data: bytes, where: object, *, device: str = "cpu", threads: int = 0) -> None:
        self._session = OrtSession(data, where, device, threads=threads, frugal=True)
        self.where = where
        inputs, outputs = self._session.inputs, self._session.outputs
        if set(inputs) != {"features", "segment_ids", "segments"} or not {"mean", "std"} <= set(outputs):
            raise self._not_a_scorer()
        *_, width = inputs["features"].shape
        if len(inputs["features"].shape) != 3 or not isinstance(width, int):
            raise self._not_a_scorer()
        self.card: dict[str, Any] = self._read_card()
        channels = self.card.get("channels", [])
        if channels not in ([], list(NAMES)):
            raise CheckpointError(where, "was made for other relative channels than this version's", "export it again")
        self.relative = bool(channels)
        self.feature_width = width - len(channels)

    def _read_card(self) -> dict[str, Any]:
        try:
            card = json.loads(self._session.metadata.get("vastsum", "{}"))
        except (ValueError, RecursionError) as error:
            raise self._not_a_scorer() from error
        if not isinstance(card, dict):
            raise self._not_a_scorer()
        return card

    def _not_a_scorer(self) -> CheckpointError:
        remedy = "give an .onnx file written by 'vastsum export'"
        return CheckpointError(self.where, "is not a VASTSum scorer", remedy)

    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        if features.shape[1] != self.feature_width:
            problem = f"takes features of width {self.feature_width}, these have {features.shape[1]}"
            raise CheckpointError(self.where, problem, "use the backbone it was trained with")
        if self.relative:
            features = with_channels(features, segments.times_s)
        ids = segments.ids
        return predict_in_windows(ids, lambda start, end: self._window(features[start:end], ids[start:end]), self.where)

    def _window(self, features: FloatArray, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Scores of these picks, seen by themselves."""
        own_ids = (ids - ids[0]).astype(np.int64)
        feed: dict[str, NDArray[Any]] = {
            "features": np.ascontiguousarray(features[None], dtype=np.float32),
            "segment_ids": own_ids[None],
            "segments": np.zeros((1, int(own_ids[-1]) + 1), dtype=np.int64),
        }
        mean, std = self._session.run(["mean", "std"], feed)
        if not mean.shape == std.shape == (1, len(ids)):
            raise self._not_a_scorer()
        return mean[0], std[0]


def load_scorer(model: str | Path = DEFAULT_SCORER, *, device: str = "cpu", threads: int = 0) -> OnnxScorer:
    """An embedded scorer by name, or one's own by the path of its .onnx file. 0 threads are as many as cores."""
    if str(model) in EMBEDDED:
        data, where = read_asset(EMBEDDED[str(model)]), f"model {model}"
    elif str(model).endswith(".onnx"):
        data, where = read_model(Path(model)), str(model)
    else:
        raise CheckpointError(
            model, "is not a model", f"give the path of an .onnx file, or one of: {', '.join(EMBEDDED)}"
        )
    return OnnxScorer(data, where, device=device, threads=threads)
