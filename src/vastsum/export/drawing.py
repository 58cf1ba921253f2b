"""Pen and paper for the pictures: smooth edges, one family of colours, and a font that is always there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.Image import Resampling

from vastsum.files import atomic_path
from vastsum.selection import chance as chances
from vastsum.video.source import UInt8Array

Colour = tuple[int, int, int]
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom

PAPER: Colour = (255, 255, 255)
INK: Colour = (27, 34, 48)
QUIET: Colour = (104, 113, 130)
FAINT: Colour = (228, 232, 239)
LEFT_OUT: Colour = (207, 213, 223)
UNLIKELY: Colour = (255, 214, 160)
CLEAR: Colour = (214, 84, 16)
CURVE: Colour = (38, 70, 130)
BAND: Colour = (201, 213, 234)
TINT: Colour = (255, 244, 232)


def mix(a: Colour, b: Colour, share: float) -> Colour:
    """`a` at 0, `b` at 1."""
    red, green, blue = (round(x + (y - x) * min(max(share, 0.0), 1.0)) for x, y in zip(a, b, strict=True))
    return red, green, blue


def chance_colour(chance: float) -> Colour:
    return mix(UNLIKELY, CLEAR, chance / chances.CLEAR)


class Canvas:
    """A sheet whose units are those of the finished picture; drawn larger and scaled down, so that edges are smooth."""

    def __init__(self, width: float, height: float, scale: int = 2) -> None:
        self.width, self.height = round(width), round(height)
        self._scale = scale
        self._image = Image.new("RGB", (self.width * scale, self.height * scale), PAPER)
        self._pen = ImageDraw.Draw(self._image)

    def box(self, box: Box, fill: Colour, *, radius: float = 0) -> None:
        left, top, right, bottom = (round(v * self._scale) for v in box)
        right, bottom = max(right - 1, left), max(bottom - 1, top)  # Pillow's boxes include their last pixel
        self._pen.rounded_rectangle((left, top, right, bottom), radius * self._scale, fill)

    def line(self, points: Sequence[Point], fill: Colour, width: float = 1) -> None:
        scaled = [(x * self._scale, y * self._scale) for x, y in points]
        self._pen.line(scaled, fill, max(round(width * self._scale), 1), joint="curve")

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        self._pen.polygon([(x * self._scale, y * self._scale) for x, y in points], fill)

    def text(self, at: Point, text: str, size: float, fill: Colour = INK, anchor: str = "la") -> None:
        place = (at[0] * self._scale, at[1] * self._scale)
        self._pen.text(place, text, fill, _font(round(size * self._scale)), anchor=anchor)

    def text_width(self, text: str, size: float) -> float:
        return self._pen.textlength(text, _font(round(size * self._scale))) / self._scale

    def shortened(self, text: str, size: float, width: float) -> str:
        """The text, or as much of it as fits, the middle left out."""
        if self.text_width(text, size) <= width:
            return text
        for kept in range(len(text) - 1, 1, -1):
            shorter = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
            if self.text_width(shorter, size) <= width:
                return shorter
        return "…"

    def picture(self, picture: UInt8Array, box: Box, *, cover: bool) -> None:
        """A picture in the middle of a box: filling it and cropped (`cover`), or shown whole."""
        left, top, right, bottom = (round(v * self._scale) for v in box)
        size = (max(right - left, 1), max(bottom - top, 1))
        height, width = picture.shape[:2]
        ratios = (size[0] / width, size[1] / height)
        ratio = max(ratios) if cover else min(ratios)
        shown = (max(round(width * ratio), 1), max(round(height * ratio), 1))
        image = Image.fromarray(np.ascontiguousarray(picture)).resize(shown, Resampling.LANCZOS)
        if cover:
            x, y = (shown[0] - size[0]) // 2, (shown[1] - size[1]) // 2
            image = image.crop((x, y, x + size[0], y + size[1]))
        self._image.paste(image, (left + (size[0] - image.width) // 2, top + (size[1] - image.height) // 2))

    def save(self, destination: Path) -> None:
        finished = self._image.resize((self.width, self.height), Resampling.BOX)
        with atomic_path(destination) as temporary:
            finished.save(temporary, format="PNG")


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
