"""Final Cut Pro 7's XML (xmeml), for Premiere Pro and DaVinci Resolve.

Written by hand: OpenTimelineIO's adapter (1.0) leaves the clips of sound empty where they are those of the picture, and
links none.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from vastsum.export.cutlist import Cut, CutList
from vastsum.export.xml import child, write_xml
from vastsum.summary import Summary


def write_premiere(summary: Summary, destination: Path, *, relative_media: bool = False) -> list[str]:
    """Write a sequence of one track of pictures and one for each channel of sound, their clips linked."""
    cuts = CutList.of(summary, destination, relative_media=relative_media)
    root = Element("xmeml", version="4")
    sequence = child(root, "sequence", id="sequence")
    child(sequence, "name", cuts.title)
    child(sequence, "duration", cuts.duration)
    _rate(sequence, cuts)
    _timecode(sequence, cuts, 0)
    media = child(sequence, "media")
    video, audio = child(media, "video"), child(media, "audio")
    _picture_format(child(video, "format"), cuts)
    for channel, parent in enumerate([video] + [audio] * cuts.n_channels):
        track = child(parent, "track")
        for n, cut in enumerate(cuts.cuts):
            _clip(track, cuts, cut, n, channel)
    if cuts.note:
        _marker(sequence, cuts.note, 0)
    write_xml(root, destination, "xmeml")
    return cuts.notes


def _clip(track: Element, cuts: CutList, cut: Cut, n: int, channel: int) -> None:
    """Channel 0 is the picture."""
    item = child(track, "clipitem", id=_clip_id(n, channel))
    child(item, "name", cuts.name)
    child(item, "duration", cuts.n_frames)
    _rate(item, cuts)
    times = {"start": cut.record, "end": cut.record + cut.n_frames, "in": cut.start, "out": cut.stop}
    for tag, frame in times.items():
        child(item, tag, frame)
    file = child(item, "file", id="media")
    if n == channel == 0:  # the others refer to it
        _describe(file, cuts)
    if channel:
        source = child(item, "sourcetrack")
        child(source, "mediatype", "audio")
        child(source, "trackindex", channel)
    else:
        _marker(item, cut.label, cut.start)
    for other in range(cuts.n_channels + 1) if cuts.n_channels else ():
        link = child(item, "link")
        child(link, "linkclipref", _clip_id(n, other))
        child(link, "mediatype", "audio" if other else "video")
        child(link, "trackindex", max(other, 1))
        child(link, "clipindex", n + 1)


def _clip_id(n: int, channel: int) -> str:
    return f"clip-{n + 1}-{channel}"


def _describe(file: Element, cuts: CutList) -> None:
    child(file, "name", cuts.name)
    child(file, "pathurl", cuts.url.replace("file:///", "file://localhost/"))  # as these programs write it
    _rate(file, cuts)
    child(file, "duration", cuts.n_frames)
    _timecode(file, cuts, cuts.first)
    media = child(file, "media")
    _picture_format(child(media, "video"), cuts)
    if cuts.n_channels:
        audio = child(media, "audio")
        child(child(audio, "samplecharacteristics"), "samplerate", cuts.audio_rate)
        child(audio, "channelcount", cuts.n_channels)


def _picture_format(parent: Element, cuts: CutList) -> None:
    looks = child(parent, "samplecharacteristics")
    _rate(looks, cuts)
    for tag, value in zip(("width", "height", "pixelaspectratio"), (*cuts.size, "square"), strict=True):
        child(looks, tag, value)


def _rate(parent: Element, cuts: CutList) -> None:
    rate = child(parent, "rate")
    child(rate, "timebase", cuts.clock.base)
    child(rate, "ntsc", "TRUE" if cuts.clock.rate.denominator != 1 else "FALSE")


def _timecode(parent: Element, cuts: CutList, frame: int) -> None:
    timecode = child(parent, "timecode")
    _rate(timecode, cuts)
    child(timecode, "string", cuts.timecode(frame))
    child(timecode, "frame", frame)
    child(timecode, "displayformat", "DF" if cuts.drop_frame else "NDF")


def _marker(parent: Element, text: str, frame: int) -> None:
    marker = child(parent, "marker")
    for tag, value in {"name": text, "in": frame, "out": -1}.items():
        child(marker, tag, value)
