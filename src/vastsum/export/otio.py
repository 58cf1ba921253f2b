"""OpenTimelineIO: the summary as a timeline of clips that refer to the original video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vastsum.export.source import has_audio, shown_name, url
from vastsum.export.timecode import FrameClock
from vastsum.files import write_json
from vastsum.summary import Summary, SummarySegment

Json = dict[str, Any]


def write_otio(summary: Summary, destination: Path) -> None:
    """Write a timeline with a video track and, where the video has sound, an audio track of the same clips.

    Each clip carries its importance, uncertainty and chance as metadata under "vastsum". Schema versions
    are the oldest in use, which every reader knows and newer ones upgrade.
    """
    write_json(destination, _timeline(summary, FrameClock.of(summary)))


def _timeline(summary: Summary, clock: FrameClock) -> Json:
    kinds = ["Video", "Audio"] if has_audio(summary) else ["Video"]
    return {
        "OTIO_SCHEMA": "Timeline.1",
        "name": f"Summary of {shown_name(summary)}",
        "global_start_time": _time(0, clock),
        "tracks": {
            "OTIO_SCHEMA": "Stack.1",
            "name": "tracks",
            "source_range": None,
            "effects": [],
            "markers": [],
            "metadata": {},
            "children": [_track(summary, clock, kind) for kind in kinds],
        },
        "metadata": {
            "vastsum": {
                "scorer": summary.model.scorer,
                "backbone": summary.model.backbone,
                "budget": summary.budget.fraction,
            }
        },
    }


def _track(summary: Summary, clock: FrameClock, kind: str) -> Json:
    return {
        "OTIO_SCHEMA": "Track.1",
        "name": kind,
        "kind": kind,
        "source_range": None,
        "effects": [],
        "markers": [],
        "metadata": {},
        "children": [_clip(summary, clock, piece) for piece in summary.pieces],
    }


def _clip(summary: Summary, clock: FrameClock, segment: SummarySegment) -> Json:
    judged = {name: getattr(segment, name) for name in ("importance", "uncertainty", "chance")}
    return {
        "OTIO_SCHEMA": "Clip.1",
        "name": shown_name(summary),
        "source_range": _range(*clock.span(segment), clock),
        "media_reference": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": shown_name(summary),
            "target_url": url(summary),
            "available_range": _range(0, clock.n_frames(summary), clock),
            "metadata": {},
        },
        "effects": [],
        "markers": [],
        "metadata": {"vastsum": judged},
    }


def _range(start: int, stop: int, clock: FrameClock) -> Json:
    return {
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": _time(start, clock),
        "duration": _time(stop - start, clock),
    }


def _time(frame: int, clock: FrameClock) -> Json:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": float(clock.rate), "value": float(frame)}
