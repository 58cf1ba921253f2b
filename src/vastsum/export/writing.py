"""All the files that are asked of one summary: where they go, and writing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import numpy as np

from vastsum.export.formats import FORMATS
from vastsum.export.mp4 import write_mp4
from vastsum.summary import Summary
from vastsum.types import Progress
from vastsum.video import copy_suffix
from vastsum.video.seek import can_follow_anything
from vastsum.video.sound import default_audio_stream
from vastsum.video.source import Source


def targets_of(
    video: Path, folder: Path, wanted: Iterable[str], *, copy: bool, stem: str | None = None
) -> dict[str, Path]:
    """Where each format of a video's summary goes: after the video, or after `stem`.

    A copy of a video's streams may need another container than mp4.
    """
    called = video.stem if stem is None else stem
    targets = {name: folder / f"{called}{FORMATS[name].suffix}" for name in wanted}
    if copy and "mp4" in targets:
        targets["mp4"] = targets["mp4"].with_suffix(copy_suffix(video))
    return targets


def write_all(
    summary: Summary,
    targets: Mapping[str, Path],
    *,
    copy: bool = False,
    fast: bool = False,
    relative_media: bool = False,
    threads: int = 0,
    report: Progress | None = None,
) -> list[str]:
    """Write every format; gives what there is to be noted, once. `fast` copies where a copy is as good as an encoding,
    `relative_media` has files for editing programs name the video as seen from where they are.
    """
    told = report or (lambda *_: None)
    notes: list[str] = []
    for name, path in targets.items():
        told(f"writing {name}", 0, None)
        if name != "mp4":
            options = {"relative_media": relative_media} if FORMATS[name].names_media else {}
            notes += FORMATS[name].write(summary, path, **options) or ()
            continue
        write = partial(write_mp4, summary, path, threads=threads, progress=partial(told, "writing mp4"))
        written = write(copy=copy or (fast and _is_worth_copying(summary)))
        if written.n_frames > summary.n_frames and not copy:  # frames that others lean on came along
            written = write()
        notes += written.warnings
        if written.n_frames > summary.n_frames:
            notes.append(f"cut at key frames, the video is {written.duration_s:.1f} s long")
    return list(dict.fromkeys(notes))


def _is_worth_copying(summary: Summary) -> bool:
    """Whether a copy is as good as a new encoding: each range can be decoded alone, and every browser plays it."""
    timeline, starts = summary.timeline, [first for first, _ in summary.ranges]
    assert timeline is not None, "a summary just made knows its timeline"
    if not np.isin(starts, timeline.keyframes).all():
        return False
    with Source(summary.video.path, threads=1) as source:
        sound = default_audio_stream(source.container)
        return (
            not source.untimed
            and source.codec == "h264"
            and source.context.pix_fmt in {"yuv420p", "yuvj420p"}
            and (sound is None or sound.codec_context.name == "aac")
            and all(can_follow_anything(source, timeline, start) for start in starts)
        )
