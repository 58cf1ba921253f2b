"""What whole segments leave over of a budget: the beginning of one more fills it, and ends where it is good to cut.

export/page/draft.js does the same, step by step.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vastsum.types import FLASH_S, BoolArray, FloatArray, IntArray, Marks

ENOUGH = 0.98  # of the budget; fuller summaries are left as they are
LEAST = 0.95  # of the budget, which a pause in speech may not cost
MIN_PIECE_S = 1.0
PAUSE_REACH_S = 1.6


class Part(NamedTuple):
    """Frames start … stop − 1 of segment k."""

    k: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Filling:
    edges: IntArray  # (M + 1,) where segments start, and the end of the video
    times_s: FloatArray  # (N + 1,) when each frame appears, and the end of the video
    worth: FloatArray  # (N + 1,) what all frames before this one are worth
    marks: Marks
    budget_s: float
    to_the_brim: bool  # choose parts that fill the budget before more valuable ones

    def without_flashes(self, chosen: BoolArray, free: BoolArray) -> dict[int, Part]:
        """By segment, what to choose of free ones whose piece begins or ends with so little of a shot."""
        parts: dict[int, Part] = {}
        if chosen.all():
            return parts
        begins = chosen & ~np.append(False, chosen[:-1])
        ends = chosen & ~np.append(chosen[1:], False)
        for k in np.flatnonzero(free & (begins | ends)).tolist():
            start, stop = whole = int(self.edges[k]), int(self.edges[k + 1])
            cuts = self._cuts_between(start, stop)
            for cut in cuts if begins[k] else ():
                start = cut if self._seconds(start, cut) < FLASH_S else start
            for cut in reversed(cuts) if ends[k] else ():
                stop = cut if start < cut and self._seconds(cut, stop) < FLASH_S else stop
            if (start, stop) != whole and self._seconds(start, stop) >= FLASH_S:
                parts[k] = Part(k, start, stop)
        return parts

    def best_part(self, chosen: BoolArray, allowed: BoolArray) -> Part | None:
        """The most valuable beginning of a segment that fits beside the chosen ones; None where none is needed or does.

        It continues a chosen segment, unless a hard cut lies between; or else it lasts a second at least. First comes
        what finishes the sentence of a chosen segment, and then what ends where speech rests; what does not comes only
        where the budget is not nearly full. Beginnings alone: they are good places to start at, and key frames where
        all segments start at those.
        """
        lengths_s = np.diff(self.times_s[self.edges])
        left_s = self.budget_s - float(lengths_s[chosen].sum())
        if left_s < (1 - ENOUGH) * self.budget_s:
            return None
        nearly_full = left_s <= (1 - LEAST) * self.budget_s
        best, most = None, (nearly_full, False, nearly_full, 0.0)
        for k in np.flatnonzero(allowed & ~chosen):
            start, after = int(self.edges[k]), int(self.edges[k + 1])
            stop = bisect_right(self.times_s, self.times_s[start] + left_s + 1e-9, lo=start, hi=after + 1) - 1
            continues = bool(k > 0 and chosen[k - 1] and not self._is_cut(start))
            least_s = 0.0 if continues else MIN_PIECE_S
            stop = self._good_stop(start, stop, left_s, least_s)
            worth = float(np.float32(self.worth[stop] - self.worth[start]))
            rests = not self._is_spoken(stop) or self._is_cut(stop)
            fills = self._fills(left_s - self._seconds(start, stop))
            rank = (fills, continues and rests and self._is_spoken(start), rests, worth)
            if worth > 0 and rank > most and self._seconds(start, stop) >= least_s:
                best, most = Part(int(k), start, stop), rank
        return best

    def _good_stop(self, start: int, stop: int, left_s: float, least_s: float) -> int:
        """Before the flash of another shot, or where speech rests or at least pauses."""
        end = stop
        for cut in reversed(self._cuts_between(start, stop)):
            end = cut if self._seconds(cut, end) < FLASH_S else end
        if end < stop:
            return end
        if not self._is_spoken(stop):
            return stop
        pauses = self.marks.pauses
        pauses = pauses[bisect_right(pauses, start) : bisect_right(pauses, stop)]
        for pause in reversed(pauses):
            length_s = self._seconds(start, pause)
            if not self._is_spoken(pause) and length_s >= least_s and self._fills(left_s - length_s):
                return pause
        to_spare_s = (1 - LEAST) * self.budget_s - left_s + self._seconds(start, stop)
        if pauses and self._seconds(pauses[-1], stop) <= min(PAUSE_REACH_S, to_spare_s):
            return pauses[-1]
        return stop

    def _fills(self, left_s: float) -> bool:
        """Whether so little would be left that it is enough, or so much that there is room for another piece."""
        return not self.to_the_brim or left_s <= (1 - LEAST) * self.budget_s + 1e-9 or left_s >= MIN_PIECE_S

    def _is_spoken(self, frame: int) -> bool:
        speech = self.marks.speech
        n = bisect_right(speech, frame, key=lambda one: one.first_frame) - 1
        return n >= 0 and frame <= speech[n].last_frame

    def _seconds(self, start: int, stop: int) -> float:
        return float(self.times_s[stop] - self.times_s[start])

    def _cuts_between(self, start: int, stop: int) -> tuple[int, ...]:
        cuts = self.marks.cuts
        return cuts[bisect_right(cuts, start) : bisect_left(cuts, stop)]

    def _is_cut(self, frame: int) -> bool:
        cuts = self.marks.cuts
        n = bisect_left(cuts, frame)
        return n < len(cuts) and cuts[n] == frame
