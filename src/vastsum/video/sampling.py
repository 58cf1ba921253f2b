"""Frames of a video at a steady rate, as a stream: little is decoded that is not sampled, and nothing is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace

from vastsum.errors import ConfigError, VideoError
from vastsum.video.ahead import Ahead
from vastsum.video.closing import Closing
from vastsum.video.runs import Picture, Runs
from vastsum.video.schedule import Chooser, EveryNth, OnScreenAt, Schedule
from vastsum.video.shots import ShotFinder, Shots
from vastsum.video.source import Source, UInt8Array
from vastsum.video.timeline import Timeline, TimelineBuilder, promised_duration_s

Progress = Callable[[float, float | None], None]

SPARSE_KEYFRAMES_S = 2.0
_PREFETCHED_SAMPLES = 48  # 7 MB of 224 x 224 pictures


@dataclass(frozen=True, eq=False, slots=True)
class Sample:
    """One sampled frame: its index among all frames of the video, its time, and its picture in RGB."""

    index: int
    time_s: float
    image: UInt8Array  # (height, width, 3)


def sample(
    path: str | os.PathLike[str],
    fps: float = 2.0,
    *,
    every: int | None = None,
    size: tuple[int, int] = (224, 224),
    keyframes_only: bool = False,
    exact: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> Samples:
    """Stream the frame on screen at each time k / fps, or with `every=n` the frames 0, n, 2n, …

    Time starts at the first frame. A frame that stays on screen over several sample times comes once, so indices
    strictly increase. Pictures are turned upright and squashed to `size` (width, height), whatever their aspect.
    Decoding runs ahead in a thread of its own while the caller works. After the last sample, `.timeline` holds the
    times of all frames. `progress` is called with the seconds done and those the header promises, if it does.
    `threads` is how many cores decoding may use; 0 means all.

    What is traded for speed: frames that no sampled frame depends on are not decoded, which moves no sample; and
    bidirectional frames are not deblocked, which changes a sampled picture by little at this size (51 dB on average,
    44 at worst, on the one clip with B-frames it was measured on). Where a file marks frames as key frames which are
    none, pictures may show traces of others.
    `exact=True` decodes every frame in full. `keyframes_only=True` decodes nothing but key frames and gives the one in
    force at each sample time: far cheaper, and as dense as the encoder happened to place them; when that is less
    than one in 2 s, the timeline's warnings say so.

    A damaged video gives what can be decoded: for a lost frame the nearest decoded one, under its own index and
    time. The timeline's warnings say what was lost.
    """
    if every is None and not fps > 0:
        raise ConfigError("fps", f"{fps} is not a sampling rate", "give a number above 0, such as 2")
    if every is not None and every < 1:
        raise ConfigError("every", f"{every} is not a step between frames", "give 1 or more")
    options = {} if exact else {"skip_loop_filter": "bidir"}
    source = Source(path, threads=threads, decoder_options=options)
    chooser = EveryNth(every) if every else OnScreenAt(fps, source.time_base)
    return Samples(_Decoding(source, chooser, size, keyframes_only, exact), progress)


class Samples(Closing):
    """An iterator of samples. Close it (or use `with`) when stopping early; the timeline comes after the last."""

    def __init__(self, decoding: _Decoding, progress: Progress | None) -> None:
        self._decoding = decoding
        self._progress = progress
        self._promised_s = promised_duration_s(decoding.source)
        self._ahead = Ahead(decoding.samples(), _PREFETCHED_SAMPLES)

    @property
    def timeline(self) -> Timeline:
        """The times of all frames; known when the last sample has been taken."""
        if self._decoding.timeline is None:
            path = self._decoding.source.path
            raise VideoError(path, "its timeline is known only after the last sample", "take all samples first")
        return self._decoding.timeline

    @property
    def shots(self) -> Shots:
        """Known when the timeline is."""
        assert self.timeline is not None
        assert self._decoding.shots is not None
        return self._decoding.shots

    def __iter__(self) -> Iterator[Sample]:
        return self

    def __next__(self) -> Sample:
        try:
            taken = next(self._ahead)
        except StopIteration:
            timeline = self._decoding.timeline
            if self._progress and timeline is not None:
                self._progress(timeline.duration_s, timeline.duration_s)
            raise
        if self._progress:
            self._progress(taken.time_s, self._promised_s)
        return taken

    def close(self) -> None:
        """Stop decoding and let go of the file."""
        self._ahead.close()


class _Decoding:
    """Turns packets into samples, and keeps account of what is lost on the way."""

    def __init__(
        self, source: Source, chooser: Chooser, size: tuple[int, int], keyframes_only: bool, exact: bool
    ) -> None:
        self.source = source
        self.timeline: Timeline | None = None
        self.shots: Shots | None = None
        self._builder = TimelineBuilder(source)
        self._decode_all = exact or source.untimed
        self._keyframes_only = keyframes_only and not source.untimed
        self._schedule = Schedule(
            self._builder, chooser, keyframes_only=self._keyframes_only, decode_all=self._decode_all
        )
        self._finder = ShotFinder(keyframes_only=self._keyframes_only)
        self._runs = Runs(
            source, size, self._glimpsed, keyframes_only=self._keyframes_only, decode_all=self._decode_all
        )
        self._last: Picture | None = None
        self._given_pts: int | None = None
        self._n_given = self._n_lost = self._n_flawed = 0

    def samples(self) -> Generator[Sample]:
        with self.source, self._runs:
            for picture in self._pictures():
                yield from self._sampled(picture)
            yield from self._stand_ins(2**62)
            timeline = self._finished_timeline()
        self.shots = self._finder.finish(timeline, self.source)
        self.timeline = timeline

    def _pictures(self) -> Iterator[Picture]:
        for packet in self.source.packets():
            for due in self._schedule.add(packet):
                yield from self._runs.add(due)
        for due in self._schedule.finish():
            yield from self._runs.add(due)
        yield from self._runs.finish()

    def _glimpsed(self, pts: int, values: UInt8Array) -> None:
        self._finder.add(self._builder.index_of(pts), self._time_s(pts), values, after_calm=pts in self._schedule.calm)

    def _sampled(self, picture: Picture) -> Iterator[Sample]:
        if self._given_pts is not None and picture.pts <= self._given_pts:
            return
        yield from self._stand_ins(picture.pts)
        coming = self._schedule.sampled
        if coming and coming[0][0] == picture.pts:
            coming.popleft()
            yield self._sample(picture)
        elif self._n_lost and self._given_pts is None:
            yield self._sample(picture)  # for a start that was lost
        self._last = picture

    def _stand_ins(self, before_pts: int) -> Iterator[Sample]:
        """Frames that should have come by now never will; the last decoded one stands in for them."""
        coming = self._schedule.sampled
        while coming and coming[0][0] < before_pts:
            coming.popleft()
            self._n_lost += 1
            last = self._last
            if last is not None and (self._given_pts is None or last.pts > self._given_pts):
                yield self._sample(last)

    def _sample(self, picture: Picture) -> Sample:
        self._given_pts = picture.pts
        self._n_given += 1
        self._n_flawed += picture.is_corrupt
        return Sample(self._builder.index_of(picture.pts), self._time_s(picture.pts), picture.image)

    def _time_s(self, pts: int) -> float:
        return float((pts - self._builder.first_pts) * self.source.time_base)

    def _finished_timeline(self) -> Timeline:
        if not self._n_given:
            raise VideoError(
                self.source.path, "none of its frames can be decoded", "check that the file plays elsewhere"
            )
        timeline = self._builder.timeline(self._losses())
        if self._keyframes_only and timeline.keyframe_interval_s > SPARSE_KEYFRAMES_S:
            sparse = f"key frames are {timeline.keyframe_interval_s:.1f} s apart; what is between is not seen"
            timeline = replace(timeline, warnings=(*timeline.warnings, sparse))
        return timeline

    def _losses(self) -> list[str]:
        losses = []
        n_undecodable, where = self._runs.undecodable
        if n_undecodable:
            at = "" if where is None else f", the first at {self._time_s(where):.1f} s"
            losses.append(f"{n_undecodable} packets are damaged and could not be decoded{at}")
        if self._n_lost:
            losses.append(f"{self._n_lost} sampled frames could not be decoded; the nearest ones stand in for them")
        if self._n_flawed:
            losses.append(f"{self._n_flawed} sampled frames show traces of damage")
        return losses
