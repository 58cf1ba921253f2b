"""Passes of one network over one video, on a GPU: recorded when a video is met again, then replayed.

A convolutional network is hundreds of small kernels, and Python takes longer to launch them than the GPU to run them. A
CUDA graph of them all is launched at once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

Program = Callable[[Tensor], Any]
"""What is found from a tensor that differs from time to time. Whatever else it reads stays where it is in memory. It
may be recorded at any time, so it says itself whether the network learns and whether gradients are wanted."""


class _Met(NamedTuple):
    prepared: Callable[[], Program]
    size: int
    given: Tensor


class _Recording(NamedTuple):
    program: Program  # kept for what it reads
    graph: torch.cuda.CUDAGraph
    given: Tensor
    found: Any


class Replays:
    """What one program found for a video is overwritten by the next."""

    def __init__(self) -> None:
        self._met: dict[Hashable, _Met] = {}
        self._recordings: dict[Hashable, _Recording] = {}

    def run(self, name: Hashable, size: int, prepared: Callable[[], Program], given: Tensor) -> Any:
        """What a program finds; the larger its size, the more memory it takes."""
        if name not in self._met:  # libraries set themselves up for its size, which cannot be recorded
            self._met[name] = _Met(prepared, size, given)
            return prepared()(given)
        if name not in self._recordings:
            self._record_all()
        recording = self._recordings[name]
        recording.given.copy_(given)
        recording.graph.replay()
        return recording.found

    def _record_all(self) -> None:
        """Every program that was met. The largest goes first, so that all others find room in its memory."""
        torch.cuda.empty_cache()
        for name, met in sorted(self._met.items(), key=lambda named: -named[1].size):
            if name not in self._recordings:
                self._recordings[name] = self._record(met.prepared(), met.given.clone())

    def _record(self, program: Program, given: Tensor) -> _Recording:
        graph = torch.cuda.CUDAGraph()
        self._aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._aside), warnings.catch_warnings():
            # Gradients of weights are found on another stream than last time, which is as it should be.
            warnings.filterwarnings("ignore", message="The AccumulateGrad node's stream does not match")
            # Not `torch.cuda.graph`, which collects garbage and empties the cache each time.
            graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
            try:
                found = program(given)
            finally:
                graph.capture_end()
        torch.cuda.current_stream().wait_stream(self._aside)
        return _Recording(program, graph, given, found)

    @cached_property
    def _memory(self) -> Any:
        """One for all: they never run at the same time."""
        return torch.cuda.graph_pool_handle()

    @cached_property
    def _aside(self) -> torch.cuda.Stream:
        """One for all, because memory is only shared along a stream."""
        return torch.cuda.Stream()  # type: ignore[no-untyped-call]
