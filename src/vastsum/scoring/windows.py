"""Very long videos are scored a part at a time, each part fading into the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vastsum.errors import CheckpointError
from vastsum.types import FloatArray, IntArray, Prediction

# Attention compares every segment with every other, and the mean over like frames every pick: some twelve minutes at a
# time, or seventeen where little happens, keep memory the same however long a video is. Training videos have up to 130
# segments and 1294 picks, so nothing that was learned reaches further.
MAX_SEGMENTS_AT_ONCE = 144
MAX_PICKS_AT_ONCE = 2048
SHARED = 4  # a quarter of a window is seen by the next one too


def predict_in_windows(
    ids: IntArray, predict: Callable[[int, int], tuple[FloatArray, FloatArray]], where: object
) -> Prediction:
    """`predict` gives mean and standard deviation of a range of picks, seen by themselves; `ids` are the segments they
    lie in. Where two windows overlap, their scores are averaged; the window that a pick lies further inside of weighs
    more. `where` names the model in errors."""
    prediction = _joined(ids, predict)
    if not prediction.is_sound:
        problem = "gives scores that are no numbers, or too large to calculate with"
        raise CheckpointError(where, problem, "use another model, or train it again at a lower learning rate")
    return prediction


def _joined(ids: IntArray, predict: Callable[[int, int], tuple[FloatArray, FloatArray]]) -> Prediction:
    windows = list(windows_of(ids))
    if len(windows) == 1:
        mean, std = predict(0, len(ids))
        return Prediction(mean.astype(np.float64), std.astype(np.float64))
    told, heard = np.zeros((2, len(ids))), np.zeros(len(ids))
    for start, end in windows:
        inside = np.arange(1, end - start + 1)
        weight = np.minimum(inside, inside[::-1])
        told[:, start:end] += weight * np.stack(predict(start, end))
        heard[start:end] += weight
    return Prediction(*(told / heard))


def windows_of(ids: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of picks that overlap and go on, of whole segments unless one is too long for that."""
    start = end = 0
    while end < len(ids):
        reached = end
        end = int(min(np.searchsorted(ids, ids[start] + MAX_SEGMENTS_AT_ONCE), start + MAX_PICKS_AT_ONCE))
        if end < len(ids) and (whole := int(np.searchsorted(ids, ids[end]))) > reached:
            end = whole
        yield start, end
        again = end - (end - start) // SHARED
        if again < len(ids):
            whole, after = (int(np.searchsorted(ids, ids[again], side)) for side in ("left", "right"))
            if whole <= start:  # from within the same segment, no further one would fit
                whole = after if after < end else again
            start = whole
