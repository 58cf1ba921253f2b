"""Decode a video's runs side by side: what lies between two pictures across which nothing refers.

One thread a run wastes less than the many threads a frame that FFmpeg offers (8 % of the CPU time on h264 at 720p), and
keeps any number of cores busy. But it needs files with such pictures in them, a few seconds apart.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from av.error import FFmpegError
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from vastsum.video.closing import Closing
from vastsum.video.glimpse import glimpse
from vastsum.video.schedule import Waiting
from vastsum.video.source import Source, UInt8Array
from vastsum.video.upright import picture

_BATCH_PACKETS = 32
_MAX_AHEAD_PACKETS = 512  # for each worker
_MAX_AHEAD_BYTES = 64 * 2**20  # in all, of packets and of the pictures that come of them
_RUNS_TO_BE_SURE = 4
_LONGEST_RUN_PACKETS = 320  # on average; x264 makes 250 of them if left alone


@dataclass(frozen=True, eq=False, slots=True)
class Picture:
    """What is kept of a decoded frame."""

    pts: int
    image: UInt8Array  # (height, width, 3)
    is_corrupt: bool


Glimpsed = Callable[[int, UInt8Array], None]
_Decoded = tuple[list[Picture], list[tuple[int, UInt8Array]]]  # pictures; and of all frames, PTS and glimpses


class Runs(Closing):
    """Takes packets in decoding order and gives the pictures of the wanted frames in order of presentation.

    Where a wanted frame is lost, the frames before and after it come instead; and so does the last frame of each run,
    since the next may begin with a loss. With `keyframes_only` each packet is a run of its own. `glimpsed` is
    called with every decoded frame, in the same order.
    """

    def __init__(
        self, source: Source, size: tuple[int, int], glimpsed: Glimpsed, *, keyframes_only: bool, decode_all: bool
    ) -> None:
        self._source = source
        self._size = size
        self._keyframes_only = keyframes_only
        self._decode_all = decode_all
        self._n_side_by_side = source.n_decoders
        # At first one decoder with many threads a frame, which is the better way where runs are long.
        self._workers = [_Worker(source, size, decode_all)]
        self._turn = 0
        self._n_runs = self._n_packets = 0
        self._batch: list[Waiting] = []
        self._ahead = _Ahead(glimpsed)

    def add(self, waiting: Waiting) -> Iterator[Picture]:
        """Take in one packet; give what is decoded by now."""
        if waiting.packet.has_sidedata("new_extradata"):
            self._n_side_by_side = 1  # only who has seen it can decode on
        if self._keyframes_only or self._source.refers_to_nothing_before(waiting.packet):
            self._next_run()
        self._n_packets += 1
        self._batch.append(waiting)
        if len(self._batch) >= _BATCH_PACKETS:
            self._submit(ends_run=False)
        yield from self._ahead.surplus(_MAX_AHEAD_PACKETS * len(self._workers))

    def finish(self) -> Iterator[Picture]:
        """What is left when there are no more packets."""
        self._submit(ends_run=True)
        yield from self._ahead.surplus(0)

    @property
    def undecodable(self) -> tuple[int, int | None]:
        """How many packets could not be decoded, and the first one's PTS."""
        sources = [worker.source for worker in self._workers]
        places = [source.damaged_pts for source in sources if source.damaged_pts is not None]
        return sum(source.n_undecodable for source in sources), min(places, default=None)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()

    def _next_run(self) -> None:
        self._n_runs += 1
        if len(self._workers) == 1 and self._is_worth_more_workers():
            another = (self._source.for_one_thread() for _ in range(self._n_side_by_side))
            self._workers += [_Worker(source, self._size, self._decode_all) for source in another]
        if self._keyframes_only or len(self._workers) > 1:
            self._submit(ends_run=True)
        if len(self._workers) > 1 and self._n_side_by_side > 1:
            self._turn = self._turn % self._n_side_by_side + 1

    def _is_worth_more_workers(self) -> bool:
        short = self._n_packets < self._n_runs * _LONGEST_RUN_PACKETS
        return self._n_side_by_side > 1 and self._n_runs > _RUNS_TO_BE_SURE and short

    def _submit(self, ends_run: bool) -> None:
        batch, self._batch = self._batch, []
        width, height = self._size
        n_bytes = sum(waiting.packet.size + waiting.sampled * width * height * 3 for waiting in batch)
        self._ahead.put(self._workers[self._turn].submit(batch, ends_run), len(batch), n_bytes)


@dataclass
class _Ahead:
    """Batches under way, in order."""

    glimpsed: Glimpsed
    batches: deque[tuple[Future[_Decoded], int, int]] = field(default_factory=deque)
    n_packets: int = 0
    n_bytes: int = 0

    def put(self, future: Future[_Decoded], n_packets: int, n_bytes: int) -> None:
        self.batches.append((future, n_packets, n_bytes))
        self.n_packets += n_packets
        self.n_bytes += n_bytes

    def surplus(self, max_packets: int) -> Iterator[Picture]:
        """Whatever is done, and where too much is under way, whatever has to be waited for."""
        while self.batches and (
            self.n_packets >= max_packets or self.n_bytes > _MAX_AHEAD_BYTES or self.batches[0][0].done()
        ):
            future, n_packets, n_bytes = self.batches.popleft()
            self.n_packets -= n_packets
            self.n_bytes -= n_bytes
            pictures, glimpses = future.result()
            for pts, values in glimpses:
                self.glimpsed(pts, values)
            yield from pictures


class _Worker(Closing):
    """A decoder in a thread of its own."""

    def __init__(self, source: Source, size: tuple[int, int], decode_all: bool) -> None:
        self.source = source
        self._size = size
        self._decode_all = decode_all
        self._scaler = VideoReformatter()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="vastsum-decode")
        self._wanted: list[int] = []  # heap of PTS
        self._unseen: VideoFrame | None = None  # the last frame, unless its picture was given
        self._glimpses: list[tuple[int, UInt8Array]] = []  # of the batch

    def submit(self, batch: Sequence[Waiting], ends_run: bool) -> Future[_Decoded]:
        return self._pool.submit(self._decoded, batch, ends_run)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)
        self._unseen = None
        self.source.close()

    def _decoded(self, batch: Sequence[Waiting], ends_run: bool) -> _Decoded:
        self._glimpses = []
        return list(self._decode(batch, ends_run)), self._glimpses

    def _decode(self, batch: Sequence[Waiting], ends_run: bool) -> Iterator[Picture]:
        for waiting in batch:
            if waiting.sampled:
                heapq.heappush(self._wanted, waiting.pts)
            self.source.context.skip_frame = "DEFAULT" if waiting.in_full or self._decode_all else "NONREF"
            for frame in self.source.decode(waiting.packet):
                yield from self._pictures(frame)
        if ends_run:
            self.source.context.skip_frame = "DEFAULT"
            for frame in self.source.decode(None):
                yield from self._pictures(frame)
            self.source.context.flush_buffers()
            self._wanted.clear()
            yield from self._unseen_picture()

    def _pictures(self, frame: VideoFrame) -> Iterator[Picture]:
        assert frame.pts is not None
        values = glimpse(frame, self._scaler)
        if values is not None:
            self._glimpses.append((frame.pts, values))
        lost = False
        while self._wanted and self._wanted[0] < frame.pts:
            heapq.heappop(self._wanted)
            lost = True
        if lost:
            yield from self._unseen_picture()
        self._unseen = frame
        wanted = bool(self._wanted) and self._wanted[0] == frame.pts
        if wanted:
            heapq.heappop(self._wanted)
        if lost or wanted:
            yield from self._unseen_picture()

    def _unseen_picture(self) -> Iterator[Picture]:
        frame, self._unseen = self._unseen, None
        if frame is not None and frame.pts is not None:
            try:
                image = picture(frame, self.source.orientation(frame), self._size, self._scaler)
            except FFmpegError:  # as good as not decoded
                self.source.remember_damage(frame.pts)
                return
            yield Picture(frame.pts, image, frame.is_corrupt)
