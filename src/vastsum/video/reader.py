"""Frames of chosen stretches of a video: sought, not read through."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
from av.video.frame import VideoFrame

from vastsum.video.seek import packets_from_keyframe
from vastsum.video.source import Source, VideoPacket
from vastsum.video.timeline import Timeline

FrameRange = tuple[int, int]  # first and last frame index, both included


class FrameReader:
    """Decodes ranges of frames, given in order: from the key frame before each, or on from the last range."""

    def __init__(self, source: Source, timeline: Timeline, ranges: Sequence[FrameRange]) -> None:
        self._source = source
        self._timeline = timeline
        bounds = [(int(timeline.pts[first]), int(timeline.pts[last])) for first, last in ranges]
        self._firsts, self._lasts = np.array(bounds, np.int64).T
        self._packets: Iterator[VideoPacket] | None = None
        self._read_pts = -(2**62)
        self._ready: deque[VideoFrame] = deque()

    def frames(self, first: int, last: int) -> Iterator[VideoFrame]:
        """The frames of one range that can be decoded, in order of presentation."""
        first_pts, last_pts = int(self._timeline.pts[first]), int(self._timeline.pts[last])
        self._go_to(first)
        given_pts = first_pts - 1
        while True:
            while self._ready:
                if (self._ready[0].pts or 0) > last_pts:
                    return
                frame = self._ready.popleft()
                if frame.pts is not None and frame.pts > given_pts:
                    given_pts = frame.pts
                    yield frame
            if not self._decode_next():
                return

    def _go_to(self, frame: int) -> None:
        keyframe_pts = int(self._timeline.pts[self._timeline.keyframe_before(frame)])
        if self._packets is not None and (self._source.untimed or keyframe_pts <= self._read_pts):
            return  # it is cheaper to decode on
        self._ready.clear()
        if self._source.untimed:
            self._packets = self._source.packets()
        else:
            self._packets = packets_from_keyframe(self._source, self._timeline, frame)

    def _decode_next(self) -> bool:
        if self._packets is None:
            return False
        packet = next(self._packets, None)
        self._decode(packet)
        if packet is None:
            self._packets = iter(())
        return packet is not None or bool(self._ready)

    def _decode(self, packet: VideoPacket | None) -> None:
        if packet is not None and packet.pts is not None:
            self._read_pts = max(self._read_pts, packet.pts)
            needed = self._source.untimed or self._is_in_a_range(packet.pts)
            self._source.context.skip_frame = "DEFAULT" if needed else "NONREF"
        self._ready.extend(self._source.decode(packet))

    def _is_in_a_range(self, pts: int) -> bool:
        rank = int(np.searchsorted(self._firsts, pts, side="right")) - 1
        return rank >= 0 and pts <= self._lasts[rank]
