"""Where a long training was, so that one that was killed goes on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor

from vastsum.bench.training.checkpoints import load_tensors, save_tensors
from vastsum.errors import CheckpointError, OutputError

EVERY_S = 300.0
LARGEST = 2 * 2**30  # bytes; many networks in one program may be more than it is worth to write down


class Bookmark:
    """A file that is written now and then. `of` says what is trained, in terms of JSON: that of anything else is not
    read."""

    def __init__(self, path: Path, of: Mapping[str, Any]) -> None:
        self._path, self._of = path, json.loads(json.dumps(of))
        self._written_at = time.monotonic()

    def read(self) -> tuple[dict[str, Tensor], Any] | None:
        """What was written last, if anything."""
        try:
            tensors, meta = load_tensors(self._path)
        except CheckpointError:
            return None
        return (tensors, meta["at"]) if meta.get("of") == self._of else None

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._written_at >= EVERY_S

    def write(self, tensors: Mapping[str, Tensor], at: Any) -> None:
        """Nothing is lost but time if that fails."""
        if sum(tensor.nbytes for tensor in tensors.values()) <= LARGEST:
            with suppress(OutputError):
                save_tensors(self._path, tensors, {"of": self._of, "at": at})
        self._written_at = time.monotonic()
