"""The report: a page about one summary, in one file that opens from disk."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from vastsum.errors import VideoError
from vastsum.export.page import TIMELINE_SCRIPTS, TIMELINE_STYLES, self_contained
from vastsum.export.schema import to_dict
from vastsum.export.source import path_from, shown_name, url_from
from vastsum.export.timecode import format_length
from vastsum.files import write_text
from vastsum.summary import Summary
from vastsum.video import grab
from vastsum.video.source import UInt8Array

MAX_SEGMENT_PICTURES = 160
_EVENLY_SPACED_PICTURES = 40  # for the strip, where segments are long
_PICTURE_SIZE = (288, 216)
_JPEG_QUALITY = 70


def write_html(summary: Summary, destination: Path) -> list[str]:
    """Write the timeline, the storyboard and all that can be asked of a summary as one page.

    Pictures are embedded; where the video can no longer be read, there are none, which is noted. The video itself is
    linked to: beside the page if it is there, or else where it was.
    """
    data = _data(summary, destination)
    page = self_contained(
        title=f"{shown_name(summary)}: summary",
        body="report.html",
        styles=[*TIMELINE_STYLES, "report.css"],
        scripts=[*TIMELINE_SCRIPTS, "report.js"],
        data=data,
    )
    write_text(destination, page)
    return [] if data["thumbnails"] else [f"{destination.name} has no pictures: the video could not be read again"]


def _data(summary: Summary, destination: Path) -> dict[str, Any]:
    return {
        "summary": to_dict(summary),  # downloaded, it may be put anywhere
        "name": shown_name(summary),
        "video": url_from(summary, destination),
        "expected": str(path_from(summary, destination)),
        "download": f"{Path(shown_name(summary)).stem}.summary.json",
        "made": _facts(summary),
        "thumbnails": thumbnails(summary),
    }


def _facts(summary: Summary) -> list[tuple[str, str]]:
    video = summary.video
    return [
        ("Scorer", summary.model.scorer),
        ("Backbone", summary.model.backbone),
        ("Budget asked for", f"{summary.budget.fraction:.1%}, {format_length(summary.budget.seconds)}"),
        ("Frames looked at", f"{len(summary.picks)} ({len(summary.picks) / video.duration_s:.1f} a second)"),
        ("Segments", str(len(summary.segments))),
        ("Video", f"{video.width} × {video.height}, {video.fps:.4g} fps, {format_length(video.duration_s)}"),
    ]


def thumbnails(summary: Summary) -> list[dict[str, Any]]:
    """Pictures as data URIs with their times: of the segments, and at even distances for the rest of the strip."""
    times_s = _picture_times(summary)
    try:
        pictures = grab(summary.video.path, times_s, max_size=_PICTURE_SIZE, nearby_s=_reach_s(summary))
        return [
            {"time_s": round(time_s, 3), "src": _data_uri(picture)}
            for time_s, picture in zip(times_s, pictures, strict=True)
        ]
    except (VideoError, OSError):  # the latter from the encoder
        return []


def _picture_times(summary: Summary) -> list[float]:
    """The most important pick of each segment, or of the most important segments; then the middle of every wide gap."""
    best = sorted(summary.segments, key=lambda segment: (not segment.selected, -segment.importance))
    frames = np.array([summary.highlight(segment) for segment in best[:MAX_SEGMENT_PICTURES]])
    # Into the frame's time on screen, where rounding cannot turn it into the one before.
    times_s = np.sort(summary.times_s(frames) * 0.5 + summary.times_s(frames + 1) * 0.5)
    step_s = summary.video.duration_s / _EVENLY_SPACED_PICTURES
    even_s = (np.arange(_EVENLY_SPACED_PICTURES) + 0.5) * step_s
    lonely = np.abs(even_s[:, None] - times_s[None, :]).min(axis=1) > step_s
    return sorted(np.concatenate([times_s, even_s[lonely]]).tolist())


def _reach_s(summary: Summary) -> float:
    """How far from its time a picture may be taken, if that is cheaper: a little in short videos, more in long ones."""
    return float(np.clip(summary.video.duration_s / 1200, 0.0, 2.0))


def _data_uri(picture: UInt8Array) -> str:
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(buffer, "JPEG", quality=_JPEG_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}"
