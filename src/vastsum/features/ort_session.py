"""A network on ONNX Runtime, which is imported here and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

# Before the import: ONNX Runtime would tell its maker of this machine, and keep a device's number in the home folder.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime as ort

from vastsum.errors import CheckpointError
from vastsum.features.session import NotHereError, Port

PROVIDERS: dict[str, tuple[str, dict[str, str]]] = {
    "cpu": ("CPUExecutionProvider", {}),
    # Full precision, so that importance is the CPU's; and no search for the fastest kernel at each new batch size.
    "cuda": ("CUDAExecutionProvider", {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}),
}


class OrtSession:
    """Operators use `threads` cores each (0: all). `frugal` gives memory back after each run, rather than keep the most
    that any ever needed."""

    def __init__(self, data: bytes, where: object, device: str, *, threads: int = 0, frugal: bool = False) -> None:
        self.device = device
        self._where = where
        self._session = _open(data, where, device, threads)
        self.inputs = {value.name: Port(value.type, value.shape) for value in self._session.get_inputs()}
        self.outputs = {value.name: Port(value.type, value.shape) for value in self._session.get_outputs()}
        self.metadata: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        self._run_options = ort.RunOptions()
        if frugal and device == "cpu":
            self._run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    def run(self, names: Sequence[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        try:
            return self._session.run(list(names), dict(feed), self._run_options)
        except Exception as error:  # ONNX Runtime's exception classes share no public base
            problem = f"failed while it was run ({str(error).strip().splitlines()[0][:200] if str(error) else error!r})"
            raise CheckpointError(self._where, problem, "free some memory, or give another model") from error


def _open(data: bytes, where: object, device: str, threads: int) -> ort.InferenceSession:
    provider = PROVIDERS[device]
    if provider[0] not in ort.get_available_providers():
        raise NotHereError("the installed ONNX Runtime has no CUDA provider")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: warnings about a provider's fallbacks are not for users
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        session = ort.InferenceSession(data, options, providers=[provider])
    except Exception as error:  # ONNX Runtime's exception classes share no public base
        raise CheckpointError(where, "not an ONNX model that can be run here", "give an intact .onnx file") from error
    if session.get_providers()[0] != provider[0]:
        raise NotHereError("ONNX Runtime cannot start CUDA")
    return session
