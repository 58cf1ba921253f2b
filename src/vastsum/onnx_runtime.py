"""ONNX Runtime, which is imported here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

# Before the import: ONNX Runtime would tell its maker of this machine, and keep a device's number in the home folder.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime as ort

from vastsum.errors import CheckpointError

__all__ = ["open_network", "ort", "run_network"]

Provider = tuple[str, dict[str, str]]
CPU: Provider = ("CPUExecutionProvider", {})


def open_network(data: bytes, where: object, provider: Provider = CPU, *, threads: int = 0) -> ort.InferenceSession:
    """`where` names the model in errors; operators use `threads` cores each (0: all)."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: warnings about a provider's fallbacks are not for users
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        return ort.InferenceSession(data, options, providers=[provider])
    except Exception as error:  # ONNX Runtime's exception classes share no public base
        raise CheckpointError(where, "not an ONNX model that can be run here", "give an intact .onnx file") from error


def run_network(
    session: ort.InferenceSession,
    where: object,
    names: Sequence[str],
    feed: Mapping[str, NDArray[Any]],
    options: ort.RunOptions | None = None,
) -> list[NDArray[Any]]:
    """The outputs called `names`. May be called from several threads."""
    try:
        return session.run(list(names), dict(feed), options)
    except Exception as error:  # ONNX Runtime's exception classes share no public base
        problem = f"failed while it was run ({str(error).strip().splitlines()[0][:200] if str(error) else error!r})"
        raise CheckpointError(where, problem, "free some memory, or give another model") from error
