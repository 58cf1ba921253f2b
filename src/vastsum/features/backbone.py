"""The one thing that turns frames into vectors, whatever network is inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from vastsum.errors import CheckpointError, DataError
from vastsum.features.ort_session import OrtSession, Port

Frames = NDArray[np.uint8]  # (B, 224, 224, 3), RGB
Features = NDArray[np.float32]  # (B, D), each row of length one

FRAMES_AT_ONCE = 32  # at least, so that all workers have something to do


class Backbone:
    """A network that is loaded and ready, for use from several threads.

    `workers` threads take `chunk` frames at a time; without a chunk, the caller's own takes all, when the result is
    waited for. `frames_at_once` is how many are best handed over.
    """

    def __init__(
        self,
        name: str,
        session: OrtSession,
        *,
        input_name: str,
        output_name: str,
        width: int,
        input_size: tuple[int, int] = (224, 224),
        prepare: Callable[[Frames], NDArray[Any]] | None = None,
        workers: int = 1,
        chunk: int | None = None,
        where: object = "",
    ) -> None:
        self.name = name
        self.width = width
        self.input_size = input_size  # (height, width) that frames must be squashed to
        self.where = where
        self._session = session
        self._input_name = input_name
        self._output_name = output_name
        self._prepare = prepare
        self.frames_at_once = max(FRAMES_AT_ONCE, chunk or 0)
        self._chunk = chunk
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name) if chunk else None
        self._fixed_batch = self._check_signature()

    def extract(self, frames: Frames) -> Features:
        """One vector of length one a frame; frames are RGB bytes, already squashed to `input_size`."""
        return self.start(frames)()

    def start(self, frames: Frames) -> Callable[[], Features]:
        """Begin to `extract`, and give what waits for the result: the next frames can be got ready meanwhile."""
        self._check_frames(frames)
        size = self._fixed_batch or self._chunk or max(len(frames), 1)
        chunks = [frames[start : start + size] for start in range(0, len(frames), size)]
        running = self._pool.map(self._run, chunks) if self._pool else map(self._run, chunks)
        return lambda: l2_normalise(np.concatenate([np.empty((0, self.width), np.float32), *running]))  # (B, D)

    def _run(self, frames: Frames) -> Features:
        n = len(frames)
        if self._fixed_batch and n < self._fixed_batch:
            frames = np.concatenate([frames, np.repeat(frames[-1:], self._fixed_batch - n, axis=0)])
        batch = np.ascontiguousarray(self._prepare(frames) if self._prepare else frames)
        output: NDArray[Any] = self._session.run([self._output_name], {self._input_name: batch})[0]
        return output.reshape(len(output), -1)[:n].astype(np.float32, copy=False)  # (n, D)

    def _check_frames(self, frames: Frames) -> None:
        if frames.dtype != np.uint8 or frames.ndim != 4 or frames.shape[1:] != (*self.input_size, 3):
            height, width = self.input_size
            raise DataError(
                self.name,
                f"frames are {frames.dtype} of shape {frames.shape}",
                f"give uint8 of shape (B, {height}, {width}, 3)",
            )

    def _check_signature(self) -> int | None:
        """The batch size that the graph insists on, if it does. A graph with other inputs or outputs is refused."""
        inputs, outputs = self._session.inputs, self._session.outputs
        if set(inputs) != {self._input_name}:
            self._refuse("input", self._input_name, inputs)
        if self._output_name not in outputs:
            self._refuse("output", self._output_name, outputs)
        height, width = self.input_size
        expected = ("tensor(float)", [3, height, width]) if self._prepare else ("tensor(uint8)", [height, width, 3])
        graph_input, graph_output = inputs[self._input_name], outputs[self._output_name]
        if graph_input.type != expected[0] or not _fits(graph_input.shape, expected[1]):
            self._refuse_shape(self._input_name, graph_input, expected[1])
        if graph_output.type != "tensor(float)" or not _fits(graph_output.shape[:2], [self.width]):
            self._refuse_shape(self._output_name, graph_output, [self.width])
        batch = graph_input.shape[0]
        return batch if isinstance(batch, int) and batch > 0 else None

    def _refuse(self, kind: str, wanted: str, found: Mapping[str, Port]) -> NoReturn:
        names = ", ".join(map(repr, found)) or "none"
        raise CheckpointError(
            self.where, f"no {self.name}: {kind} {wanted!r} expected, found {names}", "give this backbone's own file"
        )

    def _refuse_shape(self, name: str, value: Port, wanted: list[int]) -> NoReturn:
        raise CheckpointError(
            self.where,
            f"no {self.name}: {name!r} is {value.type} of shape {value.shape}, expected (batch, {wanted})",
            "give this backbone's own file",
        )


def _fits(shape: list[Any], wanted: list[int]) -> bool:
    """Whether a graph's declared shape, whose unknown sides are names or None, can be (batch, *wanted)."""
    return len(shape) == len(wanted) + 1 and all(
        not isinstance(side, int) or side == size for side, size in zip(shape[1:], wanted, strict=True)
    )


def l2_normalise(vectors: NDArray[np.float32]) -> Features:
    """Each row to length one; a row of zeros stays zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms > 0, norms, 1)).astype(np.float32, copy=False)  # (B, D)
