"""Which formats there are, and which one a file name asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vastsum.errors import ConfigError, OutputError
from vastsum.export.cover import write_cover
from vastsum.export.edl import write_edl
from vastsum.export.fcpxml import write_fcpxml
from vastsum.export.html import write_html
from vastsum.export.json import write_json
from vastsum.export.mlt import write_kdenlive, write_mlt
from vastsum.export.mp4 import write_mp4
from vastsum.export.otio import write_otio
from vastsum.export.png import write_png
from vastsum.export.premiere import write_premiere
from vastsum.export.preview import write_gif, write_webp
from vastsum.export.storyboard import write_storyboard
from vastsum.export.vtt import write_vtt
from vastsum.summary import Progress, Summary

# What a copy of the original streams may need to be stored in; encoded summaries are mp4.
_COPY_SUFFIXES = {".mkv", ".webm", ".mov"}


@dataclass(frozen=True)
class Format:
    """`suffix` is what a summary of VIDEO.mp4 is called after VIDEO; `what` is one line for a person.

    What there is to be noted of a file, such as what could not be put into it, `write` gives back. Where it
    `names_media`, it takes `relative_media` too.
    """

    suffix: str
    write: Callable[..., Sequence[str] | None]
    what: str
    names_media: bool = False

    def path_for(self, video: Path, folder: Path) -> Path:
        return folder / f"{video.stem}{self.suffix}"


def _write_mp4(summary: Summary, path: Path) -> Sequence[str]:
    return write_mp4(summary, path).warnings


FORMATS: dict[str, Format] = {
    "mp4": Format(".summary.mp4", _write_mp4, "the summary as a video with sound"),
    "json": Format(".summary.json", write_json, "scores, uncertainty, segments and what was chosen"),
    "png": Format(".summary.png", write_png, "importance over time, as a picture"),
    "storyboard": Format(".summary.storyboard.png", write_storyboard, "a picture of every chosen segment"),
    "html": Format(".summary.html", write_html, "a page to see, play and change the summary"),
    "edl": Format(".summary.edl", write_edl, "cut list for editing programs (CMX 3600)"),
    "otio": Format(".summary.otio", write_otio, "timeline for editing programs (OpenTimelineIO)", names_media=True),
    "fcpxml": Format(".summary.fcpxml", write_fcpxml, "timeline for Final Cut Pro and Resolve", names_media=True),
    "premiere": Format(".summary.xml", write_premiere, "timeline for Premiere Pro (Final Cut 7 XML)", names_media=True),
    "kdenlive": Format(".summary.kdenlive", write_kdenlive, "project for Kdenlive", names_media=True),
    "mlt": Format(".summary.mlt", write_mlt, "project for Shotcut, and melt", names_media=True),
    "vtt": Format(".summary.vtt", write_vtt, "chapters on the original video (WebVTT)"),
    "webp": Format(".summary.webp", write_webp, "a short silent preview"),
    "gif": Format(".summary.gif", write_gif, "a short silent preview, for where only GIF is shown"),
    "cover": Format(".summary.cover.jpg", write_cover, "the best still picture"),
}


def format_of(path: Path) -> str:
    """The format that a file name asks for; the longest ending counts."""
    name = path.name.lower()
    for format in ("storyboard", "cover"):
        if name.endswith(_ending(format).removeprefix(".")):
            return format
    found = next((format for format in FORMATS if path.suffix.lower() == _ending(format)), None)
    if found is None:
        *known, last = map(_ending, FORMATS)
        problem = f"no format is known by the ending '{path.suffix}'" if path.suffix else "a name without an ending"
        raise ConfigError(path, problem, f"use {', '.join(known)} or {last}, or name the format")
    return found


def _ending(format: str) -> str:
    return FORMATS[format].suffix.removeprefix(".summary")


def save(
    summary: Summary,
    path: Path,
    *,
    format: str | None = None,
    copy: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a summary to `path`, in `format` or the one its name asks for."""
    if format is not None and format not in FORMATS:
        raise ConfigError("format", f"'{format}' is not known", f"choose one of {', '.join(FORMATS)}")
    if format == "mp4" or (format is None and copy and path.suffix.lower() in _COPY_SUFFIXES):
        name = "mp4"
    else:
        name = format or format_of(path)
    with suppress(OSError):  # whoever writes says what is wrong with the name
        if path.is_file() and not overwrite:
            raise OutputError(path, "exists already", "choose another name, or replace it with overwrite=True")
    if name == "mp4":
        write_mp4(summary, path, copy=copy, progress=progress)
    elif copy:
        raise ConfigError("copy", f"only a video can be copied, not '{name}'", "leave it out, or save as .mp4")
    else:
        FORMATS[name].write(summary, path)
    return path
