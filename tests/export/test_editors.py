"""Cut lists for editing programs and chapters for players: right to the frame, whatever the rate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from summaries import make_summary

from vastsum.export.edl import reel_name, write_edl
from vastsum.summary import Summary

EVENT = re.compile(r"(\d{3,})  (.{8}) (\S+) +C +(\S+) (\S+) (\S+) (\S+)")


def events(path: Path) -> list[tuple[str, ...]]:
    return [match.groups() for line in path.read_text().splitlines() if (match := EVENT.fullmatch(line))]


def frames(code: str, base: int) -> int:
    """Non-drop time code back to frames, by definition."""
    hours, minutes, seconds, rest = map(int, code.split(":"))
    return ((hours * 60 + minutes) * 60 + seconds) * base + rest


@pytest.mark.parametrize(("fps", "base"), [(25, 25), (24, 24), (24000 / 1001, 24), (50, 50), (60, 60)])
def test_edl_events_are_the_chosen_segments_one_after_another(fps: float, base: int, tmp_path: Path) -> None:
    summary = make_summary(fps=fps, n_frames=3000)
    lines = summary.save(tmp_path / "a.edl").read_text().splitlines()
    assert lines[:3] == ["TITLE: holiday SUMMARY", "FCM: NON-DROP FRAME", ""]
    record = 0
    rows = events(tmp_path / "a.edl")
    assert len(rows) == len(summary.pieces) > 1
    for number, (row, segment) in enumerate(zip(rows, summary.pieces, strict=True), start=1):
        assert row[:3] == (f"{number:03d}", "HOLIDAY ", "AA/V")
        source_in, source_out, record_in, record_out = (frames(code, base) for code in row[3:])
        assert (source_in, source_out) == (segment.start_frame, segment.end_frame + 1)
        assert (record_in, record_out) == (record, record + segment.n_frames)
        record = record_out
    assert record == summary.n_frames
    assert lines.count("* FROM CLIP NAME: holiday.mp4") == len(rows)


def test_edl_at_29_97_is_drop_frame(tmp_path: Path) -> None:
    summary = make_summary(fps=30000 / 1001, n_frames=18_000, n_segments=10).with_budget(
        0.9, keep=[1], leave_out=[0, 2]
    )
    write_edl(summary, tmp_path / "drop.edl")
    assert "FCM: DROP FRAME" in (tmp_path / "drop.edl").read_text()
    assert events(tmp_path / "drop.edl")[0][3:] == ("00:01:00;02", "00:02:00;04", "00:00:00;00", "00:01:00;02")


def test_edl_of_an_unusual_rate_goes_by_time_and_says_so(tmp_path: Path) -> None:
    summary = make_summary(fps=15, n_frames=900)
    text = summary.save(tmp_path / "a.edl").read_text()
    assert "* COMMENT: ITS FRAMES COME AT UNEVEN OR UNUSUAL TIMES, 15.000 A SECOND" in text
    assert text.index("001  ") < text.index("*"), "OpenTimelineIO's reader takes no comment before the first event"
    for row, segment in zip(events(tmp_path / "a.edl"), summary.pieces, strict=True):
        assert frames(row[3], 30) == round(segment.start_s * 30)


def test_edl_of_a_silent_video_holds_no_sound(filmed: Summary, tmp_path: Path) -> None:
    filmed.save(tmp_path / "a.edl")
    assert {row[2] for row in events(tmp_path / "a.edl")} == {"V"}


def test_edl_counts_past_999_events(tmp_path: Path) -> None:
    every_second = range(0, 2400, 2)
    summary = make_summary(n_frames=24_000, n_segments=2400).with_budget(
        0.5, keep=every_second, leave_out=[k + 1 for k in every_second]
    )
    summary.save(tmp_path / "a.edl")
    assert [row[0] for row in events(tmp_path / "a.edl")][-1] == "1200"


@pytest.mark.parametrize(
    ("stem", "reel"),
    [
        ("holiday in the alps", "HOLIDAYI"),
        ("Überfahrt", "UBERFAHR"),
        ("海", "REEL"),
        ("ax", "AXREEL"),
        ("BL", "BLREEL"),
        ("x_1", "X1"),
    ],
)
def test_reel_names_are_eight_plain_characters(stem: str, reel: str) -> None:
    assert reel_name(stem) == reel


@pytest.mark.parametrize("fps", [25, 30000 / 1001, 15])
def test_opentimelineio_reads_what_we_write(fps: float, tmp_path: Path) -> None:
    otio = pytest.importorskip("opentimelineio")
    summary = make_summary("films/a b#1.mp4", fps=fps, n_frames=3000)
    timeline = otio.adapters.read_from_file(str(summary.save(tmp_path / "a.otio")))
    assert [track.kind for track in timeline.tracks] == ["Video", "Audio"]
    assert timeline.duration().to_seconds() == pytest.approx(summary.duration_s, abs=0.04 * len(summary.pieces))
    for track in timeline.tracks:
        assert len(track) == len(summary.pieces)
        for clip, segment in zip(track, summary.pieces, strict=True):
            start, duration = clip.source_range.start_time, clip.source_range.duration
            assert start.to_seconds() == pytest.approx(segment.start_s, abs=0.02)
            if fps != 15:
                assert (start.value, duration.value) == (segment.start_frame, segment.n_frames)
            reference = clip.media_reference
            assert reference.target_url == "films/a%20b%231.mp4"
            assert reference.available_range.duration.to_seconds() == pytest.approx(summary.video.duration_s)
            assert clip.metadata["vastsum"]["chance"] == pytest.approx(segment.chance)


def test_otio_has_the_schema_every_reader_knows(filmed: Summary, tmp_path: Path) -> None:
    content = json.loads(filmed.save(tmp_path / "a.otio").read_text())
    assert content["OTIO_SCHEMA"] == "Timeline.1"
    (track,) = content["tracks"]["children"]  # silent
    assert (content["tracks"]["OTIO_SCHEMA"], track["OTIO_SCHEMA"], track["kind"]) == ("Stack.1", "Track.1", "Video")
    clip = track["children"][0]
    assert clip["OTIO_SCHEMA"] == "Clip.1"
    assert clip["media_reference"]["OTIO_SCHEMA"] == "ExternalReference.1"
    assert clip["media_reference"]["target_url"] == filmed.video.path.as_uri()
    assert clip["source_range"]["start_time"] == {
        "OTIO_SCHEMA": "RationalTime.1",
        "rate": 25.0,
        "value": float(filmed.pieces[0].start_frame),
    }


def test_vtt_chapters_lie_on_the_original_timeline(summary: Summary, tmp_path: Path) -> None:
    blocks = summary.save(tmp_path / "a.vtt").read_text().strip().split("\n\n")
    assert blocks[0] == "WEBVTT - Summary of holiday.mp4"
    assert blocks[1].startswith("NOTE ")
    assert len(blocks) == 2 + len(summary.pieces)
    number, times, title = blocks[2].splitlines()
    first = summary.pieces[0]
    assert (number, times) == ("1", f"00:00:{first.start_s:06.3f} --> 00:00:{first.end_s:06.3f}")
    assert f"importance {first.importance:.2f}" in title


def test_vtt_is_not_broken_by_a_file_name(tmp_path: Path) -> None:
    text = make_summary("a --> b\n<c>.mp4").save(tmp_path / "a.vtt").read_text()
    assert text.splitlines()[0] == "WEBVTT - Summary of a --&gt; b?&lt;c&gt;.mp4"


def test_vtt_cues_are_never_empty(tmp_path: Path) -> None:
    text = make_summary(fps=240, n_frames=4800, budget=0.00001).save(tmp_path / "a.vtt").read_text()
    start, end = re.findall(r"[\d:.]{12}", text)
    assert start < end
