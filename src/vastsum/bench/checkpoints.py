"""Checkpoints: tensors in safetensors, everything else as JSON in its header. Nothing is ever unpickled."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from vastsum.bench.methods.settings import flatten
from vastsum.bench.methods.vastsum import Config, NetworkConfig, VastsumNetwork, VastsumScorer, likelihood_of
from vastsum.errors import CheckpointError, ConfigError, OutputError
from vastsum.files import atomic_path

FORMAT = 1
BOOKMARK_EVERY_S = 300.0
LARGEST_BOOKMARK = 2 * 2**30  # bytes; many networks in one program may be more than it is worth to write down


def save_tensors(path: Path, tensors: Mapping[str, Tensor], meta: Mapping[str, Any]) -> None:
    """Written to a temporary name and renamed: a reader finds the old file or the new one, never half of one."""
    header = {"vastsum": json.dumps({"format": FORMAT, **meta}, sort_keys=True)}
    contiguous = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_path(path) as temporary:
        temporary.write_bytes(safetensors.torch.save(contiguous, metadata=header))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    remedy = "give a .safetensors file written by 'vastsum train'"
    if not Path(path).is_file():
        raise CheckpointError(path, "does not exist", remedy)
    try:
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get("vastsum")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a dict)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(path, f"is not a readable safetensors file ({error})", remedy) from error
    if header is None:
        raise CheckpointError(path, "was not written by vastsum", remedy)
    try:
        meta: dict[str, Any] = dict(json.loads(header))
    except (ValueError, TypeError, RecursionError) as error:
        raise CheckpointError(path, f"has a damaged header ({error})", "train it again") from error
    if meta.get("format") != FORMAT:
        raise CheckpointError(path, f"has format {meta.get('format')}, this version reads {FORMAT}", "train it again")
    return tensors, meta


def recorded_network(content: Mapping[str, Any], path: Path) -> NetworkConfig:
    """The sizes that a checkpoint was written with. Another version may have had others; how it was trained no longer
    matters."""
    try:
        settings = {name: value for name, value in flatten(content, str(path)).items() if name.startswith("network.")}
        return Config().with_settings(settings, str(path)).network
    except ConfigError as error:
        remedy = "train it again, or use the version of vastsum that made it"
        raise CheckpointError(path, f"has settings that this version does not ({error.problem})", remedy) from error


def load_checkpoint(path: Path) -> tuple[VastsumScorer, dict[str, Any]]:
    """The network of a checkpoint, ready to predict, and what the checkpoint says of itself."""
    tensors, meta = load_tensors(path)
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise CheckpointError(path, "holds weights that are no numbers", "train it again at a lower learning rate")
    try:
        network = VastsumNetwork(recorded_network(meta["config"], path))
        network.load_state_dict(tensors)
        likelihood = likelihood_of(meta["kind"])
    except (KeyError, RuntimeError) as error:
        problem = str(error).splitlines()[0]
        raise CheckpointError(path, f"does not hold a whole VASTSum network ({problem})", "train it again") from error
    return VastsumScorer(network.eval(), likelihood, path), meta


class Bookmark:
    """Where a long training was, so that one that was killed resumes from there: a file that is written now and then.
    `of` says what is trained, in terms of JSON: that of anything else is not read."""

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
        return time.monotonic() - self._written_at >= BOOKMARK_EVERY_S

    def write(self, tensors: Mapping[str, Tensor], at: Any) -> None:
        """Nothing is lost but time if that fails."""
        if sum(tensor.nbytes for tensor in tensors.values()) <= LARGEST_BOOKMARK:
            with suppress(OutputError):
                save_tensors(self._path, tensors, {"of": self._of, "at": at})
        self._written_at = time.monotonic()
