"""Pictures as they are meant to be seen: turned upright, and without the combs of interlacing."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from av.error import BlockingIOError as NothingYetError
from av.error import EOFError as NoMoreError
from av.error import FFmpegError
from av.filter import Graph
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter

from vastsum.errors import VideoError
from vastsum.video.source import Orientation, Source, UInt8Array

_Kind = tuple[int, int, str, Orientation, bool]


def picture(frame: VideoFrame, orientation: Orientation, size: tuple[int, int], scaler: VideoReformatter) -> UInt8Array:
    """The frame upright, in RGB, squashed to (width, height) in one pass from whatever format it is stored in."""
    width, height = orientation.shown_size(*size)
    small = scaler.reformat(frame, width, height, "rgb24", interpolation=Interpolation.BILINEAR, threads=1)
    return orientation.apply(np.asarray(small.to_ndarray(), np.uint8))


def upright(source: Source, frames: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
    """The frames of one range, turned and deinterlaced where they need it; times stay as they are."""
    try:
        yield from _filtered(source, frames)
    except FFmpegError as error:  # of a filter: the source itself reads on over damage
        problem = f"its frames cannot be turned upright or deinterlaced ({error.strerror or error})"
        raise VideoError(source.path, problem, "check that the file plays elsewhere") from error


def _filtered(source: Source, frames: Iterator[VideoFrame]) -> Iterator[VideoFrame]:
    kind: _Kind | None = None
    graph: Graph | None = None
    interlaced = False
    for frame in frames:
        interlaced = interlaced or frame.interlaced_frame
        its_kind = (frame.width, frame.height, frame.format.name, source.orientation(frame), interlaced)
        if its_kind != kind:
            yield from _rest(graph)
            kind, graph = its_kind, _graph(frame, its_kind)
        if graph is None:
            yield frame
        else:
            graph.vpush(frame)
            yield from _pull(graph)
    yield from _rest(graph)


def _graph(frame: VideoFrame, kind: _Kind) -> Graph | None:
    width, height, _, orientation, interlaced = kind
    filters: list[tuple[str, str | None]] = []
    if interlaced:
        filters.append(("bwdif", "mode=send_frame:deint=interlaced"))
    if orientation.transpose:
        filters.append(("transpose", "dir=cclock_flip"))  # which is a plain transposition
    if orientation.flip_x:
        filters.append(("hflip", None))
    if orientation.flip_y:
        filters.append(("vflip", None))
    if not filters:
        return None
    graph = Graph()
    time_base = Fraction(frame.time_base or Fraction(1, 90_000))
    entrance = graph.add_buffer(width=width, height=height, format=frame.format, time_base=time_base)
    graph.link_nodes(entrance, *(graph.add(name, args) for name, args in filters), graph.add("buffersink"))
    graph.configure()
    return graph


def _pull(graph: Graph) -> Iterator[VideoFrame]:
    while True:
        try:
            yield graph.vpull()
        except (NothingYetError, NoMoreError):
            return


def _rest(graph: Graph | None) -> Iterator[VideoFrame]:
    if graph is not None:
        graph.vpush(None)
        yield from _pull(graph)
