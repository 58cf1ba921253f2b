"""An open video file: the stream to watch, its packets, and how its frames are meant to be shown."""

from __future__ import annotations

import errno
import os
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import av
import numpy as np
from av.codec.context import ThreadType
from av.container import InputContainer
from av.error import ArgumentError, FFmpegError
from av.packet import Packet
from av.stream import Discard, Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from vastsum.errors import VideoError
from vastsum.video.closing import Closing

UInt8Array = NDArray[np.uint8]
VideoPacket: TypeAlias = "Packet[VideoStream]"

# FFmpeg opens these as if they were films: pictures, and text drawn as on a terminal.
_NOT_VIDEO_FORMATS = {"image2", "tty", "ico"}
# These name other files, or places in the network.
_PLAYLISTS = {"concat", "dash", "hls", "imf", "rtp", "rtsp", "sdp", "vobsub", "webm_dash_manifest"}
# "file:" keeps a colon in a name from being taken for a protocol; playlists may not reach the network.
# A file of a few kilobytes may hold frames that take gigabytes.
_OPENING = {"protocol_whitelist": "file", "fflags": "+genpts", "max_pixels": str(8192 * 8192)}
_PICTURE_DISPOSITIONS = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image
_NO_TIMESTAMPS = 0x80  # AVFMT_NOTIMESTAMPS
_H264_SLICES = range(1, 6)
_H264_IDR = 5
# DivX and Xvid say so where they put two frames into one packet, and then an empty packet, whose times are those of no
# frame: MPEG-4 with B-frames for AVI, which knows no other order than that of decoding.
_PACKED = re.compile(rb"\x00\x00\x01\xb2DivX\d+(?:b|Build)\d+p")
_DEFAULT_RATE = Fraction(25)
_MAX_REASONABLE_RATE = 1000
_MAX_DECODING_THREADS = 16
_MAX_THREADS_BYTES = 128 * 2**20  # each thread holds a frame of its own
_MAX_DECODERS_BYTES = 256 * 2**20  # each decoder holds all that later frames may refer to
_FRAMES_IN_DECODER = 8
_FAR_S = 60
_REPAIR = "check that the file plays elsewhere, or copy it again from where it came from"


@dataclass(frozen=True)
class Orientation:
    """How a decoded picture is turned to be shown: first transposed, then mirrored."""

    transpose: bool = False
    flip_x: bool = False
    flip_y: bool = False

    @classmethod
    def of(cls, frame: VideoFrame) -> Orientation:
        """From the display matrix, of which players honour quarter turns and mirrors only."""
        side_data: Any = frame.side_data
        matrix = side_data.get("DISPLAYMATRIX")
        if matrix is None:
            return cls()
        # A point (p, q) of the picture is shown at (a p + c q, b p + d q).
        a, b, _, c, d = (int(v) for v in np.frombuffer(bytes(matrix), np.int32)[:5])
        if abs(a) + abs(d) >= abs(b) + abs(c):
            return cls(False, a < 0, d < 0)
        return cls(True, c < 0, b < 0)

    @property
    def rotation(self) -> int:
        """Clockwise degrees; of a mirrored picture, those left after the mirroring."""
        if self.transpose:
            return 90 if self.flip_x else 270
        return 180 if self.flip_y else 0

    def shown_size(self, width: int, height: int) -> tuple[int, int]:
        return (height, width) if self.transpose else (width, height)

    def apply(self, picture: UInt8Array) -> UInt8Array:
        if self.transpose:
            picture = picture.swapaxes(0, 1)
        if self.flip_x:
            picture = picture[:, ::-1]
        if self.flip_y:
            picture = picture[::-1]
        return np.ascontiguousarray(picture)


class Source(Closing):
    """A video opened for reading. Use it in a `with` block; it belongs to one thread at a time."""

    def __init__(
        self, path: str | os.PathLike[str], *, threads: int = 0, decoder_options: dict[str, str] | None = None
    ) -> None:
        self.path = Path(path)
        self.n_unreadable = 0  # places in the file
        self.n_undecodable = 0  # packets
        self.damaged_pts: int | None = None  # the first of these
        self._n_cores = threads or available_cores()
        self._max_pixels = int(_OPENING["max_pixels"])
        self._decoder_options = {"max_pixels": _OPENING["max_pixels"], **(decoder_options or {})}
        self._n_stamped = 0
        self._orientation: Orientation | None = None
        self._attach()
        # Frames of streams without usable timestamps are counted from the start instead.
        self.untimed = _is_untimed(self.container, self.stream)
        self.rate = _plausible_rate(self.stream, self.untimed)
        self.time_base = 1 / self.rate if self.untimed else self.stream.time_base or Fraction(1, 90_000)

    def _attach(self) -> None:
        self.container = open_container(self.path)
        try:
            self.stream = _best_video_stream(self.path, self.container)
            if self.stream.width * self.stream.height > self._max_pixels:
                raise self._too_large()
        except VideoError:
            self.container.close()
            raise
        for other in self.container.streams:
            if other.index != self.stream.index:
                other.discard = Discard.all
        self.context = self.stream.codec_context
        self.codec = self.context.codec.canonical_name
        self.context.thread_type = ThreadType.AUTO
        self.context.thread_count = _thread_count(self._n_cores, self.stream)
        self.context.options = self._decoder_options
        try:
            # Now, while no frame is skipped: some decoders settle for good at opening which ones they skip.
            self.context.open(strict=False)
        except FFmpegError:
            self.container.close()
            raise VideoError(self.path, f"its {self.codec} stream cannot be decoded", _REPAIR) from None

    def close(self) -> None:
        self.container.close()

    def packets(self) -> Iterator[VideoPacket]:
        """The packets of the video stream in decoding order, read on over damaged places; each has a sane PTS."""
        held: VideoPacket | None = None
        before: int | None = None
        for packet in self._timed_packets():
            if held is not None:
                self._bring_back(held, before, packet.pts)
                before = held.pts
                yield held
            held = packet
        if held is not None:
            self._bring_back(held, before, None)
            yield held

    def _bring_back(self, packet: VideoPacket, before: int | None, after: int | None) -> None:
        """One flipped bit can send a single frame years away; a gap is only believed if the next packet agrees."""
        if before is None or packet.pts is None:
            return
        far = int(_FAR_S / self.time_base)
        if abs(packet.pts - before) > far and (after is None or abs(after - before) <= far):
            packet.pts = packet.dts = self._after(before)
            self.n_unreadable += 1

    def _timed_packets(self) -> Iterator[VideoPacket]:
        n_read = 0
        errors_in_a_row = 0
        last_pts: int | None = None
        while True:
            try:
                for packet in self.container.demux(self.stream):
                    if not packet.size:
                        return
                    errors_in_a_row = 0
                    if self.untimed:
                        packet.pts = packet.dts = n_read
                    elif packet.pts is None:
                        packet.pts = packet.dts if packet.dts is not None else self._after(last_pts)
                    last_pts = packet.pts
                    n_read += 1
                    yield packet
                return
            except (FFmpegError, IndexError):  # PyAV's, where damage makes a further stream appear
                self.n_unreadable += 1
                errors_in_a_row += 1
                if errors_in_a_row > 3:
                    return

    def _after(self, pts: int | None) -> int:
        return 0 if pts is None else pts + max(1, round(1 / self.rate / self.time_base))

    def decode(self, packet: VideoPacket | None) -> list[VideoFrame]:
        """The frames a packet completes (None: those still inside the decoder), in order of presentation.

        A damaged packet gives none, and is remembered.
        """
        try:
            frames = self.context.decode(packet)
        except FFmpegError as error:
            if isinstance(error, ArgumentError) and not self.context.width:  # refused by size, which is then forgotten
                raise self._too_large() from error
            self.remember_damage(packet.pts if packet is not None else None)
            frames = []
        if self.context.width * self.context.height > self._max_pixels:  # whatever the header says
            raise self._too_large()
        for frame in frames:
            frame.time_base = self.time_base  # missing on those that come out last
            if self.untimed:
                frame.pts = self._n_stamped
                self._n_stamped += 1
        return [frame for frame in frames if frame.pts is not None]

    def _too_large(self) -> VideoError:
        problem = f"its frames are larger than {self._max_pixels:,} pixels"
        return VideoError(self.path, problem, "if you trust the file, set VASTSUM_MAX_PIXELS to a larger number")

    def remember_damage(self, pts: int | None) -> None:
        self.n_undecodable += 1
        if self.damaged_pts is None:
            self.damaged_pts = pts

    def orientation(self, frame: VideoFrame) -> Orientation:
        """How the stream's frames are turned. Asked of the first only: PyAV keeps frames it was asked of alive."""
        if self._orientation is None:
            self._orientation = Orientation.of(frame)
        return self._orientation

    def for_one_thread(self) -> Source:
        """The same video opened once more, to be decoded in a single thread."""
        return Source(self.path, threads=1, decoder_options=self._decoder_options)

    @property
    def n_decoders(self) -> int:
        """How many decoders of this stream, of one thread each, the machine has cores and we have memory for."""
        fitting = _MAX_DECODERS_BYTES // (_FRAMES_IN_DECODER * _frame_bytes(self.stream))
        return min(self._n_cores, _MAX_DECODING_THREADS, max(fitting, 2))

    def refers_to_nothing_before(self, packet: VideoPacket) -> bool:
        """Whether neither this packet nor any after it refers to one before it; known of h264 in mp4 and its like."""
        header = self.context.extradata
        if self.codec != "h264" or not packet.is_keyframe or not header or header[0] != 1:
            return False
        return _first_slice_type(packet, n_length_bytes=(header[4] & 3) + 1) == _H264_IDR

    def seek(self, pts: int, *, backward: bool = True) -> None:
        """Go to the key frame at or before `pts` (or after it); where the file cannot, go to its start."""
        if self.untimed:
            self.rewind()
            return
        try:
            self.container.seek(pts, stream=self.stream, backward=backward)
        except FFmpegError:
            self.rewind()

    def rewind(self) -> None:
        """Start over. Reopens the file, since some formats can be read but not sought in."""
        self.container.close()
        self._attach()
        self._n_stamped = 0


def available_cores() -> int:
    """Cores this process may use, which in a container are fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _thread_count(n_cores: int, stream: VideoStream) -> int:
    """More threads than cores: one that was handed a frame to skip has nothing to do until its next turn."""
    if n_cores == 1:
        return 1
    fitting = _MAX_THREADS_BYTES // _frame_bytes(stream)
    return max(min(n_cores, _MAX_DECODING_THREADS), min(4 * n_cores, _MAX_DECODING_THREADS, fitting))


def _frame_bytes(stream: VideoStream) -> int:
    bits = stream.format.padded_bits_per_pixel if stream.format else 24
    return max(1, stream.width * stream.height * bits // 8)


def _first_slice_type(packet: VideoPacket, n_length_bytes: int) -> int | None:
    """The type of the first unit that holds a piece of the picture; each unit is preceded by its length."""
    data = memoryview(packet)
    at = 0
    while at + n_length_bytes < len(data):
        unit_type = data[at + n_length_bytes] & 0x1F
        if unit_type in _H264_SLICES:
            return unit_type
        at += n_length_bytes + int.from_bytes(data[at : at + n_length_bytes], "big")
    return None


def _check_readable(path: Path) -> None:
    try:
        if path.is_dir():
            raise VideoError(path, "this is a folder, not a video", "name a video file in it")
        if path.exists() and not path.is_file():  # opening a pipe would wait for someone to write to it
            raise VideoError(path, "this is a pipe or a device, not a video file", "save it as a file first")
        with path.open("rb") as file:
            if not file.read(1):
                raise VideoError(path, "the file is empty", _REPAIR)
    except FileNotFoundError:
        raise VideoError(path, "no such file", "check the name and the folder") from None
    except PermissionError:
        raise VideoError(path, "you may not read this file", "change its permissions or copy it") from None
    except ValueError:
        raise VideoError(path, "no file can have this name", "check it") from None
    except OSError as error:
        raise VideoError(path, f"cannot be read ({error.strerror or error})", "check the name and the disk") from None


def refuse_playlists() -> None:
    """In this process, from now on: they are not opened, so that nothing can be learnt of the files they name."""
    _OPENING["format_whitelist"] = ",".join(av.formats_available - _PLAYLISTS)


def limit_pixels(n: int) -> None:
    """In this process, from now on: videos whose frames have more are not opened."""
    _OPENING["max_pixels"] = str(n)


def open_container(path: Path) -> InputContainer:
    _check_readable(path)
    try:
        container = av.open(f"file:{path.absolute()}", options=dict(_OPENING), metadata_errors="replace")
    except FFmpegError as error:
        problem = f"not a video that can be read ({error.strerror or error})"
        if "format_whitelist" in _OPENING and error.errno == errno.EINVAL:
            problem = "a playlist of other files, or not a video that can be read"
        if _ends_before_its_index(path):
            problem = "the video is cut off: its index, which comes last, is missing"
        raise VideoError(path, problem, _REPAIR) from None
    if container.format.name in _NOT_VIDEO_FORMATS or container.format.name.endswith("_pipe"):
        container.close()
        raise VideoError(path, "this is not a video", "give a video file")
    return container


def _ends_before_its_index(path: Path) -> bool:
    """Whether this is an mp4 (a row of boxes, each with its size and name) that ends before its box "moov"."""
    file_size = path.stat().st_size
    position = 0
    with path.open("rb") as file:
        while position + 8 <= file_size:
            file.seek(position)
            size, name = struct.unpack(">I4s", file.read(8))
            if size == 1:
                size = int.from_bytes(file.read(8), "big")
            if (position == 0 and name != b"ftyp") or 0 < size < 8:
                return False
            if name == b"moov":
                return position + size > file_size
            position = position + size if size else file_size
    return position > 0


def moving_streams(container: InputContainer) -> list[VideoStream]:
    """Video streams that are no cover pictures."""
    return [s for s in container.streams.video if not s.disposition & _PICTURE_DISPOSITIONS]


def _best_video_stream(path: Path, container: InputContainer) -> VideoStream:
    moving = moving_streams(container)
    if not moving:
        what = "only a cover picture, no video stream" if container.streams.video else "no video stream"
        raise VideoError(path, what, "give a file with moving pictures")
    decodable = [s for s in moving if s.codec_context is not None]
    if not decodable:
        raise VideoError(path, "no decoder for its video codec", "convert it to h264 first")
    return max(decodable, key=lambda s: (bool(s.disposition & Disposition.default), s.width * s.height, -s.index))


def _plausible_rate(stream: VideoStream, untimed: bool) -> Fraction:
    # Without timestamps the average is a made-up 25, and the codec's own rate all there is.
    rates = (stream.average_rate, stream.guessed_rate, stream.base_rate)
    for rate in (rates[1], rates[0]) if untimed else rates:
        if rate and 0 < rate <= _MAX_REASONABLE_RATE:
            return Fraction(rate)
    return _DEFAULT_RATE


def _is_untimed(container: InputContainer, stream: VideoStream) -> bool:
    # AVI has no presentation times, and those FFmpeg makes up go wrong where these codecs reorder frames.
    reordered_in_avi = container.format.name == "avi" and stream.codec_context.name in {"h264", "hevc"}
    packed = stream.codec_context.name == "mpeg4" and _PACKED.search(stream.codec_context.extradata or b"")
    return reordered_in_avi or bool(packed) or bool(int(container.format.flags) & _NO_TIMESTAMPS)


def is_shown(packet: VideoPacket) -> bool:
    """Some packets are only there to be referred to: those outside an edit list, and VP8's hidden frames."""
    hidden = packet.stream.codec_context.name == "vp8" and not memoryview(packet)[0] & 0x10
    return not packet.is_discard and not hidden
