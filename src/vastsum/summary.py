"""The result: what is important in a video, how sure that is, what was chosen, and how firmly each choice stands."""

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
from vastsum.selection import knapsack, perturbed_choices, segment_values, stability, viewer_values
from vastsum.selection.decode import DEFAULT_BUDGET, DEFAULT_DECODER
from vastsum.types import BoolArray, Decoder, FloatArray, IntArray, Prediction, Segments
from vastsum.video import Timeline, VideoInfo

Float64Array = NDArray[np.float64]
Progress = Callable[[float, float | None], None]

_SEED = 0
_MAX_DRAWS, _MIN_DRAWS = 200, 25
_DRAWN_SEGMENTS = 200_000  # so that a new budget takes a fraction of a second, even for ten hours of video


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

    `importance` is the mean over its frames, and `uncertainty` the standard deviation that goes with it. `stability` is
    the share of perturbed summaries that agree on whether it is in or out.
    """

    start_frame: int
    end_frame: int  # inclusive
    start_s: float
    end_s: float  # when its last frame leaves the screen
    importance: float
    uncertainty: float
    stability: float
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
        whole = cls(video, model, everything, segments.picks, mean, std, undecided, timeline, decoder=decoder)
        return whole.with_budget(budget)

    def with_budget(self, budget: float, *, keep: Collection[int] = (), leave_out: Collection[int] = ()) -> Summary:
        """The same video summarised to another length, at once: no model and no video is involved.

        `budget` is a fraction of the video's duration. The summary is never longer than that and never empty: where
        every segment is too long, the best one is cut down to the budget around its most important pick (to one frame
        at least), and what is left of it becomes segments of its own.

        `keep` and `leave_out` are what a person has decided: indices of segments that are in, or out, whatever the
        scores say. The rest of the budget goes to the others; what is kept may by itself be longer than the budget.
        """
        if not 0 < budget <= 1:
            raise ConfigError("budget", f"{budget} is not a share of the video", "give a number above 0, up to 1")
        # Chosen from the segments as they were found, so that the way to a budget does not matter.
        whole = self._untrimmed or self
        return whole._select(float(budget), whole._mask(keep), whole._mask(leave_out))

    def with_starts(self, starts: Sequence[int]) -> Summary:
        """The same scores on segments that start at other frames, chosen anew within the same budget."""
        frames = np.asarray(starts, dtype=np.int64)
        if not len(frames) or frames[0] != 0 or (np.diff(frames) <= 0).any() or frames[-1] >= self.video.n_frames:
            problem = f"{len(frames)} segments do not start one after another in 0 … {self.video.n_frames - 1}"
            raise ConfigError("segments", problem, "give increasing frame numbers, the first of them 0")
        edges = np.append(frames, self.video.n_frames)
        times = self.times_s(edges).tolist()
        undecided = tuple(
            SummarySegment(first, after - 1, start_s, end_s, 0.0, 0.0, 0.0, False)
            for (first, after), (start_s, end_s) in zip(pairwise(edges.tolist()), pairwise(times), strict=True)
        )
        return replace(self, segments=undecided, _untrimmed=None).with_budget(self.budget.fraction)

    def _mask(self, indices: Collection[int]) -> BoolArray:
        unknown = [index for index in indices if not 0 <= index < len(self.segments)]
        if unknown:
            raise ConfigError(f"segment {unknown[0]}", f"there are {len(self.segments)}", "count them from 0")
        mask = np.zeros(len(self.segments), dtype=bool)
        mask[list(indices)] = True
        return mask

    def _select(self, fraction: float, keep: BoolArray, leave_out: BoolArray) -> Summary:
        """Knapsack by time on screen; for evenly spaced frames, this is `vastsum.selection.select`."""
        if (keep & leave_out).any() or leave_out.all():
            problem = "the same segment is kept and left out" if not leave_out.all() else "every segment is left out"
            raise ConfigError("selection", problem, "leave at least one segment to choose")
        budget = Budget(fraction, fraction * self.video.duration_s)
        weights = self._lengths_on_screen()
        capacity = int(fraction * self.video.n_frames) if fraction < 1 else int(weights.sum())
        room = max(capacity - int(weights[keep].sum()), 0)
        free = ~keep & ~leave_out
        nothing_fits = not keep.any() and bool((weights[free] > room).all())
        if nothing_fits:
            weights, room = np.ones_like(weights), 1  # the best one alone, to be trimmed
        decoder = replace(self.decoder, length_power=0.0) if nothing_fits else self.decoder  # to the same length

        chosen, agreement = keep.copy(), np.ones(len(weights))  # a person's word is as firm as can be
        if free.any():
            values = segment_values(self.importance, self.layout, decoder)
            of_viewer, noise = viewer_values(self.prediction, self.layout, decoder)
            draws = int(np.clip(_DRAWN_SEGMENTS // len(values), _MIN_DRAWS, _MAX_DRAWS))
            # What is kept makes a summary already: nothing worthless is added for the sake of having one.
            chosen[free] = knapsack(values[free], weights[free], room) & ((values[free] > 0) | ~keep.any())
            perturbed = perturbed_choices(
                of_viewer[free],
                weights[free],
                room,
                noise=noise[free],
                draws=draws,
                rng=np.random.default_rng(_SEED),
                on_logarithm=decoder.sharpness > 0,
            )
            agreement[free] = stability(chosen[free], perturbed)
        decided = replace(self, budget=budget, segments=self._decided(agreement, chosen))
        return decided._trimmed(int(chosen.argmax())) if nothing_fits else decided

    def _decided(self, agreement: FloatArray, chosen: BoolArray) -> tuple[SummarySegment, ...]:
        """Segments with their means, whatever they were worth to the knapsack.

        A scorer's uncertainty is how far viewers disagree about a frame. Who likes one frame of a segment likes the
        next, so disagreement does not average out within a segment, as it would (by √n) were frames independent. Nor is
        it divided by a number of viewers: stability says how a summary for another viewer would differ, not how well
        the average of many is known.
        """
        means, deviations = (segment_values(scores, self.layout) for scores in (self.importance, self.uncertainty))
        columns = (means.tolist(), deviations.tolist(), agreement.tolist(), chosen.tolist())
        return tuple(
            replace(segment, importance=mean, uncertainty=deviation, stability=share, selected=taken)
            for segment, mean, deviation, share, taken in zip(self.segments, *columns, strict=True)
        )

    def _lengths_on_screen(self) -> IntArray:
        """Durations in frames at the mean rate, rounded up: exact for evenly spaced frames, never too short."""
        frames_per_s = self.video.n_frames / self.video.duration_s
        lengths = np.array([segment.duration_s for segment in self.segments]) * frames_per_s
        return np.maximum(np.ceil(lengths - 1e-6), 1).astype(np.int64)  # (M,)

    def _trimmed(self, k: int) -> Summary:
        """Keep of segment k what the budget allows, around its most important pick."""
        segment = self.segments[k]
        first, last = segment.start_frame, segment.end_frame
        centre = self.highlight(segment)

        def window(n_frames: int) -> tuple[int, int]:
            start = min(max(centre - n_frames // 2, first), last + 1 - n_frames)
            return start, start + n_frames

        def window_s(n_frames: int) -> float:
            start_s, end_s = self.times_s(np.array(window(n_frames)))
            return float(end_s - start_s)

        lengths = range(1, segment.n_frames + 1)
        start, stop = window(max(bisect_right(lengths, self.budget.seconds + 1e-9, key=window_s), 1))
        cuts = [first, *(cut for cut in (start, stop) if first < cut <= last), last + 1]
        times = [segment.start_s, *self.times_s(np.array(cuts[1:-1], dtype=np.int64)).tolist(), segment.end_s]
        pieces = tuple(
            replace(
                segment,
                start_frame=piece_start,
                end_frame=piece_stop - 1,
                start_s=start_s,
                end_s=end_s,
                selected=piece_start == start,
                # What is left over is out of every perturbed summary too, whichever segment that one trims.
                stability=segment.stability if piece_start == start else 1.0,
            )
            for (piece_start, piece_stop), (start_s, end_s) in zip(pairwise(cuts), pairwise(times), strict=True)
        )
        split = replace(self, segments=self.segments[:k] + pieces + self.segments[k + 1 :], _untrimmed=self)
        agreement = np.array([segment.stability for segment in split.segments])
        chosen = np.array([segment.selected for segment in split.segments])
        return replace(split, segments=split._decided(agreement, chosen))

    @property
    def selected(self) -> tuple[SummarySegment, ...]:
        """The segments that make the summary, in order of time."""
        return tuple(segment for segment in self.segments if segment.selected)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First and last frame of each chosen segment."""
        return [(segment.start_frame, segment.end_frame) for segment in self.selected]

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
        """Write the summary in the format its file name ends in: .mp4, .json, .png, .html, .edl, .otio or .vtt.

        A name that ends in .storyboard.png gives the storyboard; `format` names one whatever the ending. `copy` and
        `progress` are for videos: cut at key frames without encoding, and be told of the seconds written. A file that
        is there already is replaced only with `overwrite=True`.
        """
        from vastsum.export import save

        return save(self, Path(path), format=format, copy=copy, overwrite=overwrite, progress=progress)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Summary:
        """Read a summary.json; whatever is wrong with it is a DataError that says what and where."""
        from vastsum.export.schema import read

        return read(Path(path))

    def to_dict(self) -> dict[str, Any]:
        """What summary.json holds, version 1."""
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
