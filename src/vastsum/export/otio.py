"""OpenTimelineIO: the summary as a timeline of clips that refer to the original video."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vastsum.export.cutlist import Cut, CutList
from vastsum.export.timecode import FrameClock
from vastsum.files import write_json
from vastsum.summary import Summary

Json = dict[str, Any]


def write_otio(summary: Summary, destination: Path, *, relative_media: bool = False) -> list[str]:
    """Write a timeline with a video track and, where the video has sound, an audio track of the same clips.

    Each clip carries its importance, uncertainty and chance as metadata under "vastsum", and each of the video track
    a marker. Schema versions are the oldest in use, which every reader knows and newer ones upgrade.
    """
    cuts = CutList.of(summary, destination, relative_media=relative_media)
    write_json(destination, _timeline(summary, cuts))
    return cuts.notes


def _timeline(summary: Summary, cuts: CutList) -> Json:
    kinds = ["Video", "Audio"] if cuts.n_channels else ["Video"]
    made = {
        "scorer": summary.model.scorer,
        "backbone": summary.model.backbone,
        "budget": summary.budget.fraction,
        "note": cuts.note,
    }
    return {
        "OTIO_SCHEMA": "Timeline.1",
        "name": cuts.title,
        "global_start_time": _time(0, cuts.clock),
        "tracks": {
            "OTIO_SCHEMA": "Stack.1",
            "name": "tracks",
            "source_range": None,
            "effects": [],
            "markers": [],
            "metadata": {},
            "children": [_track(cuts, kind) for kind in kinds],
        },
        "metadata": {"vastsum": made},
    }


def _track(cuts: CutList, kind: str) -> Json:
    return {
        "OTIO_SCHEMA": "Track.1",
        "name": kind,
        "kind": kind,
        "source_range": None,
        "effects": [],
        "markers": [],
        "metadata": {},
        "children": [_clip(cuts, cut, marked=kind == "Video") for cut in cuts.cuts],
    }


def _clip(cuts: CutList, cut: Cut, *, marked: bool) -> Json:
    judged = {name: getattr(cut.piece, name) for name in ("importance", "uncertainty", "chance")}
    start = cuts.first + cut.start
    marker = {
        "OTIO_SCHEMA": "Marker.2",
        "name": cut.label,
        "color": "GREEN",
        "marked_range": _range(start, 1, cuts.clock),
        "metadata": {},
    }
    return {
        "OTIO_SCHEMA": "Clip.1",
        "name": cuts.name,
        "source_range": _range(start, cut.n_frames, cuts.clock),
        "media_reference": {
            "OTIO_SCHEMA": "ExternalReference.1",
            "name": cuts.name,
            "target_url": cuts.url,
            "available_range": _range(cuts.first, cuts.n_frames, cuts.clock),
            "metadata": {},
        },
        "effects": [],
        "markers": [marker] if marked else [],
        "metadata": {"vastsum": judged},
    }


def _range(start: int, n_frames: int, clock: FrameClock) -> Json:
    return {
        "OTIO_SCHEMA": "TimeRange.1",
        "start_time": _time(start, clock),
        "duration": _time(n_frames, clock),
    }


def _time(frame: int, clock: FrameClock) -> Json:
    return {"OTIO_SCHEMA": "RationalTime.1", "rate": float(clock.rate), "value": float(frame)}
