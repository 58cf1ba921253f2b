"""Embedded weights and their licences, read whole and checked against the checksums written when they were made."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from importlib.resources.abc import Traversable

from vastsum.errors import CheckpointError

FOLDER = files(__name__)
CHECKSUMS = "checksums.json"


def read_asset(name: str, folder: Traversable = FOLDER) -> bytes:
    """The bytes of an embedded file, or a CheckpointError when it is absent or not the one this version came with."""
    try:
        expected = json.loads(folder.joinpath(CHECKSUMS).read_text(encoding="utf-8")).get(name)
        if expected is None or not folder.joinpath(name).is_file():
            raise CheckpointError(f"vastsum/assets/{name}", "the embedded weights are missing", "reinstall vastsum")
        data = folder.joinpath(name).read_bytes()
    except OSError as error:
        problem = f"the embedded weights cannot be read ({error.strerror})"
        raise CheckpointError(f"vastsum/assets/{name}", problem, "check the disk, or reinstall vastsum") from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise CheckpointError(f"vastsum/assets/{name}", "the embedded weights are damaged", "reinstall vastsum")
    return data
