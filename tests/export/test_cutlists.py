"""Ten clips, told to every editing program: what others read back is what was chosen, to the frame."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest
from clips import CLIPS, Clip, make, numbers_shown, summarised
from summaries import make_summary

from vastsum.export import FORMATS
from vastsum.export.cutlist import CutList
from vastsum.export.writing import write_all
from vastsum.summary import Summary

Frames = list[tuple[int, int, int]]  # of each piece: its first, how many, and its place in the summary
EDITORS = ["edl", "otio", "fcpxml", "premiere", "kdenlive", "mlt"]
NAMING = [name for name in EDITORS if FORMATS[name].names_media]
clips = pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.name)


class Written(NamedTuple):
    summary: Summary
    files: dict[str, Path]
    notes: list[str]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Clip], Written]:
    folder, known = tmp_path_factory.mktemp("clips & more"), {}

    def of(clip: Clip) -> Written:
        if clip.name not in known:
            summary = summarised(make(clip, folder))
            files = {name: FORMATS[name].path_for(summary.video.path, folder) for name in EDITORS}
            known[clip.name] = Written(summary, files, write_all(summary, files))
        return known[clip.name]

    return of


def expected(clip: Clip, summary: Summary, *, first: int = 0) -> Frames:
    """By the pieces themselves, or by time: the frames of an even rate at which nothing else is on screen.

    `first` is what the first frame of the video is called.
    """
    if clip.even:
        spans = [(piece.start_frame, piece.end_frame + 1) for piece in summary.pieces]
    else:
        assert summary.timeline is not None
        times_s = [(piece.start_s, summary.timeline.times_s[piece.end_frame]) for piece in summary.pieces]
        spans = [(ceil(start_s * 30 - 1e-6), floor(last_s * 30 + 1e-6) + 1) for start_s, last_s in times_s]
    lengths = [stop - start for start, stop in spans]
    places = itertools.accumulate(lengths, initial=0)
    return [(first + start, n, place) for (start, _), n, place in zip(spans, lengths, places, strict=False)]


def of_edl(path: Path, clip: Clip) -> Frames:
    text = path.read_text()
    assert ("FCM: DROP FRAME" in text) is clip.drop
    events = [line.split()[4:] for line in text.splitlines() if re.match(r"\d{3} ", line)]
    rows = [[frames_by_definition(code, clip) for code in event] for event in events]
    assert all(source_out - source_in == out - place for source_in, source_out, place, out in rows)
    return [(source_in, source_out - source_in, place) for source_in, source_out, place, _ in rows]


def frames_by_definition(code: str, clip: Clip) -> int:
    """Two numbers, or at 60 four, are dropped at each minute but every tenth."""
    assert (";" in code) is clip.drop
    hours, minutes, seconds, frames = map(int, re.split("[:;]", code))
    minutes += 60 * hours
    dropped = clip.base // 15 * (minutes - minutes // 10) if clip.drop else 0
    return (minutes * 60 + seconds) * clip.base + frames - dropped


def of_fcpxml(path: Path, clip: Clip) -> Frames:
    def frames(text: str | None) -> int:
        count = Fraction((text or "").removesuffix("s")) * clip.rate_told
        assert count.denominator == 1, "not at a frame's edge"
        return int(count)

    root = ElementTree.parse(path).getroot()
    (asset,) = root.iter("asset")
    assert (frames(asset.get("start")), asset.get("hasAudio") == "1") == (clip.first, clip.sound)
    assert {c.get("tcFormat") for c in root.iter("asset-clip")} == {"DF" if clip.drop else "NDF"}
    pieces = list(root.iter("asset-clip"))
    assert [frames(m.get("start")) for m in root.iter("marker")] == [frames(p.get("start")) for p in pieces]
    return [(frames(p.get("start")), frames(p.get("duration")), frames(p.get("offset"))) for p in pieces]


def of_premiere(path: Path, clip: Clip) -> Frames:
    root = ElementTree.parse(path).getroot()
    (timecode,) = root.iterfind(".//file/timecode")
    assert timecode.findtext("string") == (clip.timecode or f"00:00:00{';' if clip.drop else ':'}00")
    assert int(timecode.findtext("frame", "")) == clip.first
    assert root.findtext("sequence/rate/timebase") == str(clip.base)
    assert root.findtext("sequence/rate/ntsc") == str(clip.rate_told.denominator != 1).upper()
    found = []
    for item in root.iterfind("sequence/media/video/track/clipitem"):
        start, stop, place, end = (int(item.findtext(tag, "")) for tag in ("in", "out", "start", "end"))
        assert (end - place, int(item.findtext("marker/in", ""))) == (stop - start, start)
        found.append((clip.first + start, stop - start, place))
    return found


def of_mlt(path: Path, clip: Clip, playlist: str = "pieces") -> Frames:
    root = ElementTree.parse(path).getroot()
    profile = root.find("profile")
    assert profile is not None
    assert Fraction(int(profile.get("frame_rate_num", "")), int(profile.get("frame_rate_den", ""))) == clip.rate_told
    found, place = [], 0
    for entry in root.iterfind(f"playlist[@id='{playlist}']/entry"):
        start, n = int(entry.get("in", "")), int(entry.get("out", "")) - int(entry.get("in", "")) + 1
        found.append((clip.first + start, n, place))  # the format knows no time codes
        place += n
    return found


def of_otio(path: Path) -> Frames:
    found, place = [], 0
    for piece in json.loads(path.read_text())["tracks"]["children"][0]["children"]:
        start, n = (int(piece["source_range"][key]["value"]) for key in ("start_time", "duration"))
        assert piece["markers"][0]["marked_range"]["start_time"]["value"] == start
        found.append((start, n, place))
        place += n
    return found


@clips
def test_every_format_tells_the_frames_that_were_chosen(written: Callable[[Clip], Written], clip: Clip) -> None:
    summary, files, notes = written(clip)
    frames = expected(clip, summary, first=clip.first)
    assert len(frames) > 1
    assert of_edl(files["edl"], clip) == frames
    assert of_otio(files["otio"]) == frames
    assert of_fcpxml(files["fcpxml"], clip) == frames
    assert of_premiere(files["premiere"], clip) == frames
    assert of_mlt(files["mlt"], clip) == frames
    assert of_mlt(files["kdenlive"], clip, "video_pieces") == frames
    assert of_mlt(files["kdenlive"], clip, "audio_pieces") == (frames if clip.sound else [])
    assert len(notes) == (not clip.even), "said once, and only where there is anything to be said"


@clips
@pytest.mark.parametrize(
    ("format", "adapter"),
    [
        ("edl", "cmx_3600"),
        ("otio", "otio_json"),
        ("fcpxml", "fcpx_xml"),
        ("premiere", "fcp_xml"),
        ("kdenlive", "kdenlive"),
    ],
)
def test_opentimelineio_reads_the_same_frames(
    written: Callable[[Clip], Written], clip: Clip, format: str, adapter: str
) -> None:
    otio = pytest.importorskip("opentimelineio", reason="needs OpenTimelineIO")
    if adapter not in otio.adapters.available_adapter_names():
        pytest.skip(f"needs OpenTimelineIO's adapter {adapter}")
    if format == "fcpxml" and clip.rate_told.denominator != 1:
        pytest.skip("the adapter rounds rates down to whole ones")
    summary, files, _ = written(clip)
    options = {"rate": float(clip.rate_told)} if format == "edl" else {}
    timeline = otio.adapters.read_from_file(str(files[format]), adapter, **options)
    timeline = timeline if hasattr(timeline, "tracks") else timeline[0]
    tracks = [track for track in timeline.tracks if len(track)]
    kinds = {"otio": ["Video", "Audio"], "fcpxml": ["Video"], "kdenlive": ["Audio", "Video"]}
    with_sound = kinds.get(format, ["Video", "Audio", "Audio"])
    assert [track.kind for track in tracks] == (with_sound if clip.sound else ["Video"])
    frames = expected(clip, summary, first=clip.first if format != "kdenlive" else 0)
    for track in tracks:
        assert all(piece.source_range.duration.rate == pytest.approx(float(clip.rate_told)) for piece in track)
        assert [frames_of(piece) for piece in track] == frames
        if format != "edl":  # which names no files
            assert {file_of(piece.media_reference.target_url) for piece in track} == {summary.video.path}
    if format != "edl":
        marked = [timeline.tracks] if format == "kdenlive" else tracks[0]
        names = [marker.name for item in marked for marker in item.markers]
        assert [re.findall(r"\d+%", name) for name in names] == [[f"{p.chance:.0%}"] for p in summary.pieces]


def frames_of(clip: Any) -> tuple[int, int, int]:
    source, place = clip.source_range, clip.range_in_parent().start_time
    return int(source.start_time.value), int(source.duration.value), int(place.value)


def file_of(url: str) -> Path:
    return Path(unquote(urlsplit(url).path)) if url.startswith("file:") else Path(url)


@clips
@pytest.mark.parametrize("format", ["mlt", "kdenlive"])
def test_melt_plays_the_frames_that_were_chosen(
    written: Callable[[Clip], Written], clip: Clip, format: str, tmp_path: Path
) -> None:
    if shutil.which("melt") is None:
        pytest.skip("needs melt, of MLT")
    summary, files, _ = written(clip)
    film = tmp_path / "played.mkv"
    consumer = ["-consumer", f"avformat:{film}", "vcodec=ffv1", "acodec=pcm_s16le", "real_time=-1"]
    subprocess.run(["melt", files[format], *consumer], check=True, capture_output=True, timeout=60)
    shown = numbers_shown(film)
    if clip.even:
        assert shown == [first + k for first, n, _ in expected(clip, summary) for k in range(n)]
    else:  # MLT takes the nearest frame: one of another piece only if it lasts less than one of the even rate
        assert len(shown) == sum(n for _, n, _ in expected(clip, summary))
        of_pieces = {k for first, last in summary.ranges for k in range(first, last + 1)}
        assert set(shown) - of_pieces <= ({first - 1 for first, _ in summary.ranges} if clip.variable else set())


def test_the_clips_of_picture_and_sound_are_linked_in_premiere(written: Callable[[Clip], Written]) -> None:
    summary, files, _ = written(CLIPS[0])
    root = ElementTree.parse(files["premiere"]).getroot()
    tracks = [track.findall("clipitem") for track in root.iterfind("sequence/media/*/track")]
    assert [len(track) for track in tracks] == [len(summary.pieces)] * 3  # picture, left and right
    assert [track[0].findtext("sourcetrack/trackindex") for track in tracks] == [None, "1", "2"]
    for together in zip(*tracks, strict=True):
        ids = [item.get("id") for item in together]
        assert all([link.text for link in item.iterfind("link/linkclipref")] == ids for item in together)


def test_the_clips_of_picture_and_sound_move_together_in_kdenlive(written: Callable[[Clip], Written]) -> None:
    summary, files, _ = written(CLIPS[0])
    root = ElementTree.parse(files["kdenlive"]).getroot()

    def document(name: str) -> Any:
        return json.loads(
            root.findtext(f"playlist[@id='main_bin']/property[@name='kdenlive:docproperties.{name}']", "")
        )

    places = [place for *_, place in expected(CLIPS[0], summary)]
    assert [guide["pos"] for guide in document("guides")] == places
    leaves = [[leaf["data"] for leaf in group["children"]] for group in document("groups")]
    assert leaves == [[f"0:{place}", f"1:{place}"] for place in places]


def test_shotcut_is_told_of_each_piece(written: Callable[[Clip], Written]) -> None:
    summary, files, _ = written(CLIPS[1])
    (timeline,) = ElementTree.parse(files["mlt"]).getroot().iterfind("tractor")
    assert timeline.findtext("property[@name='shotcut']") == "1"
    markers = timeline.findall("properties[@name='shotcut:markers']/properties")
    starts = [marker.findtext("property[@name='start']") for marker in markers]
    assert starts == ["00:00:00.000", "00:00:02.400"]  # 60 frames later
    assert [f"({p.chance:.0%})" in (m.findtext("property") or "") for m, p in zip(markers, summary.pieces, strict=True)]


def test_uneven_frames_are_said_where_the_file_stays_valid(written: Callable[[Clip], Written]) -> None:
    _, files, (note,) = written(next(clip for clip in CLIPS if clip.variable))
    assert note.startswith("its frames come at uneven or unusual times")
    for path in files.values():
        assert note.casefold() in path.read_text().casefold()
    assert ElementTree.parse(files["fcpxml"]).findtext(".//sequence/note") == note


def media_path(name: str, file: Path) -> str:
    """The path or URL of the video in a file, without what quotes it."""
    pattern = {
        "otio": r'"target_url": "([^"]*)"',
        "fcpxml": r' src="([^"]*)"',
        "premiere": "<pathurl>(.*)</pathurl>",
    }.get(name, 'name="resource">(.*)</property>')
    found = re.search(pattern, file.read_text())
    assert found is not None
    url = found[1].replace("&amp;", "&")
    return url if name in {"mlt", "kdenlive"} else unquote(re.sub("^file://(localhost)?", "", url))


@pytest.mark.parametrize("name", NAMING)
def test_media_is_found_by_absolute_path_or_from_where_the_file_is(name: str, tmp_path: Path) -> None:
    video = make(CLIPS[1], tmp_path)
    summary, file = summarised(video), tmp_path / "cuts" / "a"
    FORMATS[name].write(summary, file)
    assert media_path(name, file) == str(video)
    FORMATS[name].write(summary, file, relative_media=True)
    assert media_path(name, file) == f"../{video.name}"


@pytest.mark.parametrize("name", NAMING)
def test_a_path_that_is_to_tell_nothing_stays_relative(name: str, tmp_path: Path) -> None:
    FORMATS[name].write(make_summary("a b.mp4"), tmp_path / "a")
    assert media_path(name, tmp_path / "a") == "a b.mp4"


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_a_relative_path_is_right_across_a_linked_folder(tmp_path: Path) -> None:
    real, linked = tmp_path / "far" / "away", tmp_path / "near"
    real.mkdir(parents=True)
    linked.symlink_to(real)
    summary = make_summary(tmp_path / "a.mp4")
    cuts = CutList.of(summary, linked / "a.mlt", relative_media=True)
    assert (real / cuts.path).resolve() == tmp_path / "a.mp4"


@pytest.mark.parametrize("name", NAMING)
def test_names_that_are_no_text_keep_the_file_valid(name: str, tmp_path: Path) -> None:
    FORMATS[name].write(make_summary(Path(os.fsdecode(b"/films/\xff \x07 <&> ]]>.mp4"))), tmp_path / "a")
    if name == "otio":
        json.loads((tmp_path / "a").read_text())
    else:
        assert "<&> ]]>.mp4" in "".join(ElementTree.parse(tmp_path / "a").getroot().itertext()) or name == "fcpxml"
