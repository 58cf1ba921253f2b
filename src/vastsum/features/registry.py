"""The backbones by name. A further one is a further line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vastsum.assets import read_asset
from vastsum.errors import CheckpointError, ConfigError
from vastsum.features.backbone import Backbone, Frames
from vastsum.features.onnx_model import read_model
from vastsum.features.ort_session import OrtSession
from vastsum.video.source import available_cores

CPU_CHUNK = 2  # frames handed to one core at a time: larger ones fall out of its cache
GPU_CHUNK = 64
GPU_WORKERS = 1  # every further thread would first spend seconds on loading kernels of its own

GOOGLENET_MEAN_BGR = np.array([104, 117, 123], dtype=np.float32)


def caffe_input(frames: Frames) -> NDArray[np.float32]:
    """RGB bytes to what Caffe's networks were trained on: BGR, channels first, less the mean colour, not scaled."""
    return (frames[..., ::-1] - GOOGLENET_MEAN_BGR).transpose(0, 3, 1, 2)  # (B, 3, 224, 224)


@dataclass(frozen=True)
class BackboneSpec:
    """What is known of a backbone before its weights are read. `asset` is None where weights come by path only."""

    name: str
    width: int
    input_name: str
    output_name: str
    prepare: Callable[[Frames], NDArray[Any]] | None
    asset: str | None
    licence: str
    trained_on: str


BACKBONES = {
    spec.name: spec
    for spec in (
        BackboneSpec(
            name="efficientnet_lite0",
            width=1280,
            input_name="frames",
            output_name="features",
            prepare=None,  # inside the graph, see scripts/export_backbone.py
            asset="efficientnet_lite0.onnx",
            licence="Apache-2.0",
            trained_on="ImageNet",
        ),
        BackboneSpec(
            name="googlenet",
            width=1024,
            input_name="data",
            output_name="pool5",
            prepare=caffe_input,
            asset=None,
            licence="BVLC, unrestricted use",
            trained_on="ImageNet",
        ),
    )
}
DEFAULT_BACKBONE = "efficientnet_lite0"


def load_backbone(
    name: str = DEFAULT_BACKBONE,
    weights: str | Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> Backbone:
    """A backbone ready to `extract`. `weights` replaces the embedded file, and is needed where there is none.

    On a CPU each of `threads` cores (default: all that this process may use) works on frames of its own: that is
    faster than sharing every layer among them, and does not collapse when other work wants the cores too.
    OrtSession says what a `device` is.
    """
    spec = _find(name)
    if threads is not None and threads < 1:
        raise ConfigError(f"threads = {threads}", "at least one is needed")
    where: object = weights if weights is not None else f"backbone {name!r}"
    session = OrtSession(_read(spec, weights), where, device, threads=1)
    on_gpu = session.device != "cpu"
    workers = GPU_WORKERS if on_gpu else threads or available_cores()
    chunk = GPU_CHUNK if on_gpu else CPU_CHUNK if workers > 1 else None
    return Backbone(
        spec.name,
        session,
        input_name=spec.input_name,
        output_name=spec.output_name,
        width=spec.width,
        prepare=spec.prepare,
        workers=workers,
        chunk=chunk,
        where=where,
    )


def _find(name: str) -> BackboneSpec:
    if name not in BACKBONES:
        raise ConfigError(f"backbone {name!r}", "unknown backbone", f"choose one of {', '.join(BACKBONES)}")
    return BACKBONES[name]


def _read(spec: BackboneSpec, weights: str | Path | None) -> bytes:
    if weights is not None:
        return read_model(Path(weights))
    if spec.asset is None:
        raise CheckpointError(
            f"backbone {spec.name!r}",
            "its weights are not part of this package",
            f"give the path of its .onnx file (input {spec.input_name!r}, output {spec.output_name!r}) as weights",
        )
    return read_asset(spec.asset)
