"""The best still picture of a summary: sharp and bright, out of its most important piece."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from vastsum.files import atomic_path
from vastsum.summary import Summary
from vastsum.video import grab
from vastsum.video.source import UInt8Array

_N_CANDIDATES = 12
_MAX_SIZE = (1920, 1920)
_JUDGED_SIZE = (480, 480)  # noise and what is lost in motion count less than what is seen from afar
_JPEG_QUALITY = 90


def write_cover(summary: Summary, destination: Path) -> None:
    """Write the sharpest and best lit of a dozen pictures. The video must still be where it was."""
    best = max(summary.pieces, key=lambda piece: piece.importance)
    times_s = best.start_s + (np.arange(_N_CANDIDATES) + 0.5) / _N_CANDIDATES * best.duration_s
    pictures = grab(summary.video.path, times_s.tolist(), max_size=_MAX_SIZE)
    with atomic_path(destination) as temporary:
        Image.fromarray(max(pictures, key=quality)).save(temporary, format="JPEG", quality=_JPEG_QUALITY)


def quality(picture: UInt8Array) -> float:
    """How sharp it is (the deviation of its Laplacian), less where it is darker or lighter than half bright."""
    image = Image.fromarray(picture).convert("L")
    image.thumbnail(_JUDGED_SIZE)
    grey = np.asarray(image, np.float64) / 255
    inner = grey[1:-1, 1:-1]
    laplacian = grey[:-2, 1:-1] + grey[2:, 1:-1] + grey[1:-1, :-2] + grey[1:-1, 2:] - 4 * inner
    lightness = np.exp(-(((grey.mean() - 0.5) / 0.25) ** 2))
    return float((laplacian.std() if laplacian.size else 0.0) * lightness)
