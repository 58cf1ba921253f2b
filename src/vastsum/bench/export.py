"""From a trained network to the ONNX file that is deployed."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import torch
from torch import Tensor, nn

from vastsum.bench.methods.vastsum import Likelihood, VastsumNetwork
from vastsum.features.relative import NAMES
from vastsum.files import atomic_path


class _Deployed(nn.Module):
    """The whole prediction for one video as one graph. `segments` (1, M) only carries the number of segments."""

    def __init__(self, network: VastsumNetwork, likelihood: Likelihood) -> None:
        super().__init__()
        self.network, self.likelihood = network, likelihood

    def forward(self, features: Tensor, segment_ids: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        mask = torch.ones_like(segment_ids, dtype=torch.bool)
        return self.network.predict(features, segment_ids, mask, segments.shape[1], self.likelihood)


def export_onnx(network: VastsumNetwork, likelihood: Likelihood, destination: Path, card: Mapping[str, Any]) -> None:
    """Write the network with its head read at fixed points of the posterior; `card` goes into the file's metadata, with
    the names of the relative channels that the network is given."""
    n_picks, n_segments = 40, 7
    ids = torch.arange(n_picks)[None] * n_segments // n_picks
    example = (torch.zeros(1, n_picks, network.config.feature_width), ids, torch.zeros(1, n_segments, dtype=torch.long))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own deprecations
        program = torch.onnx.export(
            _Deployed(network.eval(), likelihood),
            example,
            input_names=["features", "segment_ids", "segments"],
            output_names=["mean", "std"],
            dynamic_shapes={
                "features": {1: torch.export.Dim("T", min=1)},
                "segment_ids": {1: torch.export.Dim("T", min=1)},
                "segments": {1: torch.export.Dim("M", min=1)},
            },
            dynamo=True,
            verbose=False,
        )
    assert program is not None
    model = program.model_proto
    _forget_its_making(model.graph)
    entry = model.metadata_props.add()
    channels = {"channels": list(NAMES)} if network.config.relative else {}
    entry.key, entry.value = "vastsum", json.dumps(dict(card) | channels, sort_keys=True)
    onnx.checker.check_model(model)
    with atomic_path(destination) as temporary:
        temporary.write_bytes(model.SerializeToString())


def _forget_its_making(graph: onnx.GraphProto) -> None:
    """The exporter notes at every node where in whose source files it came from: nobody else's business."""
    for part in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        part.doc_string = ""
        del part.metadata_props[:]
