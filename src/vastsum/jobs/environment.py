"""What the environment of a command and its workers says of videos."""

from __future__ import annotations

import os

from vastsum.errors import ConfigError

_MAX_PIXELS = "VASTSUM_MAX_PIXELS"  # of a frame


def heed_environment() -> None:
    text = os.environ.get(_MAX_PIXELS)
    if text is None:
        return
    if not text.isdecimal():
        raise ConfigError(_MAX_PIXELS, f"'{text}' is not a number of pixels", f"give one such as {8192 * 8192}")
    from vastsum.video import limit_pixels

    limit_pixels(int(text))
