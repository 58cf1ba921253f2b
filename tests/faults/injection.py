"""Faults where the program meets the world: every file, decoder, encoder and network it calls can be made to fail.

For tests only: the calls are patched from outside while a `with` block lasts; the program has no switch for it. What
counts are calls made by code of `vastsum`, directly or through the few libraries that touch files on its behalf.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import av
import h5py
import PIL.Image
import safetensors.torch
from av.audio.resampler import AudioResampler
from av.audio.stream import AudioStream
from av.codec.context import CodecContext
from av.container import InputContainer, OutputContainer
from av.filter import Graph
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

import vastsum
from vastsum.bench import checkpoints
from vastsum.onnx_runtime import ort

Kind = Literal["read", "write", "rename", "decode", "encode", "inference"]

SOURCE = Path(vastsum.__file__).parent
# Through these a call is still the program's own; what any other library does for itself is its own affair.
_CARRIERS = {
    "pathlib",
    "tempfile",
    "shutil",
    "zipfile",
    "numpy",
    "PIL",
    "contextlib",
    "genericpath",
    "posixpath",
    "h5py",
}
_CARRIERS |= {"os", "glob", "fnmatch"}
_INVALID_DATA = 1094995529  # AVERROR_INVALIDDATA


@dataclass(frozen=True, order=True)
class Site:
    """A place in the program from which the world is called, and what is called there."""

    file: str  # below src/vastsum
    function: str
    call: str
    kind: Kind

    def __str__(self) -> str:
        return f"{self.file} {self.function}: {self.call}"


OnCall = Callable[[Site, str | None], None]
"""Told of every call before it is made, and of the file it names, if any; what it raises is what the caller gets."""


@contextmanager
def watched(on_call: OnCall) -> Iterator[None]:
    """While the block lasts, `on_call` hears of every call from the program to the world."""
    with _patched(_Border(on_call)):
        yield


@contextmanager
def counted() -> Iterator[Counter[Site]]:
    """How often each site calls."""
    calls: Counter[Site] = Counter()
    with watched(lambda site, _: calls.update([site])):
        yield calls


@contextmanager
def fault(at: Site, nth: int, happen: Callable[[str | None], None]) -> Iterator[list[Site]]:
    """Let something happen at the nth call (the first is 0) of one site; gives a list that then holds the site.

    `happen` is told which file the call names, if it does.
    """
    n_calls = 0
    struck: list[Site] = []

    def on_call(site: Site, path: str | None) -> None:
        nonlocal n_calls
        if site != at:
            return
        n_calls += 1
        if n_calls == nth + 1:
            struck.append(site)
            happen(path)

    with watched(on_call):
        yield struck


def natural_error(kind: Kind, call: str, path: str | None) -> Exception:
    """What such a call raises when the disk is full or failing, the file damaged or the network unwilling."""
    if kind == "inference":
        failure = ort.capi.onnxruntime_pybind11_state.RuntimeException
        return failure("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Non-zero status code returned")
    number = {"write": errno.ENOSPC, "rename": errno.EROFS, "encode": errno.ENOSPC}.get(kind, errno.EIO)
    if call.startswith(("av.", "InputContainer", "OutputContainer")):
        return av.error.OSError(number, os.strerror(number))
    if kind in ("decode", "encode") and not call.startswith("Image"):
        return av.error.InvalidDataError(_INVALID_DATA, "Invalid data found when processing input")
    return OSError(number, os.strerror(number), path)


def _caller(frame: FrameType | None) -> tuple[str, str] | None:
    """File and function of the program's code that this call belongs to."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module == "vastsum" or module.startswith("vastsum."):
            function = frame.f_code.co_qualname.replace("<locals>.", "").replace("<", "").replace(">", "")
            return str(Path(frame.f_code.co_filename).relative_to(SOURCE)), function
        if (
            module != __name__
            and module.split(".")[0] not in _CARRIERS
            and not module.startswith("importlib.resources")
        ):
            return None
        frame = frame.f_back
    return None


class _Border:
    """Wraps calls to the world so that they are told of."""

    def __init__(self, on_call: OnCall) -> None:
        self._on_call = on_call

    def tell(self, call: str, kind: Kind, about: object = None) -> bool:
        """Whether this is the program's call, after whatever is to happen has happened."""
        caller = _caller(sys._getframe(1))
        if caller is None:
            return False
        self._on_call(Site(*caller, call, kind), str(about) if isinstance(about, str | os.PathLike) else None)
        return True

    def around(self, function: Callable[..., Any], call: str, kind: Kind) -> Callable[..., Any]:
        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            self.tell(call, kind, args[0] if args else None)
            return function(*args, **kwargs)

        return called

    def closing(self, function: Callable[..., Any], call: str) -> Callable[..., Any]:
        """A file whose closing fails is closed nevertheless."""

        @wraps(function)
        def closed(handle: int) -> None:
            function(handle)
            self.tell(call, "write")

        return closed

    def around_each(self, function: Callable[..., Any], call: str, kind: Kind) -> Callable[..., Any]:
        """Of a generator each item is a call."""

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Iterator[Any]:
            items = function(*args, **kwargs)
            while True:
                self.tell(call, kind)
                try:
                    item = next(items)
                except StopIteration:
                    return
                yield item

        return called

    def opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def opened(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            kind: Kind = "read" if set(mode) <= set("rbt") else "write"
            own = self.tell("open", kind, file)
            file = function(file, mode, *args, **kwargs)
            return _File(file, self) if own else file

        return opened

    def opening_video(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def opened(file: Any, mode: str = "r", **kwargs: Any) -> Any:
            self.tell("av.open", "read" if mode == "r" else "write")
            return function(file, mode, **kwargs)

        return opened


class _File:
    """An open file whose reads and writes are told of. A write that fails has written half, as on a full disk."""

    def __init__(self, file: Any, border: _Border) -> None:
        self._file, self._border = file, border

    def read(self, *args: Any) -> Any:
        self._border.tell("file.read", "read")
        return self._file.read(*args)

    def write(self, data: Any) -> Any:
        try:
            self._border.tell("file.write", "write")
        except Exception:
            self._file.write(data[: len(data) // 2])
            raise
        return self._file.write(data)

    def close(self) -> None:
        try:
            if not self._file.closed and self._file.writable():
                self._border.tell("file.close", "write")
        finally:
            self._file.close()

    def fileno(self) -> int:
        raise io.UnsupportedOperation("everything is to pass through read and write")

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


_OS_CALLS: dict[str, Kind] = {
    "open": "write", "stat": "read", "scandir": "read", "listdir": "read", "mkdir": "write",
    "chmod": "write", "unlink": "write", "rmdir": "write", "replace": "rename", "rename": "rename", "fsync": "write",
}  # fmt: skip
_METHODS: list[tuple[type, str, Kind]] = [
    (InputContainer, "seek", "read"),
    (OutputContainer, "add_stream", "encode"),
    (OutputContainer, "add_stream_from_template", "encode"),
    (OutputContainer, "mux", "encode"),
    (OutputContainer, "close", "encode"),
    (CodecContext, "open", "decode"),
    (CodecContext, "decode", "decode"),
    (VideoStream, "encode", "encode"),
    (AudioStream, "encode", "encode"),
    (VideoReformatter, "reformat", "decode"),
    (AudioResampler, "resample", "decode"),
    (Graph, "configure", "decode"),
    (Graph, "vpush", "decode"),
    (Graph, "vpull", "decode"),
    (ort.InferenceSession, "__init__", "inference"),
    (ort.capi.onnxruntime_inference_collection.Session, "run", "inference"),
    (PIL.Image.Image, "save", "encode"),
    (h5py.File, "__init__", "read"),
    (h5py.File, "close", "write"),
    (h5py.Group, "__getitem__", "read"),
    (h5py.Group, "create_group", "write"),
    (h5py.Group, "create_dataset", "write"),
    (h5py.Dataset, "__getitem__", "read"),
    (h5py.AttributeManager, "__setitem__", "write"),
]


@contextmanager
def _patched(border: _Border) -> Iterator[None]:
    replaced: list[tuple[Any, str, Any]] = [
        (builtins, "open", border.opening(builtins.open)),
        (io, "open", border.opening(io.open)),
        (os, "close", border.closing(os.close, "os.close")),
        (av, "open", border.opening_video(av.open)),
        (InputContainer, "demux", border.around_each(InputContainer.demux, "InputContainer.demux", "read")),
        (checkpoints, "safe_open", border.around(checkpoints.safe_open, "safe_open", "read")),
        (safetensors.torch, "save", border.around(safetensors.torch.save, "safetensors.save", "write")),
    ]
    for name, kind in _OS_CALLS.items():
        replaced.append((os, name, border.around(getattr(os, name), f"os.{name}", kind)))
    for owner, name, kind in _METHODS:
        replaced.append((owner, name, border.around(getattr(owner, name), f"{owner.__name__}.{name}", kind)))
    before = [(owner, name, vars(owner).get(name)) for owner, name, _ in replaced]
    for owner, name, new in replaced:
        setattr(owner, name, new)
    try:
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old) if old is not None else delattr(owner, name)
