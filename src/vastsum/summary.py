"""The result: what is important in a video, what was chosen, and how likely people would choose it too."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vastsum.errors import ConfigError, DataError
from vastsum.selection import knapsack, segment_values
from vastsum.selection.chance import chances
from vastsum.selection.decode import DEFAULT_BUDGET, DEFAULT_DECODER, frame_worth, standing
from vastsum.selection.fill import LEAST, Filling, Part
from vastsum.types import PAPER_DECODER, BoolArray, Decoder, IntArray, Marks, Prediction, Segments
from vastsum.video import Timeline, VideoInfo

Float64Array = NDArray[np.float64]
Progress = Callable[[float, float | None], None]

_MOST_PARTS = 4  # steps to fill the budget


@dataclass(frozen=True)
class SourceVideo:
    """The video that was summarised, as it is shown. `fps` is the mean rate: frames may be unevenly spaced.

    `path` is absolute unless it is to tell nothing of where the video is kept.
    """

    path: Path
    duration_s: float
    fps: float
    n_frames: int
    width: int
    height: int

    @classmethod
    def of(cls, info: VideoInfo, timeline: Timeline) -> Self:
        """Size and place from the header; number of frames, duration and rate from the frames themselves."""
        return cls(info.path.absolute(), timeline.duration_s, timeline.fps, timeline.n_frames, info.width, info.height)


@dataclass(frozen=True)
class ModelNames:
    scorer: str
    backbone: str


@dataclass(frozen=True)
class Budget:
    """How long the summary may be: as a share of the video's duration, and in seconds."""

    fraction: float
    seconds: float


@dataclass(frozen=True)
class SummarySegment:
    """One segment of the video and what was decided about it.

    `importance` is the mean over its frames, and `uncertainty` how far one person's word may lie from it (a standard
    deviation). `chance` is how likely people, agreeing on a summary of this length, would include it.
    """

    start_frame: int
    end_frame: int  # inclusive
    start_s: float
    end_s: float  # when its last frame leaves the screen
    importance: float
    uncertainty: float
    chance: float
    selected: bool

    @property
    def n_frames(self) -> int:
        return self.end_frame - self.start_frame + 1

    @property
    def duration_s(self) -> float:
        return self.end_s - self.start_s


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """A summary of one video. It never changes: `with_budget` gives another, chosen by the same `decoder`.

    `timeline` holds the exact times of all frames where the video was read in this process. It is not saved; without it
    the time of a frame inside a segment is interpolated between the segment's own start and end.
    """

    video: SourceVideo
    model: ModelNames
    budget: Budget
    picks: IntArray  # (T,)
    importance: Float64Array  # (T,)
    uncertainty: Float64Array  # (T,)
    segments: tuple[SummarySegment, ...]
    timeline: Timeline | None = None
    decoder: Decoder = field(default=DEFAULT_DECODER, kw_only=True)
    marks: Marks = field(default=Marks(), kw_only=True)
    nothing_stands_out: bool = field(default=False, kw_only=True)  # then the summary is an even sample
    _untrimmed: Summary | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        for name, dtype in (("picks", np.int64), ("importance", np.float64), ("uncertainty", np.float64)):
            own = np.array(getattr(self, name), dtype=dtype)
            own.setflags(write=False)
            object.__setattr__(self, name, own)

    @classmethod
    def choose(
        cls,
        video: SourceVideo,
        model: ModelNames,
        prediction: Prediction,
        segments: Segments,
        budget: float = DEFAULT_BUDGET,
        *,
        decoder: Decoder = DEFAULT_DECODER,
        timeline: Timeline | None = None,
        marks: Marks = Marks(),  # noqa: B008  # immutable
        nothing_stands_out: bool = False,
    ) -> Summary:
        """Choose the most valuable segments within the budget, a fraction of the video's duration.

        Without a `timeline`, frames are taken to be evenly spaced over the video's duration.
        """
        _check(video, prediction, segments, timeline)
        frames = np.append(segments.bounds[:, 0], segments.n_frames)
        times = _edges_s(timeline)[frames] if timeline else frames * (video.duration_s / segments.n_frames)
        undecided = tuple(
            SummarySegment(int(first), int(last), start_s, end_s, 0.0, 0.0, 0.0, False)
            for (first, last), start_s, end_s in zip(
                segments.bounds, times[:-1].tolist(), times[1:].tolist(), strict=True
            )
        )
        mean, std = (np.asarray(values, dtype=np.float64) for values in (prediction.mean, prediction.std))
        everything = Budget(1.0, video.duration_s)
        whole = cls(
            video,
            model,
            everything,
            segments.picks,
            mean,
            std,
            undecided,
            timeline,
            decoder=decoder,
            marks=marks,
            nothing_stands_out=nothing_stands_out,
        )
        return whole.with_budget(budget)

    def with_budget(self, budget: float, *, keep: Collection[int] = (), leave_out: Collection[int] = ()) -> Summary:
        """The same video summarised to another length, at once: no model and no video is involved.

        `budget` is a fraction of the video's duration. The summary is never longer than that and never empty. What
        whole segments leave over goes to parts of others, which become segments of their own. Where every segment is
        too long, the best one is cut down to the budget around its most important pick (to one frame at least). Black,
        blank and frozen stretches are chosen only where there is nothing else.

        `keep` and `leave_out` are what a person has decided: indices of segments that are in, or out, whatever the
        scores say. The rest of the budget goes to the others; what is kept may by itself be longer than the budget.
        """
        if not 0 < budget <= 1:
            raise ConfigError("budget", f"{budget} is not a share of the video", "give a number above 0, up to 1")
        # Chosen from the segments as they were found, so that the way to a budget does not matter.
        whole = replace(self._untrimmed, video=self.video, model=self.model) if self._untrimmed else self
        return whole._select(float(budget), whole._mask(keep), whole._mask(leave_out))

    def with_starts(self, starts: Sequence[int]) -> Summary:
        """The same scores on segments that start at other frames, chosen anew within the same budget."""
        frames = np.asarray(starts, dtype=np.int64)
        if not len(frames) or frames[0] != 0 or (np.diff(frames) <= 0).any() or frames[-1] >= self.video.n_frames:
            problem = f"{len(frames)} segments do not start one after another in 0 … {self.video.n_frames - 1}"
            raise ConfigError("segments", problem, "give increasing frame numbers, the first of them 0")
        return self._cut_at(frames).with_budget(self.budget.fraction)

    def _cut_at(self, starts: IntArray) -> Summary:
        """Nothing chosen yet."""
        edges = np.append(starts, self.video.n_frames)
        times = self.times_s(edges).tolist()
        undecided = tuple(
            SummarySegment(first, after - 1, start_s, end_s, 0.0, 0.0, 0.0, False)
            for (first, after), (start_s, end_s) in zip(pairwise(edges.tolist()), pairwise(times), strict=True)
        )
        return replace(self, segments=undecided, _untrimmed=None)

    @property
    def starts(self) -> list[int]:
        """First frames of the segments as they were found, before any was split to fill the budget."""
        return [segment.start_frame for segment in (self._untrimmed or self).segments]

    def found_at(self, starts: Sequence[int]) -> Summary:
        """The same choice; another budget starts from segments that begin here."""
        whole = self._cut_at(np.array(starts, np.int64))
        return replace(self, _untrimmed=whole if len(starts) < len(self.segments) else None)

    def _mask(self, indices: Collection[int]) -> BoolArray:
        unknown = [index for index in indices if not 0 <= index < len(self.segments)]
        if unknown:
            raise ConfigError(f"segment {unknown[0]}", f"there are {len(self.segments)}", "count them from 0")
        mask = np.zeros(len(self.segments), dtype=bool)
        mask[list(indices)] = True
        return mask

    def _select(self, fraction: float, keep: BoolArray, leave_out: BoolArray) -> Summary:
        """Knapsack by time on screen, then what is left over."""
        if (keep & leave_out).any() or leave_out.all():
            problem = "the same segment is kept and left out" if not leave_out.all() else "every segment is left out"
            raise ConfigError("selection", problem, "leave at least one segment to choose")
        budget = Budget(fraction, fraction * self.video.duration_s)
        free = ~keep & ~leave_out
        if fraction < 1 and (keep | (free & ~self._is_empty)).any():
            free &= ~self._is_empty
        weights = self._lengths_on_screen()
        capacity = int(fraction * self.video.n_frames) if fraction < 1 else int(weights.sum())
        room = max(capacity - int(weights[keep].sum()), 0)
        nothing_fits = not keep.any() and bool((weights[free] > room).all())
        if nothing_fits:
            weights, room = np.ones_like(weights), 1  # the best one alone, to be trimmed
        decoder = replace(self.decoder, length_power=0.0) if nothing_fits else self.decoder  # to the same length

        chosen = keep.copy()
        if free.any():
            values = segment_values(self.importance, self.layout, decoder)
            # What is kept makes a summary already: nothing worthless is added for the sake of having one.
            chosen[free] = knapsack(values[free], weights[free], room) & ((values[free] > 0) | ~keep.any())
        decided = replace(self, budget=budget, segments=self._with_choice(chosen))
        if nothing_fits:
            decided = decided._trimmed(int(chosen.argmax()))
        elif self.decoder != PAPER_DECODER:
            decided = decided._filled(free)
        return decided.judged()

    def _with_choice(self, chosen: BoolArray) -> tuple[SummarySegment, ...]:
        return tuple(
            replace(segment, selected=taken) for segment, taken in zip(self.segments, chosen.tolist(), strict=True)
        )

    def judged(self) -> Summary:
        """With the means of each segment, whatever it was worth to the knapsack, and its chance.

        A scorer's uncertainty is how far viewers disagree about a frame. Who likes one frame of a segment likes the
        next, so disagreement does not average out within a segment, as it would (by √n) were frames independent.
        """
        means, deviations = (segment_values(scores, self.layout) for scores in (self.importance, self.uncertainty))
        stands = np.zeros(len(means)) if self.nothing_stands_out else standing(means, self.importance)
        lengths_s = np.array([segment.duration_s for segment in self.segments])
        likely = chances(stands, lengths_s, self.budget.fraction)
        columns = (means.tolist(), deviations.tolist(), likely.tolist())
        segments = tuple(
            replace(segment, importance=mean, uncertainty=deviation, chance=chance)
            for segment, mean, deviation, chance in zip(self.segments, *columns, strict=True)
        )
        return replace(self, segments=segments)

    @cached_property
    def _is_empty(self) -> BoolArray:
        """The segments that show nothing for half their length or more."""
        overlap = np.zeros(len(self.segments))
        first, last = self.layout.bounds.T
        for stretch in self.marks.empty:
            overlap += np.maximum(np.minimum(last, stretch.last_frame) - np.maximum(first, stretch.first_frame) + 1, 0)
        return np.asarray(2 * overlap >= self.layout.lengths)

    def _filled(self, free: BoolArray) -> Summary:
        """Without flashes of other shots, and with beginnings of free segments in what is left of the budget."""
        filled = self._with_parts(free, to_the_brim=False)
        if filled.duration_s >= LEAST * self.budget.seconds:
            return filled
        fuller = self._with_parts(free, to_the_brim=True)
        return fuller if fuller.duration_s > filled.duration_s + 1e-6 else filled

    def _with_parts(self, free: BoolArray, *, to_the_brim: bool) -> Summary:
        """Where no part fits and much is left, the least valuable free segment makes room for a part of another."""
        times_s = self.times_s(np.arange(self.video.n_frames + 1))
        worth = np.append(0.0, np.cumsum(frame_worth(self.importance, self.layout, self.decoder)))

        def filling(summary: Summary) -> tuple[Filling, BoolArray]:
            edges = np.append(summary.layout.bounds[:, 0], self.video.n_frames)
            chosen = np.array([segment.selected for segment in summary.segments])
            return Filling(edges, times_s, worth, self.marks, self.budget.seconds, to_the_brim), chosen

        whole, chosen = filling(self)
        filled, free = self._split(whole.without_flashes(chosen, free), free)
        unswapped = None
        for _ in range(_MOST_PARTS):
            now, chosen = filling(filled)
            part = now.best_part(chosen, free)
            if part is None:
                if unswapped or filled.duration_s >= LEAST * self.budget.seconds or not (chosen & free).any():
                    break
                values = np.where(chosen & free, np.diff(worth[now.edges]).astype(np.float32), np.inf)
                chosen[values.argmin()] = free[values.argmin()] = False
                unswapped = filled
                filled = replace(filled, segments=filled._with_choice(chosen))
                continue
            filled, free = filled._split({part.k: part}, free)
        return unswapped if unswapped and unswapped.duration_s >= filled.duration_s - 1e-6 else filled

    def _lengths_on_screen(self) -> IntArray:
        """Durations in frames at the mean rate, rounded up: exact for evenly spaced frames, never too short."""
        frames_per_s = self.video.n_frames / self.video.duration_s
        lengths = np.array([segment.duration_s for segment in self.segments]) * frames_per_s
        return np.maximum(np.ceil(lengths - 1e-6), 1).astype(np.int64)  # (M,)

    def _trimmed(self, k: int) -> Summary:
        """Keep of segment k what the budget allows, around its most important pick."""
        segment = self.segments[k]
        centre = self.highlight(segment)
        first, last = self._shot_around(centre, segment)

        def window(n_frames: int) -> tuple[int, int]:
            start = min(max(centre - n_frames // 2, first), last + 1 - n_frames)
            return start, start + n_frames

        def window_s(n_frames: int) -> float:
            start_s, end_s = self.times_s(np.array(window(n_frames)))
            return float(end_s - start_s)

        lengths = range(1, last - first + 2)
        start, stop = window(max(bisect_right(lengths, self.budget.seconds + 1e-9, key=window_s), 1))
        return self._split({k: Part(k, start, stop)}, np.zeros(len(self.segments), np.bool_))[0]

    def _shot_around(self, frame: int, segment: SummarySegment) -> tuple[int, int]:
        """What a segment shows of the shot of a frame, if that is as long as the budget; or else all of it."""
        cuts = self.marks.cuts
        n = bisect_right(cuts, frame)
        first = max([segment.start_frame, *cuts[max(n - 1, 0) : n]])
        after = min([segment.end_frame + 1, *cuts[n : n + 1]])
        start_s, end_s = self.times_s(np.array([first, after]))
        is_long = end_s - start_s >= self.budget.seconds
        return (first, after - 1) if is_long else (segment.start_frame, segment.end_frame)

    def _split(self, parts: dict[int, Part], free: BoolArray) -> tuple[Summary, BoolArray]:
        """Choose these parts of segments and nothing else of them; and which segments are free then: no parts."""
        segments: list[SummarySegment] = []
        still_free: list[bool] = []
        for k, segment in enumerate(self.segments):
            pieces = self._pieces_of(segment, parts[k]) if k in parts else (segment,)
            segments += pieces
            still_free += [bool(free[k]) and k not in parts] * len(pieces)  # a part ends where it should
        whole = self._untrimmed or (self if parts else None)
        return replace(self, segments=tuple(segments), _untrimmed=whole), np.array(still_free)

    def _pieces_of(self, segment: SummarySegment, part: Part) -> tuple[SummarySegment, ...]:
        first, after = segment.start_frame, segment.end_frame + 1
        cuts = [first, *(cut for cut in (part.start, part.stop) if first < cut < after), after]
        times = [segment.start_s, *self.times_s(np.array(cuts[1:-1], dtype=np.int64)).tolist(), segment.end_s]
        return tuple(
            replace(
                segment,
                start_frame=piece_start,
                end_frame=piece_stop - 1,
                start_s=start_s,
                end_s=end_s,
                selected=piece_start == part.start,
            )
            for (piece_start, piece_stop), (start_s, end_s) in zip(pairwise(cuts), pairwise(times), strict=True)
        )

    @property
    def selected(self) -> tuple[SummarySegment, ...]:
        """The segments that make the summary, in order of time."""
        return tuple(segment for segment in self.segments if segment.selected)

    @cached_property
    def pieces(self) -> tuple[SummarySegment, ...]:
        """What is seen without a break: chosen segments that follow one another are one piece."""
        pieces: list[SummarySegment] = []
        for segment in self.selected:
            if pieces and pieces[-1].end_frame + 1 == segment.start_frame:
                segment = _joined(pieces.pop(), segment)
            pieces.append(segment)
        return tuple(pieces)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First and last frame of each piece."""
        return [(piece.start_frame, piece.end_frame) for piece in self.pieces]

    @property
    def n_frames(self) -> int:
        return sum(segment.n_frames for segment in self.selected)

    @property
    def duration_s(self) -> float:
        return sum(segment.duration_s for segment in self.selected)

    @property
    def fraction(self) -> float:
        """How long the summary is, as a share of the video's duration."""
        return self.duration_s / self.video.duration_s

    @cached_property
    def layout(self) -> Segments:
        """Segments and picks as the rooms above know them."""
        bounds = np.array([(segment.start_frame, segment.end_frame) for segment in self.segments], dtype=np.int64)
        return Segments(bounds, self.picks, self.video.n_frames)

    @property
    def prediction(self) -> Prediction:
        return Prediction(self.importance, self.uncertainty, self.decoder)

    def times_s(self, frames: IntArray) -> Float64Array:
        """When frames appear on screen; frame `n_frames` stands for the end of the video."""
        known_frames, known_s = self._known_times
        return np.interp(frames, known_frames, known_s)

    @cached_property
    def _known_times(self) -> tuple[Float64Array, Float64Array]:
        """Frames, and when they appear: all of them, or the first of each segment; the end of the video at last."""
        if self.timeline is not None:
            return np.arange(self.video.n_frames + 1.0), _edges_s(self.timeline)
        frames = [*(segment.start_frame for segment in self.segments), self.video.n_frames]
        times = [*(segment.start_s for segment in self.segments), self.segments[-1].end_s]
        return np.array(frames, dtype=np.float64), np.array(times)

    def highlight(self, segment: SummarySegment) -> int:
        """The frame that best stands for a segment: its most important pick, or its first frame if it has none."""
        first, after = np.searchsorted(self.picks, [segment.start_frame, segment.end_frame + 1])
        if first == after:
            return segment.start_frame
        return int(self.picks[first + self.importance[first:after].argmax()])

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        copy: bool = False,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write the summary in the format its file name ends in, such as .mp4, .json, .png, .html, .fcpxml or .gif.

        A name that ends in .storyboard.png gives the storyboard; `format` names one of `vastsum.export.FORMATS`
        whatever the ending. `copy` and `progress` are for videos: cut at key frames without encoding, and be told of
        the seconds written. A file that is there already is replaced only with `overwrite=True`.
        """
        from vastsum.export import save

        return save(self, Path(path), format=format, copy=copy, overwrite=overwrite, progress=progress)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Read a summary.json; whatever is wrong with it is a DataError that says what and where."""
        from vastsum.export.schema import read

        return read(Path(path))

    def to_dict(self) -> dict[str, Any]:
        """What summary.json holds, version 2."""
        from vastsum.export.schema import to_dict

        return to_dict(self)

    @classmethod
    def from_dict(cls, content: object) -> Summary:
        from vastsum.export.schema import from_dict

        return from_dict(content, "summary")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"<Summary of {self.video.path.name}: {len(self.selected)} of {len(self.segments)} segments, "
            f"{self.duration_s:.1f} of {self.video.duration_s:.1f} s>"
        )


def _joined(a: SummarySegment, b: SummarySegment) -> SummarySegment:
    share = a.n_frames / (a.n_frames + b.n_frames)
    judged = {
        name: share * getattr(a, name) + (1 - share) * getattr(b, name)
        for name in ("importance", "uncertainty", "chance")
    }
    return replace(a, end_frame=b.end_frame, end_s=b.end_s, **judged)


def _check(video: SourceVideo, prediction: Prediction, segments: Segments, timeline: Timeline | None) -> None:
    mean, std = np.asarray(prediction.mean), np.asarray(prediction.std)
    if not mean.shape == std.shape == segments.picks.shape:
        problem = f"{len(mean)} scores with {len(std)} uncertainties for {len(segments.picks)} picks"
        raise DataError(video.path, problem, "give one of each for every pick")
    if not prediction.is_sound:
        raise DataError(video.path, "the scorer gave scores or uncertainties that are no numbers", "try another model")
    counts = {video.n_frames, segments.n_frames, timeline.n_frames if timeline else video.n_frames}
    if len(counts) > 1:
        raise DataError(video.path, f"its parts disagree on the number of frames: {sorted(counts)}", "sample it again")


def _edges_s(timeline: Timeline) -> Float64Array:
    """When each frame appears, and at last when the video ends."""
    return np.append(timeline.times_s, timeline.duration_s)  # (n_frames + 1,)
