"""The voice detector: how likely it is that someone speaks, for each 32 ms of sound."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from vastsum.assets import read_asset
from vastsum.onnx_runtime import open_network, ort, run_network

Float32Array = NDArray[np.float32]

ASSET = "silero_vad.onnx"
RATE = 16_000
STEP = 512  # samples to one probability
CONTEXT = 64  # the network sees these many samples before its step again
_WIDTH = 128


@cache
def _network() -> ort.InferenceSession:
    """Opened once: it has no state of its own, and opening it anew for each video leaves memory in pieces."""
    return open_network(read_asset(ASSET), ASSET, threads=1)


class VoiceDetector:
    """Listens to one stretch of sound, piece after piece. It belongs to one thread."""

    def __init__(self) -> None:
        self._network = _network()
        self.forget()

    def forget(self) -> None:
        """Start anew: what comes next has nothing to do with what came before."""
        self._before = np.zeros(CONTEXT, np.float32)
        self._hidden = self._cell = np.zeros((1, 1, _WIDTH), np.float32)

    def hear(self, samples: Float32Array) -> Float32Array:
        """The probability of speech for each STEP of mono samples, (n × STEP,) → (n,)."""
        steps = samples.reshape(-1, STEP)
        before = np.concatenate([self._before[None], steps[:-1, -CONTEXT:]])
        feed = {"input": np.concatenate([before, steps], axis=1), "h": self._hidden, "c": self._cell}
        probabilities, self._hidden, self._cell = run_network(self._network, ASSET, ["speech_probs", "hn", "cn"], feed)
        self._before = steps[-1, -CONTEXT:].copy()
        return probabilities
