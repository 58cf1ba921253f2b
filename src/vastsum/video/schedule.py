"""Which frames of a video are sampled, and which packets must be decoded for that."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import median
from typing import Protocol

from vastsum.video.source import VideoPacket, is_shown
from vastsum.video.timeline import TimelineBuilder

_MAX_WAITING_PACKETS = 512
_MAX_WAITING_BYTES = 32 * 2**20
_SURPRISING_SIZE, _LEAST_SIZE = 2.5, 0.15  # times the usual, and times the key frame's
_LONG_GROUP = 200
_CALM_PART = 0.5  # of a key frame's size: in fewer bytes, packets before it cannot have brought a new picture


class Chooser(Protocol):
    def wants(self, index: int, since: int, until: int) -> bool:
        """Whether to sample a frame that is on screen from `since` until `until`, counted from the first frame."""


@dataclass(frozen=True)
class EveryNth:
    n: int

    def wants(self, index: int, since: int, until: int) -> bool:
        return index % self.n == 0


class OnScreenAt:
    """The frame on screen at each multiple of 1 / fps."""

    def __init__(self, fps: float, time_base: Fraction) -> None:
        # In whole numbers: a float would put samples that fall on a frame's very start on the frame before.
        step = 1 / (Fraction(fps).limit_denominator(1_000_000) * time_base)
        self._step, self._unit = step.numerator, step.denominator

    def wants(self, index: int, since: int, until: int) -> bool:
        next_sample = -(-since * self._unit // self._step) * self._step
        return next_sample < until * self._unit


@dataclass(slots=True)
class Waiting:
    """A packet held back until it is clear what depends on it."""

    packet: VideoPacket
    pts: int
    shown: bool
    sampled: bool = False
    telling: bool = False  # of a cut: to be decoded, though not sampled

    @property
    def in_full(self) -> bool:
        return self.sampled or self.telling


class Surprises:
    """Guesses from sizes of packets alone which frames lie around a cut, so that they are decoded, too.

    What is new cannot be predicted: the first packet that reaches over a cut is large, or a key frame off the beat.
    Frames shown before it, but decoded after it, tell where between the cut lies.
    """

    def __init__(self) -> None:
        self._sizes: deque[int] = deque(maxlen=9)  # of packets that are shown later than all before
        self._keyframe_size = 0
        self._latest_pts = self._telling_until = -(2**62)
        self._n_since_keyframe, self._beat = 0, 1  # in packets

    def tells(self, waiting: Waiting) -> bool:
        packet, pts = waiting.packet, waiting.pts
        self._n_since_keyframe += waiting.shown
        if pts <= self._latest_pts or not waiting.shown:
            return pts < self._telling_until
        self._latest_pts = pts
        surprising = self._is_early_keyframe() if packet.is_keyframe else self._is_large(packet.size)
        if packet.is_keyframe:
            self._keyframe_size = packet.size
            self._beat = max(self._beat, self._n_since_keyframe)
            self._n_since_keyframe = 0
        else:
            self._sizes.append(packet.size)
        self._telling_until = pts if surprising else -(2**62)
        return surprising

    def _is_early_keyframe(self) -> bool:
        """Or one after so many frames that the few before it hardly count."""
        n = self._n_since_keyframe
        return abs(n - self._beat) > max(1, 0.02 * self._beat) or n >= _LONG_GROUP

    def _is_large(self, size: int) -> bool:
        usual = median(self._sizes) if len(self._sizes) > 2 else size
        return size > max(_SURPRISING_SIZE * usual, _LEAST_SIZE * self._keyframe_size)


class Schedule:
    """Looks a little ahead in the packets, and gives those to decode.

    A packet is left out when neither a sampled frame nor one that tells of a cut follows it, in decoding order, before
    the next key frame, where decoding starts afresh. Leading frames, which are decoded after that key frame but shown
    before it, may still depend on what came before, so packets before a key frame wait until the first frame shown
    after it.
    """

    def __init__(
        self, builder: TimelineBuilder, chooser: Chooser, *, keyframes_only: bool = False, decode_all: bool = False
    ) -> None:
        self.sampled: deque[tuple[int, int]] = deque()  # (PTS, index) of the frames to sample, in order
        self.calm: set[int] = set()  # PTS of key frames: what was left out before each looks as the last decoded frame
        self._builder = builder
        self._chooser = chooser
        self._keyframes_only = keyframes_only
        self._decode_all = decode_all
        self._keyframe_pts: set[int] = set()
        self._first_pts: int | None = None
        self._candidate: tuple[int, int] | None = None  # (index, PTS) of a frame whose end on screen is not yet known
        self._judged_pts = -(2**62)
        self._wanted: set[int] = set()
        self._window: list[Waiting] = []
        self._window_bytes = 0
        self._surprises = Surprises()
        self._n_judged = 0  # of the packets in the window
        self._restart: int | None = None  # a key frame in the window whose leading frames may not all be judged

    def add(self, packet: VideoPacket) -> Iterator[Waiting]:
        """Take in one packet; give those that are due for decoding."""
        pts = packet.pts
        assert pts is not None
        shown = is_shown(packet)
        if packet.is_keyframe or not self._keyframes_only:
            waiting = Waiting(packet, pts, shown)
            waiting.telling = not self._keyframes_only and self._surprises.tells(waiting)
            self._window.append(waiting)
            self._window_bytes += packet.size
        if self._keyframes_only and packet.is_keyframe and shown:
            self._keyframe_pts.add(pts)
        for index, settled_pts in self._builder.add(packet):
            self._judge_before(index, settled_pts)
        yield from self._due()

    def finish(self) -> Iterator[Waiting]:
        """What is still due when no packet is left."""
        for index, settled_pts in self._builder.finish():
            self._judge_before(index, settled_pts)
        if self._candidate is not None:
            self._judge(self._candidate[1] + self._builder.last_frame_duration())
        self._judged_pts = 2**62
        yield from self._due()
        yield from self._start_afresh()

    def _judge_before(self, index: int, pts: int) -> None:
        """A frame has found its place; that tells until when the one before it is on screen."""
        if self._first_pts is None:
            self._first_pts = pts
        if self._keyframes_only:
            if pts not in self._keyframe_pts:
                return
            self._keyframe_pts.remove(pts)
        self._judge(pts)
        self._candidate = (index, pts)

    def _judge(self, until_pts: int) -> None:
        if self._candidate is None or self._first_pts is None:
            return
        index, pts = self._candidate
        if self._chooser.wants(index, pts - self._first_pts, until_pts - self._first_pts):
            self.sampled.append((pts, index))
            self._wanted.add(pts)
        self._judged_pts = pts

    def _due(self) -> Iterator[Waiting]:
        while self._n_judged < len(self._window):
            waiting = self._window[self._n_judged]
            if waiting.shown and waiting.pts > self._judged_pts:
                break
            self._n_judged += 1
            if waiting.shown and waiting.pts in self._wanted:
                self._wanted.remove(waiting.pts)
                waiting.sampled = True
            yield from self._due_after(waiting)
        if len(self._window) > _MAX_WAITING_PACKETS or self._window_bytes > _MAX_WAITING_BYTES:
            yield from self._take(self._n_judged)

    def _due_after(self, judged: Waiting) -> Iterator[Waiting]:
        """What becomes due, or superfluous, now that one more packet is judged."""
        if self._decode_all:
            yield from self._take(self._n_judged)
        elif self._keyframes_only:
            yield from [waiting for waiting in self._take(self._n_judged) if waiting.sampled]
        elif judged.packet.is_keyframe:
            yield from self._start_afresh()
            self._restart = self._n_judged - 1
        else:
            if self._restart is not None and judged.pts > self._window[self._restart].pts:
                yield from self._start_afresh()
            if judged.in_full:
                yield from self._take(self._n_judged)

    def _start_afresh(self) -> Iterator[Waiting]:
        """Nothing wanted depends on what is before the last key frame: leave it out."""
        if self._restart is None:
            return
        keyframe = self._window[self._restart]
        calm = self._is_calm_before(keyframe)
        if keyframe.telling and not calm:
            yield from self._take(self._restart + 1)
            return
        if calm:
            self.calm.add(keyframe.pts)
        self._take(self._restart)
        if keyframe.in_full:
            yield from self._take(1)
        self._restart = None

    def _is_calm_before(self, keyframe: Waiting) -> bool:
        """Whether a cut just before this key frame is at it. Small frames decoded after it, but shown before, may lie
        on either side of one."""
        before = sum(waiting.packet.size for waiting in self._window[: self._restart])
        leading = any(waiting.pts < keyframe.pts for waiting in self._window[self._restart :])
        return not leading and before < _CALM_PART * keyframe.packet.size

    def _take(self, n: int) -> list[Waiting]:
        taken = self._window[:n]
        del self._window[:n]
        self._window_bytes -= sum(waiting.packet.size for waiting in taken)
        self._n_judged -= n
        self._restart = None
        return taken
