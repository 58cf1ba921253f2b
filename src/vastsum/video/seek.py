"""Start reading a video at a key frame, and be sure that it is the right one."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from vastsum.video.source import Source, VideoPacket
from vastsum.video.timeline import Timeline

# Formats without an index are sought by guessing, which may end too late, or where timestamps are still unsure.
_RUN_UPS_S = (Fraction(0), Fraction(2), Fraction(8))


def packets_from_keyframe(source: Source, timeline: Timeline, frame: int) -> Iterator[VideoPacket]:
    """Packets from the key frame at or before a frame on; from the start of the file, where it cannot be found."""
    keyframe = timeline.keyframe_before(frame)
    keyframe_pts = int(timeline.pts[keyframe])
    if not np.any(timeline.keyframes == keyframe):
        # The file names none, as when an edit list begins between two: the seek finds the one before.
        source.seek(keyframe_pts)
        yield from source.packets()
        return
    for run_up in _RUN_UPS_S:
        source.seek(keyframe_pts - int(run_up / source.time_base))
        packets = source.packets()
        start = _find(packets, keyframe_pts)
        if start is not None:
            yield start
            yield from packets
            return
    source.rewind()
    yield from source.packets()


def can_follow_anything(source: Source, timeline: Timeline, keyframe: int) -> bool:
    """Whether nothing from this key frame on refers to what is before it in the file, so that it may be left out."""
    first = next(packets_from_keyframe(source, timeline, keyframe), None)
    return first is not None and source.refers_to_nothing_before(first)


def _find(packets: Iterator[VideoPacket], keyframe_pts: int) -> VideoPacket | None:
    for packet in packets:
        if packet.is_keyframe and packet.pts == keyframe_pts:
            return packet
        if packet.dts is not None and packet.dts > keyframe_pts:
            return None
    return None
