"""MLT XML, which melt plays and Shotcut edits, and the project files of Kdenlive, which are made of it.

Written by hand: OpenTimelineIO's adapter for MLT (0.3) gives URLs for paths, so that no name with a space in it is
found, and tells nothing of the size of the picture; the one for Kdenlive (0.0.3) is no longer maintained, writes every
video as one of 1080 lines, and links no sound.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from xml.etree.ElementTree import Element

from vastsum.export.cutlist import CutList
from vastsum.export.timecode import format_time
from vastsum.export.xml import child, write_xml
from vastsum.summary import Summary

_MARKER_COLOUR, _GUIDE_CATEGORY = "#008000", 0


def write_mlt(summary: Summary, destination: Path, *, relative_media: bool = False) -> list[str]:
    """Write one track of clips that hold picture and sound together, as Shotcut keeps its projects."""
    cuts = CutList.of(summary, destination, relative_media=relative_media)
    root = _document(cuts, "timeline")
    _media(root, "media", cuts)
    _black(root, "black", cuts)
    background = child(root, "playlist", id="background")
    child(background, "entry", producer="black", in_=0, out=cuts.duration - 1)
    _pieces(_playlist(root, "pieces", {"shotcut:video": 1, "shotcut:name": "V1"}), "media", cuts)
    timeline = _tractor(root, "timeline", cuts, {"shotcut": 1, "shotcut:projectNote": cuts.note})
    markers = child(timeline, "properties", name="shotcut:markers")
    for n, cut in enumerate(cuts.cuts):
        at = format_time(float(cut.record / cuts.clock.rate))
        marker = child(markers, "properties", name=n)
        _set(marker, {"text": cut.label, "start": at, "end": at, "color": _MARKER_COLOUR})
    child(timeline, "track", producer="background")
    child(timeline, "track", producer="pieces")
    _mix(timeline)
    write_xml(root, destination)
    return cuts.notes


def write_kdenlive(summary: Summary, destination: Path, *, relative_media: bool = False) -> list[str]:
    """Write the video into the bin, and a track of pictures over one of sound, their clips grouped.

    The layout is that of version 1.04, from before there were several sequences; Kdenlive brings it up to date itself.
    """
    cuts = CutList.of(summary, destination, relative_media=relative_media)
    root = _document(cuts, "main_bin")  # beside which melt plays the last tractor, as from Kdenlive's own
    of_bin: dict[str, object] = {"kdenlive:id": 2, "kdenlive:clipname": cuts.name}
    kinds = ["audio", "video"] if cuts.n_channels else ["video"]  # from the lowest track up
    _media(root, "media", cuts, of_bin)
    for kind in kinds:
        _media(root, kind, cuts, of_bin | {"set.test_image" if kind == "audio" else "set.test_audio": 1})
    _black(root, "black_track", cuts)
    child(_playlist(root, "main_bin", _bin(cuts, kinds)), "entry", producer="media", in_=0, out=cuts.n_frames - 1)
    for kind in kinds:
        is_audio: dict[str, object] = {"kdenlive:audio_track": 1} if kind == "audio" else {}
        pieces = _playlist(root, f"{kind}_pieces", is_audio)
        _pieces(pieces, kind, cuts, {"kdenlive:id": 2})
        _playlist(root, f"{kind}_mixes", is_audio)
        track = _tractor(root, f"{kind}_track", cuts, {"kdenlive:track_name": f"Summary ({kind})", **is_audio})
        for producer in (f"{kind}_pieces", f"{kind}_mixes"):
            child(track, "track", producer=producer, hide="video" if kind == "audio" else "audio")
    timeline = _tractor(root, "timeline", cuts, {})
    timeline.set("global_feed", "1")
    for producer in ("black_track", *(f"{kind}_track" for kind in kinds)):
        child(timeline, "track", producer=producer)
    if cuts.n_channels:
        _mix(timeline)
    write_xml(root, destination)
    return cuts.notes


def _document(cuts: CutList, shown: str) -> Element:
    root = Element("mlt", LC_NUMERIC="C", version="7.0.0", title=cuts.title, producer=shown)
    ratios = {"frame_rate": cuts.clock.rate.as_integer_ratio(), "sample_aspect": (1, 1), "display_aspect": cuts.size}
    terms = {
        f"{name}_{term}": n for name, ratio in ratios.items() for term, n in zip(("num", "den"), ratio, strict=True)
    }
    (width, height), looks = cuts.size, {"progressive": 1, "colorspace": 709}
    child(root, "profile", description="automatic", width=width, height=height, **terms, **looks)
    return root


def _set(parent: Element, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        child(parent, "property", value, name=name)


def _media(root: Element, name: str, cuts: CutList, more: Mapping[str, object] | None = None) -> None:
    producer = child(root, "producer", id=name, in_=0, out=cuts.n_frames - 1)
    resource = {"resource": cuts.shown_path, "mlt_service": "avformat-novalidate"}
    _set(producer, {"length": cuts.n_frames, "eof": "pause", **resource, **(more or {})})


def _black(root: Element, name: str, cuts: CutList) -> None:
    producer = child(root, "producer", id=name, in_=0, out=cuts.duration - 1)
    _set(producer, {"length": cuts.duration, "eof": "pause", "resource": "black", "mlt_service": "color"})


def _playlist(root: Element, name: str, values: Mapping[str, object]) -> Element:
    playlist = child(root, "playlist", id=name)
    _set(playlist, values)
    return playlist


def _pieces(playlist: Element, producer: str, cuts: CutList, more: Mapping[str, object] | None = None) -> None:
    for cut in cuts.cuts:
        _set(child(playlist, "entry", producer=producer, in_=cut.start, out=cut.stop - 1), more or {})


def _tractor(root: Element, name: str, cuts: CutList, values: Mapping[str, object]) -> Element:
    tractor = child(root, "tractor", id=name, in_=0, out=cuts.duration - 1)
    _set(tractor, {name: value for name, value in values.items() if value != ""})
    return tractor


def _mix(timeline: Element) -> None:
    """Have the sound of the track above the black one heard; `internal_added` is how Kdenlive knows its own."""
    service = {"mlt_service": "mix", "always_active": 1, "sum": 1, "internal_added": 237}
    _set(child(timeline, "transition"), {"a_track": 0, "b_track": 1, **service})


def _bin(cuts: CutList, kinds: list[str]) -> dict[str, object]:
    """What Kdenlive keeps of a document: guides on the timeline, and which clips move together."""
    guides = [{"comment": cut.label, "pos": cut.record, "type": _GUIDE_CATEGORY} for cut in cuts.cuts]
    groups = [
        {
            "type": "AVSplit",
            "children": [{"type": "Leaf", "leaf": "clip", "data": f"{track}:{cut.record}"} for track in range(2)],
        }
        for cut in cuts.cuts
        if len(kinds) > 1
    ]
    return {
        "kdenlive:docproperties.version": "1.04",
        "kdenlive:docproperties.guides": json.dumps(guides),
        "kdenlive:docproperties.groups": json.dumps(groups),
        "kdenlive:documentnotes": cuts.note,
        "xml_retain": 1,
    }
