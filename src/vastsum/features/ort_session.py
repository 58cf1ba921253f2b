"""A network on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from vastsum.features.session import NotHereError, Port
from vastsum.onnx_runtime import CPU, Provider, open_network, ort, run_network

PROVIDERS: dict[str, Provider] = {
    "cpu": CPU,
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
        return run_network(self._session, self._where, names, feed, self._run_options)


def _open(data: bytes, where: object, device: str, threads: int) -> ort.InferenceSession:
    provider = PROVIDERS[device]
    if provider[0] not in ort.get_available_providers():
        raise NotHereError("the installed ONNX Runtime has no CUDA provider")
    session = open_network(data, where, provider, threads=threads)
    if session.get_providers()[0] != provider[0]:
        raise NotHereError("ONNX Runtime cannot start CUDA")
    return session
