"""FCPXML, for Final Cut Pro and DaVinci Resolve.

Written by hand: OpenTimelineIO's adapter (1.0) knows no rate but whole ones (at 23.976 it fails), and puts sound into
clips of its own, which are not linked. Version 1.8 is the last that the adapter reads, and all of its readers still do.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from vastsum.export.cutlist import CutList
from vastsum.export.xml import child, write_xml
from vastsum.summary import Summary


def write_fcpxml(summary: Summary, destination: Path, *, relative_media: bool = False) -> list[str]:
    """Write a project of clips that hold picture and sound together, each with a marker that says how likely it is."""
    cuts = CutList.of(summary, destination, relative_media=relative_media)
    root = Element("fcpxml", version="1.8")
    _resources(root, cuts)
    event = child(child(root, "library"), "event", name="VASTSum")
    shown = {"tcFormat": "DF" if cuts.drop_frame else "NDF"}
    project = child(event, "project", name=cuts.title)
    sequence = child(project, "sequence", format="video", duration=_time(cuts, cuts.duration), tcStart="0s", **shown)
    if cuts.note:
        child(sequence, "note", cuts.note)
    spine = child(sequence, "spine")
    for cut in cuts.cuts:
        times = {"offset": cut.record, "start": cuts.first + cut.start, "duration": cut.n_frames}
        its_times = {name: _time(cuts, frames) for name, frames in times.items()}
        clip = child(spine, "asset-clip", ref="media", name=cuts.name, **its_times, **shown)
        child(clip, "marker", start=its_times["start"], duration=_time(cuts, 1), value=cut.label)
    write_xml(root, destination, "fcpxml")
    return cuts.notes


def _resources(root: Element, cuts: CutList) -> None:
    resources, (width, height) = child(root, "resources"), cuts.size
    child(resources, "format", id="video", frameDuration=_time(cuts, 1), width=width, height=height)
    times = {"start": _time(cuts, cuts.first), "duration": _time(cuts, cuts.n_frames)}
    has = {"hasVideo": 1, "format": "video"}
    if cuts.n_channels:
        has |= {"hasAudio": 1, "audioSources": 1, "audioChannels": cuts.n_channels, "audioRate": cuts.audio_rate}
    child(resources, "asset", id="media", name=cuts.name, src=cuts.url, **times, **has)


def _time(cuts: CutList, n_frames: int) -> str:
    """In seconds, as a fraction: Final Cut takes no time but whole multiples of a frame's."""
    rate = cuts.clock.rate
    return f"{n_frames * rate.denominator}/{rate.numerator}s"
