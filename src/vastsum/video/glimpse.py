"""A glimpse of a frame: two thousand bytes taken straight from the decoded planes, enough to tell shots apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from vastsum.video.source import UInt8Array

ROWS, COLUMNS, CHROMA_ROWS = 24, 32, 12
_N_LUMA, _N_CHROMA = ROWS * COLUMNS, CHROMA_ROWS * COLUMNS

# The parts of a glimpse. Luma comes twice: smoothed, for what the picture shows, and raw, for whether anything stirs.
CELLS = slice(0, _N_LUMA)
PIXELS = slice(_N_LUMA, 2 * _N_LUMA)
COLOUR = slice(2 * _N_LUMA, 2 * _N_LUMA + 2 * _N_CHROMA)
_U, _V = slice(COLOUR.start, COLOUR.start + _N_CHROMA), slice(COLOUR.start + _N_CHROMA, COLOUR.stop)
_FULL_RANGE = 2  # AVCOL_RANGE_JPEG
_PLANAR = re.compile(r"yuv[aj]?4\d\dp(?:(9|10|12|14|16)le)?")


@dataclass(frozen=True)
class _Layout:
    """Where a pixel format keeps brightness and colours."""

    dtype: str = "u1"
    shift: int = 0  # to the right, for 8 bits
    chroma: tuple[tuple[int, int, int], ...] = ((1, 0, 1), (2, 0, 1))  # plane, first sample, step


_INTERLEAVED = ((1, 0, 2), (1, 1, 2))
_LAYOUTS = {
    "nv12": _Layout(chroma=_INTERLEAVED),
    "p010le": _Layout("<u2", 8, _INTERLEAVED),
    "gray": _Layout(chroma=()),
    "gray10le": _Layout("<u2", 2, ()),
}


@cache
def _layout(pixel_format: str) -> _Layout | None:
    """None for what swscale has to convert first: RGB, palettes, packed formats."""
    planar = _PLANAR.fullmatch(pixel_format)
    if planar is None:
        return _LAYOUTS.get(pixel_format)
    bits = int(planar[1] or 8)
    return _Layout("u1" if bits == 8 else "<u2", bits - 8)


def glimpse(frame: VideoFrame, scaler: VideoReformatter) -> UInt8Array | None:
    """Cells, pixels and colours as in limited range: black is 16, white 235. None of a damaged frame."""
    if frame.is_corrupt:
        return None
    name = frame.format.name
    layout = _layout(name)
    full_range = frame.color_range == _FULL_RANGE or name.startswith("yuvj")
    if layout is None or frame.width < 2 * COLUMNS or frame.height < 2 * ROWS:
        try:
            frame = scaler.reformat(frame, 4 * COLUMNS, 4 * ROWS, "yuv444p", threads=1)
        except FFmpegError:
            return None
        layout, full_range = _Layout(), False
    return _values(frame, layout, full_range)


def _values(frame: VideoFrame, layout: _Layout, full_range: bool) -> UInt8Array:
    values = np.full(COLOUR.stop, 128, np.uint8)
    planes, form = frame.planes, frame.format
    width = frame.width // COLUMNS * COLUMNS
    rows = _rows(planes[0], layout, frame.height, ROWS)[:, :width].reshape(ROWS, COLUMNS, -1)
    n = rows.shape[2]
    cells = np.einsum("rcp->rc", rows, dtype=np.uint32) / np.float32(n << layout.shift)
    pixels: NDArray[Any] = rows[:, :, n // 2] >> layout.shift
    if full_range:
        cells, pixels = 16 + cells * (219 / 255), 16 + pixels * (219 / 255)
    values[CELLS], values[PIXELS] = (cells + 0.5).ravel(), pixels.ravel()
    for part, (plane, first, step) in zip((_U, _V), layout.chroma, strict=False):
        rows = _rows(planes[plane], layout, form.chroma_height(frame.height), CHROMA_ROWS)[:, first::step]
        middles = (np.arange(COLUMNS) * 2 + 1) * form.chroma_width(frame.width) // (2 * COLUMNS)
        values[part] = (rows[:, middles] >> layout.shift).ravel()
    return values


def _rows(plane: VideoPlane, layout: _Layout, height: int, n: int) -> NDArray[Any]:
    """`n` lines of a plane, evenly spread."""
    samples = np.frombuffer(plane, layout.dtype)  # type: ignore[call-overload]
    lines = samples.reshape(-1, plane.line_size // samples.itemsize)
    step = height // n
    first = (height - step * (n - 1)) // 2
    rows: NDArray[Any] = lines[first : first + step * (n - 1) + 1 : step]
    return rows
