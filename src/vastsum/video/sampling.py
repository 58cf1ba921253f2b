"""Frames of a video at a steady rate, as a stream: little is decoded that is not sampled, and nothing is kept."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

import numpy as np
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from vastsum.errors import ConfigError, VideoError
from vastsum.video.schedule import Chooser, EveryNth, OnScreenAt, Schedule
from vastsum.video.source import Orientation, Source, UInt8Array, VideoPacket
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

    What is traded for speed: frames that no sampled frame depends on are not decoded, which moves no sample; and
    bidirectional frames are not deblocked, which changes a sampled picture by less than one can see at this size
    (45 dB and better). Where a file marks frames as key frames which are none, pictures may show traces of others.
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
    return Samples(_Worker(source, chooser, size, keyframes_only, exact), progress)


class Samples:
    """An iterator of samples. Close it (or use `with`) when stopping early; the timeline comes after the last."""

    def __init__(self, worker: _Worker, progress: Progress | None) -> None:
        self._worker = worker
        self._progress = progress
        self._promised_s = promised_duration_s(worker.source)
        self._timeline: Timeline | None = None
        # The thread knows the worker only, so that an iterator that is dropped is collected, and decoding stops.
        self._thread = threading.Thread(target=worker.run, name="vastsum-decode", daemon=True)
        self._thread.start()

    @property
    def timeline(self) -> Timeline:
        """The times of all frames; known when the last sample has been taken."""
        if self._timeline is None:
            path = self._worker.source.path
            raise VideoError(path, "its timeline is known only after the last sample", "take all samples first")
        return self._timeline

    def __iter__(self) -> Iterator[Sample]:
        return self

    def __next__(self) -> Sample:
        if self._worker.stopped.is_set():
            raise StopIteration
        item = self._worker.results.get()
        if isinstance(item, Sample):
            if self._progress:
                self._progress(item.time_s, self._promised_s)
            return item
        self.close()
        if isinstance(item, BaseException):
            raise item
        self._timeline = item
        if self._progress:
            self._progress(item.duration_s, item.duration_s)
        raise StopIteration

    def close(self) -> None:
        """Stop decoding and let go of the file."""
        self._worker.stop()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self._worker.stop()


class _StoppedError(Exception):
    """Nobody waits for samples any more."""


class _Worker:
    """Decodes in its own thread, and hands samples over through a queue of bounded length."""

    def __init__(
        self, source: Source, chooser: Chooser, size: tuple[int, int], keyframes_only: bool, exact: bool
    ) -> None:
        self.source = source
        self.results: queue.Queue[Sample | Timeline | BaseException] = queue.Queue(_PREFETCHED_SAMPLES)
        self.stopped = threading.Event()
        self._builder = TimelineBuilder(source)
        self._decode_all = exact or source.untimed
        self._keyframes_only = keyframes_only and not source.untimed
        self._schedule = Schedule(
            self._builder, chooser, keyframes_only=self._keyframes_only, decode_all=self._decode_all
        )
        self._size = size
        self._scaler = VideoReformatter()
        self._last_frame: VideoFrame | None = None
        self._given_pts: int | None = None
        self._n_given = self._n_lost = self._n_flawed = 0

    def stop(self) -> None:
        self.stopped.set()
        with contextlib.suppress(queue.Empty):  # make room for a thread that waits to hand over
            while True:
                self.results.get_nowait()

    def run(self) -> None:
        try:
            self._hand_over(self._decode_all_samples())
        except _StoppedError:
            pass
        except BaseException as error:  # whatever it is, it belongs to whoever waits for samples
            with contextlib.suppress(_StoppedError):
                self._hand_over(error)
        finally:
            self.source.close()

    def _hand_over(self, item: Sample | Timeline | BaseException) -> None:
        while not self.stopped.is_set():
            try:
                return self.results.put(item, timeout=0.1)
            except queue.Full:
                continue
        raise _StoppedError

    def _decode_all_samples(self) -> Timeline:
        for packet in self.source.packets():
            for due in self._schedule.add(packet):
                self._decode(due.packet, due.sampled)
        for due in self._schedule.finish():
            self._decode(due.packet, due.sampled)
        self._decode(None, True)
        self._give_up_on(2**62)
        if not self._n_given:
            raise VideoError(
                self.source.path, "none of its frames can be decoded", "check that the file plays elsewhere"
            )
        timeline = self._builder.timeline(self._losses())
        if self._keyframes_only and timeline.keyframe_interval_s > SPARSE_KEYFRAMES_S:
            sparse = (
                f"key frames are {timeline.keyframe_interval_s:.1f} s apart on average; what is between is not seen"
            )
            timeline = replace(timeline, warnings=(*timeline.warnings, sparse))
        return timeline

    def _decode(self, packet: VideoPacket | None, sampled: bool) -> None:
        if self.stopped.is_set():
            raise _StoppedError
        self.source.context.skip_frame = "DEFAULT" if sampled or self._decode_all else "NONREF"
        for frame in self.source.decode(packet):
            self._take(frame)

    def _take(self, frame: VideoFrame) -> None:
        pts = frame.pts
        if pts is None or (self._given_pts is not None and pts <= self._given_pts):
            return
        self._give_up_on(pts)
        sampled = self._schedule.sampled
        if sampled and sampled[0][0] == pts:
            sampled.popleft()
            self._give(frame)
        elif self._n_lost and self._given_pts is None:
            self._give(frame)  # stands in for a start that was lost
        self._last_frame = frame

    def _give_up_on(self, before_pts: int) -> None:
        """Frames that should have come by now never will; the last decoded one stands in for them."""
        sampled = self._schedule.sampled
        while sampled and sampled[0][0] < before_pts:
            sampled.popleft()
            self._n_lost += 1
            last = self._last_frame
            if last is not None and last.pts is not None and (self._given_pts is None or last.pts > self._given_pts):
                self._give(last)

    def _give(self, frame: VideoFrame) -> None:
        assert frame.pts is not None
        self._given_pts = frame.pts
        self._n_given += 1
        self._n_flawed += frame.is_corrupt
        index = self._builder.index_of(frame.pts)
        image = picture(frame, self.source.orientation(frame), self._size, self._scaler)
        self._hand_over(Sample(index, self._time_s(frame.pts), image))

    def _time_s(self, pts: int) -> float:
        return float((pts - self._builder.first_pts) * self.source.time_base)

    def _losses(self) -> list[str]:
        losses = []
        if self.source.n_undecodable:
            at = (
                ""
                if self.source.damaged_pts is None
                else f", the first at {self._time_s(self.source.damaged_pts):.1f} s"
            )
            losses.append(f"{self.source.n_undecodable} packets are damaged and could not be decoded{at}")
        if self._n_lost:
            losses.append(f"{self._n_lost} sampled frames could not be decoded; the nearest ones stand in for them")
        if self._n_flawed:
            losses.append(f"{self._n_flawed} sampled frames show traces of damage")
        return losses


def picture(frame: VideoFrame, orientation: Orientation, size: tuple[int, int], scaler: VideoReformatter) -> UInt8Array:
    """The frame upright, in RGB, squashed to (width, height) in one pass from whatever format it is stored in."""
    width, height = orientation.shown_size(*size)
    small = scaler.reformat(frame, width, height, "rgb24", interpolation=Interpolation.BILINEAR, threads=1)
    return orientation.apply(np.asarray(small.to_ndarray(), np.uint8))
