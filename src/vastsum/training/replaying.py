"""Passes of one network over one video, on a GPU: recorded the second time it is met, then replayed.

A convolutional network is hundreds of small kernels, and Python takes longer to launch them than the GPU to run them. A
CUDA graph of them all is launched at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

Program = Callable[[Mapping[str, Tensor]], Any]
"""What is found from tensors that differ from time to time. Whatever else it reads stays where it is in memory."""


class _Recording(NamedTuple):
    program: Program  # kept for what it reads
    graph: torch.cuda.CUDAGraph
    given: dict[str, Tensor]
    found: Any


class Replays:
    """What one program found for a video is overwritten by the next."""

    def __init__(self) -> None:
        self._met: set[Hashable] = set()
        self._recordings: dict[Hashable, _Recording] = {}
        self._memory = torch.cuda.graph_pool_handle()  # one for all: they never run at the same time

    def run(self, name: Hashable, prepared: Callable[[], Program], given: Mapping[str, Tensor]) -> Any:
        if name not in self._met:  # libraries set themselves up for its size, which cannot be recorded
            self._met.add(name)
            return prepared()(given)
        if name not in self._recordings:
            self._recordings[name] = self._record(prepared(), given)
        recording = self._recordings[name]
        for key, own in recording.given.items():
            own.copy_(given[key])
        recording.graph.replay()
        return recording.found

    def _record(self, program: Program, given: Mapping[str, Tensor]) -> _Recording:
        own = {key: tensor.clone() for key, tensor in given.items()}
        graph = torch.cuda.CUDAGraph()
        aside: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            # Not `torch.cuda.graph`, which collects garbage and empties the cache each time.
            graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
            try:
                found = program(own)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(aside)
        return _Recording(program, graph, own, found)
