"""A network on ONNX Runtime, by any of its execution providers."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from numpy.typing import NDArray

from vastsum.errors import ConfigError
from vastsum.onnx_runtime import open_network, ort, run_network

log = logging.getLogger("vastsum")

OPTIONS: dict[str, dict[str, str]] = {
    # Full precision, so that importance is the CPU's; and no search for the fastest kernel at each new batch size.
    "CUDAExecutionProvider": {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"},
}


class Port(NamedTuple):
    """An input or output of a network. Sides that may vary are names or None."""

    type: str  # as ONNX Runtime writes it: tensor(float)
    shape: list[Any]


class OrtSession:
    """`device` is cpu, auto (CUDA where it is available), or an execution provider by name: cuda, coreml, openvino. One
    that cannot be used here is replaced by the CPU.

    `where` names the model in errors. Operators use `threads` cores each (0: all). `frugal` gives memory back after
    each run, rather than keep the most that any ever needed.
    """

    def __init__(
        self, data: bytes, where: object, device: str = "cpu", *, threads: int = 0, frugal: bool = False
    ) -> None:
        self._where = where
        self._session = _open(data, where, device, threads)
        self.device = _device_of(self._session.get_providers()[0])
        self.inputs = {value.name: Port(value.type, value.shape) for value in self._session.get_inputs()}
        self.outputs = {value.name: Port(value.type, value.shape) for value in self._session.get_outputs()}
        self.metadata: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        self._run_options = ort.RunOptions()
        if frugal and self.device == "cpu":
            self._run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")

    def run(self, names: Sequence[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        return run_network(self._session, self._where, names, feed, self._run_options)


def _open(data: bytes, where: object, device: str, threads: int) -> ort.InferenceSession:
    known = {_device_of(provider): provider for provider in ort.get_all_providers()}
    provider = known.get("cuda" if device == "auto" else device.lower())
    if provider is None:
        raise ConfigError(f"device {device!r}", "unknown device", f"choose one of auto, {', '.join(sorted(known))}")
    if provider in ort.get_available_providers():
        session = open_network(data, where, (provider, OPTIONS.get(provider, {})), threads=threads)
        if session.get_providers()[0] == provider:
            return session
    if device != "auto":
        _warn_of_fallback(device)
    return open_network(data, where, threads=threads)


def _device_of(provider: str) -> str:
    return provider.removesuffix("ExecutionProvider").lower()


@cache  # once for all models
def _warn_of_fallback(device: str) -> None:
    log.warning(
        "device %r cannot be used by the installed ONNX Runtime: falling back to the CPU; "
        "check the driver, and install the package built for the device (onnxruntime-gpu for cuda)",
        device,
    )
