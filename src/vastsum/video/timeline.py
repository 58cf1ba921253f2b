"""When each frame of a video is shown, read from the packets themselves and not from headers."""

from __future__ import annotations

import heapq
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vastsum.errors import VideoError
from vastsum.types import IntArray
from vastsum.video.source import Source, VideoPacket, is_shown

Float64Array = NDArray[np.float64]

# No codec reorders frames further than this.
_MAX_REORDERED_FRAMES = 32


@dataclass(frozen=True, eq=False)
class Timeline:
    """Presentation times of all frames. A frame's index is its rank among them; time 0 is the first frame's."""

    pts: IntArray  # (n_frames,), strictly increasing, in units of time_base
    time_base: Fraction
    last_frame_duration: int  # in units of time_base
    keyframes: IntArray  # indices of the frames that can be decoded on their own
    warnings: tuple[str, ...] = ()

    @property
    def n_frames(self) -> int:
        return len(self.pts)

    @cached_property
    def times_s(self) -> Float64Array:
        return (self.pts - self.pts[0]) * float(self.time_base)  # (n_frames,)

    @property
    def start_s(self) -> float:
        """The first frame's time on the file's own clock, which the sound shares."""
        return float(int(self.pts[0]) * self.time_base)

    @property
    def duration_s(self) -> float:
        """Until the last frame leaves the screen."""
        return float((self.end_pts - int(self.pts[0])) * self.time_base)

    @property
    def fps(self) -> float:
        return self.n_frames / self.duration_s

    @property
    def keyframe_interval_s(self) -> float:
        """The mean distance between key frames."""
        return self.duration_s / max(len(self.keyframes), 1)

    @property
    def end_pts(self) -> int:
        return int(self.pts[-1]) + self.last_frame_duration

    def pts_after(self, frame: int) -> int:
        """When the frame leaves the screen."""
        return int(self.pts[frame + 1]) if frame + 1 < self.n_frames else self.end_pts

    def index_of(self, pts: int) -> int:
        """The last frame at or before a PTS."""
        return max(int(np.searchsorted(self.pts, pts, side="right")) - 1, 0)

    def frame_at(self, time_s: float) -> int:
        """The frame on screen at a time; times outside the video give its first or last frame."""
        return int(np.clip(np.searchsorted(self.times_s, time_s, side="right") - 1, 0, self.n_frames - 1))

    def keyframe_before(self, frame: int) -> int:
        """The key frame at or before a frame, from where it can be decoded; 0 if the file names none."""
        rank = int(np.searchsorted(self.keyframes, frame, side="right")) - 1
        return int(self.keyframes[rank]) if rank >= 0 else 0


class TimelineBuilder:
    """Puts packets, which come in decoding order, in the order they are shown, as they come."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._unsettled: list[int] = []  # heap of PTS which an earlier one may still precede
        self._settled = array("q")
        self._last_packet = (-(2**62), 0)  # PTS and duration of the packet shown last
        self._keyframe_pts = array("q")
        self._reordered = False
        self._n_late = 0

    def add(self, packet: VideoPacket) -> Iterator[tuple[int, int]]:
        """Take a packet in; give the (index, PTS) that are now certain, in order."""
        pts = packet.pts
        assert pts is not None
        if not is_shown(packet):
            return
        if packet.is_keyframe:
            self._keyframe_pts.append(pts)
        self._reordered = self._reordered or pts < self._last_packet[0]
        self._last_packet = max(self._last_packet, (pts, packet.duration or 0))
        heapq.heappush(self._unsettled, pts)
        # Whatever is still to come is decoded later, hence shown later than this packet is decoded.
        while self._unsettled and (
            (packet.dts is not None and self._unsettled[0] <= packet.dts)
            or len(self._unsettled) > _MAX_REORDERED_FRAMES
        ):
            yield from self._settle()

    def finish(self) -> Iterator[tuple[int, int]]:
        """The rest, when no packet is left."""
        while self._unsettled:
            yield from self._settle()

    def _settle(self) -> Iterator[tuple[int, int]]:
        pts = heapq.heappop(self._unsettled)
        if not self._settled or pts > self._settled[-1]:
            self._settled.append(pts)
            yield len(self._settled) - 1, pts
        elif pts != self._settled[-1]:
            self._n_late += 1  # a file that breaks the rule above: those after it have their indices already

    @property
    def first_pts(self) -> int:
        return self._settled[0] if self._settled else min(self._unsettled, default=0)

    def index_of(self, pts: int) -> int:
        """The index of the last settled frame at or before `pts`."""
        return max(bisect_right(self._settled, pts) - 1, 0)

    def timeline(self, warnings: list[str]) -> Timeline:
        source = self._source
        if not self._settled:
            raise VideoError(source.path, "the video holds no frames", "check that the file plays elsewhere")
        pts = np.array(self._settled, np.int64)
        duration = self.last_frame_duration()
        length_s = float((int(pts[-1]) + duration - int(pts[0])) * source.time_base)
        return Timeline(
            pts,
            source.time_base,
            duration,
            np.flatnonzero(np.isin(pts, np.array(self._keyframe_pts, np.int64))),
            tuple(
                warnings
                + _late(self._n_late)
                + _holes(pts, source)
                + _ends_early(source, int(pts[0]), length_s)
                + _unreadable_places(source)
            ),
        )

    def last_frame_duration(self) -> int:
        if self._source.untimed:
            return 1
        usual = int(np.median(np.diff(np.array(self._settled[-1000:])))) if len(self._settled) > 1 else 0
        own = self._last_packet[1]
        # Where frames are reordered, mp4 gives the time until the next is decoded, not until it is shown.
        if self._reordered and usual > 0:
            own = min(own, usual) or usual
        return own or max(usual, 0) or max(1, round(1 / self._source.rate / self._source.time_base))


def read_timeline(path: str | os.PathLike[str]) -> Timeline:
    """Read every packet, decode none: exact, and limited only by the disk."""
    with Source(path) as source:
        builder = TimelineBuilder(source)
        for packet in source.packets():
            for _ in builder.add(packet):
                pass
        for _ in builder.finish():
            pass
        return builder.timeline([])


def promised_duration_s(source: Source) -> float | None:
    """What the header says, for a progress bar; never to be relied upon."""
    stream, container = source.stream, source.container
    if container.format.name == "avi" and stream.frames:
        return float(stream.frames / source.rate)  # its duration is reckoned from the size of the file
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    return container.duration / 1e6 if container.duration else None


def _holes(pts: IntArray, source: Source) -> list[str]:
    """Frames missing in the middle, which some formats read over without a word.

    Only a video of constant rate shows them: nearly all frames follow at the usual distance (times may be rounded to
    milliseconds, hence the slack), and a few after several times that.
    """
    steps = np.diff(pts)
    if source.untimed or len(steps) < 20:
        return []
    usual = float(np.median(steps))
    slack = max(0.1 * usual, 1.0)
    holes = steps[steps > 2 * usual + slack]
    if not len(holes) or (np.abs(steps - usual) <= slack).sum() + len(holes) < 0.98 * len(steps):
        return []
    lost = round(float((holes / usual - 1).sum()))
    return [f"{lost} frames are missing in {len(holes)} place{'s' * (len(holes) > 1)}"]


def _ends_early(source: Source, first_pts: int, length_s: float) -> list[str]:
    promised = promised_duration_s(source) or 0.0
    # Some formats count from the first frame, and some from time 0.
    end_s = length_s + max(0.0, float(first_pts * source.time_base))
    # A container's own duration is that of its longest stream, and muxers round it up generously.
    slack_s = max(0.3, 0.005 * promised) if source.stream.duration else max(0.5, 0.04 * promised)
    if source.untimed or promised <= end_s + slack_s:
        return []
    return [f"the video stops at {length_s:.1f} s of the {promised:.1f} s its header promises: cut off or damaged"]


def _late(n_frames: int) -> list[str]:
    return [f"{n_frames} frames come after others that are shown later, and are left out: damaged"] if n_frames else []


def _unreadable_places(source: Source) -> list[str]:
    return [f"{source.n_unreadable} damaged places in the file were read over"] if source.n_unreadable else []
