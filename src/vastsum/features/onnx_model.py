"""Reading an ONNX file, the user's or ours, with errors a person can act on."""

from __future__ import annotations

import re
from pathlib import Path

from vastsum.errors import CheckpointError

MAX_MODEL_BYTES = 1 << 30
# A tensor kept in another file says so by a protobuf string of eight bytes, "location". The tag before its length is
# not looked at: there are many ways to write one, and a forger would find the one that was left out.
EXTERNAL_DATA = re.compile(rb"(?:\x08|\x88\x80*\x00)location")


def read_model(path: Path) -> bytes:
    """The bytes of a model file that stands alone and is of a sane size."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise CheckpointError(path, "not a file", "give the path of an .onnx file")
        if size > MAX_MODEL_BYTES:
            raise CheckpointError(path, f"{size:,} bytes is too large for a backbone", "give the path of an .onnx file")
        data = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(path, "there is no such file", "give the path of an .onnx file") from None
    except OSError as error:
        raise CheckpointError(path, f"cannot be read ({error.strerror})") from error
    if EXTERNAL_DATA.search(data):
        # Such a file could make us read any other file beside it.
        raise CheckpointError(path, "keeps its weights in other files", "save the model as one self-contained file")
    return data
