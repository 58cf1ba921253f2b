"""Opening an ONNX file, the user's or ours, with errors a person can act on."""

from __future__ import annotations

import os
import re
from pathlib import Path

import onnxruntime as ort

from vastsum.errors import CheckpointError, ConfigError

MAX_MODEL_BYTES = 1 << 30
# A tensor kept in another file says so by a protobuf string of eight bytes, "location". The tag before its length is
# not looked at: there are many ways to write one, and a forger would find the one that was left out.
EXTERNAL_DATA = re.compile(rb"(?:\x08|\x88\x80*\x00)location")

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


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


def available_cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_device(device: str) -> None:
    if device not in PROVIDERS:
        raise ConfigError(f"device {device!r}", "unknown device", f"choose one of {', '.join(PROVIDERS)}")
    if PROVIDERS[device] not in ort.get_available_providers():
        raise ConfigError(
            f"device {device!r}",
            "the installed ONNX Runtime has no CUDA provider",
            "run: pip install onnxruntime-gpu, or use the device 'cpu'",
        )


def open_session(data: bytes, where: object, device: str, threads: int) -> ort.InferenceSession:
    """A session on `device` whose operators use `threads` cores each; `where` names the model in errors."""
    check_device(device)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: warnings about a provider's fallbacks are not for users
    options.add_session_config_entry("session.load_model_format", "ONNX")
    try:
        session = ort.InferenceSession(data, options, providers=[PROVIDERS[device]])
    except Exception as error:  # ONNX Runtime's exception classes share no public base
        raise CheckpointError(where, "not an ONNX model that can be run here", "give an intact .onnx file") from error
    if session.get_providers()[0] != PROVIDERS[device]:
        raise ConfigError(
            f"device {device!r}", "CUDA could not be started", "check the driver, or use the device 'cpu'"
        )
    return session
