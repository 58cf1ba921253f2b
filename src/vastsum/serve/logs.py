"""What the studio writes into its log."""

from __future__ import annotations

import logging
import math
import time

_EVERY_S = 60.0
_KEPT = 100


class Repeats(logging.Filter):
    """Lets the same line through once a minute, and says how often it was held back."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}  # when it was last let through, how often it came since

    def filter(self, record: logging.LogRecord) -> bool:
        line, now_s = record.getMessage(), time.monotonic()
        told_s, n_held = self._seen.pop(line, (-math.inf, 0))
        is_new = now_s - told_s >= _EVERY_S
        self._seen[line] = (now_s, 0) if is_new else (told_s, n_held + 1)
        if len(self._seen) > _KEPT:
            del self._seen[next(iter(self._seen))]
        if is_new and n_held:
            record.msg, record.args = f"{line} ({n_held} more since this was last said)", ()
        return is_new
