"""`vastsum summarize` from the command line to the frames and samples that come out of it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import av
import numpy as np
import pytest
from films import AUDIO_RATE, BEEP_EVERY, KINDS, Recipe, beep_onsets_s, make_video, play
from PIL import Image
from running import Result, assert_one_line_error, assert_sound_summary, names_in, run, summarize

import vastsum
from vastsum.errors import ConfigError, OutputError
from vastsum.export import FORMATS
from vastsum.export.otio import write_otio

SUMMARISED = [
    "h264 mp4", "h264 mkv", "h264 avi", "hevc mp4", "hevc mkv", "vp9 webm", "av1 mp4", "av1 webm", "mpeg4 avi",
    "mpeg4 mov", "10 bit", "variable rate", "variable rate mp4", "rotated 90", "rotated 270", "odd size", "two videos",
    "cover picture", "start offset", "2 s", "1 frame", "1 frame webm",
]  # fmt: skip
ENDINGS = {format.suffix.removeprefix(".summary.") for format in FORMATS.values()}
EVERYTHING = f"--formats={','.join(FORMATS)}"


@pytest.fixture(scope="module")
def all_kinds(
    video_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Callable[[str], Path], Path, Result]:
    """Every kind of video summarised by one command into one folder, in every format."""
    out = tmp_path_factory.mktemp("all") / "results"
    return video_of, out, summarize(*map(video_of, SUMMARISED), "-o", out, EVERYTHING, "--relative-media")


@pytest.mark.parametrize("kind", SUMMARISED)
def test_every_kind_of_video(all_kinds: tuple[Callable[[str], Path], Path, Result], kind: str) -> None:
    video_of, out, result = all_kinds
    stem = video_of(kind).stem
    files = {name for name in names_in(out) if name.startswith(f"{stem}.summary.")}
    assert files == {f"{stem}.summary.{ending}" for ending in ENDINGS}
    summary, played = assert_sound_summary(out / f"{stem}.summary.json", out / f"{stem}.summary.mp4")
    recipe = KINDS[kind][1]
    assert summary.video.n_frames == recipe.n_frames
    assert played.indices == [i for first, last in summary.ranges for i in range(first, last + 1)]
    assert bool(len(played.samples)) == bool(recipe.sounds)
    if recipe.sounds:
        assert len(played.samples) / AUDIO_RATE == pytest.approx(summary.duration_s, abs=0.03)
    assert str(out / f"{stem}.summary.mp4") in result.stdout
    assert "failed" not in result.stdout


def test_every_format_can_be_opened(all_kinds: tuple[Callable[[str], Path], Path, Result]) -> None:
    out = all_kinds[1]
    for ending in ("png", "storyboard.png", "webp", "gif", "cover.jpg"):
        with Image.open(out / f"h264_mp4.summary.{ending}") as picture:
            assert min(picture.size) > 50
            picture.load()
    assert (out / "h264_mp4.summary.edl").read_text().startswith("TITLE:")
    assert '"OTIO_SCHEMA"' in (out / "h264_mp4.summary.otio").read_text()
    assert (out / "h264_mp4.summary.vtt").read_text().startswith("WEBVTT")
    for ending in ("fcpxml", "xml", "mlt", "kdenlive"):
        text = (out / f"h264_mp4.summary.{ending}").read_text()
        (named,) = set(re.findall(r'[">](\.\.[^"<]*h264_mp4\.mp4)', text))
        assert (out / named).samefile(all_kinds[0]("h264 mp4")), "named as seen from the results"


def test_the_mp4_starts_playing_before_it_is_there_in_full(
    all_kinds: tuple[Callable[[str], Path], Path, Result],
) -> None:
    """Browsers want the index first, 8-bit 4:2:0, and aac."""
    for stem in ("h264_mp4", "10_bit", "mpeg4_avi"):
        path = all_kinds[1] / f"{stem}.summary.mp4"
        data = path.read_bytes()
        assert 0 < data.index(b"moov") < data.index(b"mdat")
        with av.open(str(path)) as container:
            assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"
            assert {s.codec_context.name for s in container.streams.audio} <= {"aac"}


def test_several_video_streams_are_noted(all_kinds: tuple[Callable[[str], Path], Path, Result]) -> None:
    told = [line for line in all_kinds[2].stderr.splitlines() if line.startswith("note: ")]
    notes = [note for note in told if "uneven or unusual times" not in note]  # of files for editing programs
    assert len(notes) == 1, notes
    assert "two_videos.mkv: the largest of 2 video streams is used" in notes[0]


def test_the_command_of_the_readme(jumps: Path, tmp_path: Path) -> None:
    shutil.copy(jumps, tmp_path)
    result = summarize("Jumps.webm", "-o", "DIR", cwd=tmp_path)
    assert names_in(tmp_path) == {"Jumps.webm", *(f"DIR/Jumps.summary.{ending}" for ending in ("mp4", "json", "png"))}
    summary, played = assert_sound_summary(tmp_path / "DIR/Jumps.summary.json", tmp_path / "DIR/Jumps.summary.mp4")
    assert len(played.samples)
    for piece in summary.pieces:
        assert f"({piece.chance:.0%})" in result.stdout
    assert "Jumps.webm" in result.stdout.splitlines()[0]


def assert_in_sync(path: Path) -> None:
    """Every beep within a frame of the frame it belongs to, and every such frame with its beep."""
    played = play(path)
    frame_s = 1 / 30
    wanted = [time for index, time in zip(played.indices, played.times_s, strict=True) if index % BEEP_EVERY == 0]
    heard = beep_onsets_s(played.samples)
    # A beep lasts a frame, and one that a cut goes through may or may not be heard.
    cuts = [played.times_s[k] for k in range(1, len(played.indices)) if played.indices[k] != played.indices[k - 1] + 1]
    cuts += [0.0, played.times_s[-1]]
    assert len(wanted) >= 5
    for time in heard:
        near_a_cut = min(abs(time - cut) for cut in cuts) < 2 * frame_s
        assert near_a_cut or min(abs(time - flash) for flash in wanted) <= frame_s
    for flash in wanted:
        near_a_cut = min(abs(flash - cut) for cut in cuts) < 2 * frame_s
        assert near_a_cut or min(abs(time - flash) for time in heard) <= frame_s


def test_beeps_stay_on_flashes(beeping: Path, tmp_path: Path) -> None:
    summarize(beeping, "-o", tmp_path, "--budget=30%")
    summary = vastsum.Summary.load(tmp_path / "beeps.summary.json")
    assert len(summary.selected) > 1
    assert_in_sync(tmp_path / "beeps.summary.mp4")


def test_copy_keeps_the_original_stream(beeping: Path, tmp_path: Path) -> None:
    result = summarize(beeping, "-o", tmp_path, "--copy", "--budget=20%")
    assert names_in(tmp_path) == {f"beeps.summary.{ending}" for ending in ("mp4", "json", "png")}
    summary = vastsum.Summary.load(tmp_path / "beeps.summary.json")
    played = play(tmp_path / "beeps.summary.mp4")
    chosen = {i for first, last in summary.ranges for i in range(first, last + 1)}
    assert chosen <= set(played.indices)
    assert played.indices == sorted(set(played.indices))
    if len(played.indices) > summary.n_frames:
        assert "cut at key frames, the video is" in result.stderr
    assert_in_sync(tmp_path / "beeps.summary.mp4")
    with av.open(str(beeping)) as source, av.open(str(tmp_path / "beeps.summary.mp4")) as copied:
        packets = {bytes(packet) for packet in source.demux(video=0) if packet.size}
        assert all(bytes(packet) in packets for packet in copied.demux(video=0) if packet.size)


def test_copies_of_webm_stay_webm(video_of: Callable[[str], Path], tmp_path: Path) -> None:
    summarize(video_of("vp8 webm"), "-o", tmp_path, "--copy", "--formats=mp4")
    assert names_in(tmp_path) == {"vp8_webm.summary.webm"}
    with av.open(str(tmp_path / "vp8_webm.summary.webm")) as copied:
        assert copied.streams.video[0].codec_context.name == "vp8"


def test_fast_looks_at_key_frames_only(beeping: Path, tmp_path: Path) -> None:
    summarize(beeping, "-o", tmp_path, "--fast")
    summary, _ = assert_sound_summary(tmp_path / "beeps.summary.json", tmp_path / "beeps.summary.mp4")
    with av.open(str(beeping)) as container:
        keyframes = {round((p.pts or 0) * p.time_base * 30) for p in container.demux(video=0) if p.is_keyframe}
    assert set(summary.picks.tolist()) <= keyframes


@pytest.mark.parametrize("kind", ["h264 mp4", "h264 mp4 open GOP", "h264 mkv", "hevc mkv", "mpeg4 avi", "10 bit"])
def test_fast_copies_only_what_is_exact_and_plays_everywhere(
    run_here: Callable[..., Result], tmp_path: Path, kind: str
) -> None:
    suffix, recipe = KINDS[kind]
    recipe = replace(recipe, n_frames=400, gop=25)
    video = make_video(tmp_path / f"a{suffix}", recipe)
    assert run_here("summarize", video, "-o", tmp_path, "--fast", "--budget=30%").returncode == 0
    summary, played = assert_sound_summary(tmp_path / "a.summary.json", tmp_path / "a.summary.mp4", budget=0.3)
    assert played.indices == [i for first, last in summary.ranges for i in range(first, last + 1)]
    with av.open(str(tmp_path / "a.summary.mp4")) as container:
        assert container.streams.video[0].codec_context.pix_fmt == "yuv420p"
        assert {s.codec_context.name for s in container.streams.audio} == ({"aac"} if recipe.sounds else set())


@pytest.mark.parametrize(
    ("asked", "fraction"), [("10%", 0.1), ("0.2", 0.2), ("6s", 0.2), ("0:03", 0.1), ("0m6s", 0.2), ("100%", 1.0)]
)
def test_budgets(run_here: Callable[..., Result], beeping: Path, tmp_path: Path, asked: str, fraction: float) -> None:
    run_here("summarize", beeping, "-o", tmp_path, "--budget", asked, "--formats=json", "--fast")
    summary = vastsum.Summary.load(tmp_path / "beeps.summary.json")
    assert summary.budget.fraction == pytest.approx(fraction)
    assert 0 < summary.duration_s <= fraction * summary.video.duration_s + 1e-6
    assert summary.duration_s > 0.5 * fraction * summary.video.duration_s


@pytest.mark.parametrize("together", [False, True])
def test_a_video_shorter_than_the_budget_is_kept_whole(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path, together: bool
) -> None:
    result = run_here(
        "summarize", video_of("2 s"), *[video_of("1 frame")] * together, "-o", tmp_path, "--budget=30s", "--fast"
    )
    assert result.returncode == 0, result.stderr
    summary, _ = assert_sound_summary(tmp_path / "2_s.summary.json", tmp_path / "2_s.summary.mp4", budget=1.0)
    assert summary.n_frames == summary.video.n_frames
    assert f"note: {video_of('2 s')}: the budget is longer than the video: all of it is kept" in result.stderr


@pytest.mark.parametrize("into", [[], ["-o", "out"]])
def test_a_failure_names_its_video(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path, into: list[str]
) -> None:
    for name in ("a", "b"):
        shutil.copy(video_of("2 s"), tmp_path / f"{name}.mp4")
    where = tmp_path / "out" if into else tmp_path
    where.mkdir(exist_ok=True)
    (where / "a.summary.json").write_text("mine")
    result = run_here("summarize", ".", *into, "--formats=json", "--fast", cwd=tmp_path)
    assert result.returncode == 1
    assert f"failed: a.mp4: {Path(*into[1:], 'a.summary.json')}: exists already; add --overwrite" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget=0%"], ["budget"]),
        (["--budget=soon"], ["soon"]),
        (["--budget=15"], ["15%", "15s"]),
        (["--formats=mp4,avi"], ["avi", "storyboard"]),
        (["--formats=,"], ["no format"]),
        (["--fps=0"], ["fps"]),
        (["--fps=inf"], ["fps"]),
        (["--backbone=resnet"], ["resnet", "efficientnet_lite0"]),
        (["--backbone=googlenet"], ["googlenet", "weights"]),
        (["--model=absent.onnx"], ["absent.onnx"]),
        (["--model=magic"], ["magic"]),
        (["--device=tpu"], ["tpu"]),
    ],
)
def test_wrong_arguments_are_refused_and_nothing_is_written(
    run_here: Callable[..., Result],
    video_of: Callable[[str], Path],
    tmp_path: Path,
    arguments: list[str],
    words: list[str],
) -> None:
    assert_one_line_error(run_here("summarize", video_of("2 s"), "-o", tmp_path / "out", *arguments), *words)
    assert not names_in(tmp_path)


def test_results_are_not_replaced_unless_asked(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path
) -> None:
    video = video_of("2 s")
    before = tmp_path / "2_s.summary.png"
    before.write_bytes(b"mine")
    assert_one_line_error(run_here("summarize", video, "-o", tmp_path), before, "exists already", "--overwrite")
    assert names_in(tmp_path) == {"2_s.summary.png"}
    assert before.read_bytes() == b"mine"
    assert run_here("summarize", video, "-o", tmp_path, "--formats=json").returncode == 0  # not in its way
    assert run_here("summarize", video, "-o", tmp_path, "--overwrite").returncode == 0
    assert before.read_bytes().startswith(b"\x89PNG")
    assert_sound_summary(tmp_path / "2_s.summary.json", tmp_path / "2_s.summary.mp4")


def test_results_lie_beside_the_video_by_default_and_are_no_input_next_time(
    video_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "trip"
    (folder / "day 2").mkdir(parents=True)
    shutil.copy(video_of("2 s"), folder / "a.mp4")
    shutil.copy(video_of("1 frame"), folder / "day 2" / "b.mp4")
    (folder / "notes.txt").write_text("not a video")
    wanted = {"a.mp4", "day 2/b.mp4", "notes.txt", "a.summary.mp4", "day 2/b.summary.mp4"}
    for _ in range(2):
        result = summarize(folder, "--formats=mp4", "--overwrite")
        assert names_in(folder) == wanted
        assert "2 of 2 videos summarised" in result.stdout


def test_two_videos_of_one_name(video_of: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copy(video_of("2 s"), tmp_path / "a.mp4")
    shutil.copy(video_of("vp9 webm"), tmp_path / "a.webm")
    result = run("summarize", "a.mp4", "a.webm", "-o", "out", "--overwrite", "--formats=json", cwd=tmp_path)
    assert result.returncode == 1
    assert "out/a.summary.json: is the summary of a.mp4 too; rename a.webm" in result.stderr
    assert vastsum.Summary.load(tmp_path / "out/a.summary.json").video.n_frames == KINDS["2 s"][1].n_frames


def test_one_bad_file_does_not_stop_the_others(video_of: Callable[[str], Path], tmp_path: Path) -> None:
    shutil.copy(video_of("2 s"), tmp_path / "first.mp4")
    (tmp_path / "second.mp4").write_text("no video at all")
    shutil.copy(video_of("vp9 webm"), tmp_path / "third.webm")
    result = run("summarize", ".", "-o", "out", cwd=tmp_path)
    assert result.returncode == 1
    written = {name for name in names_in(tmp_path / "out") if not name.startswith(".vastsum/")}
    assert written == {
        "results.parquet",
        *(f"{stem}.summary.{ending}" for stem in ("first", "third") for ending in ("mp4", "json", "png")),
    }
    heading, *rows = result.stdout.partition("2 of 3 videos summarised\n")[2].splitlines()
    assert heading.split() == ["failed", "why"]
    assert rows[0].split()[0] == "second.mp4"
    assert "not a video" in rows[0]
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "stem",
    ["Ünïcödé 影片 🎬", "two  spaces", "100% [bold]x[b] {y}", "a:b;c'd\"e", "-dash", "new\nline", "not utf-8 \udcff"],
)
def test_names(run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path, stem: str) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    video = folder / f"{stem}.mp4"
    shutil.copy(video_of("2 s"), video)
    result = run_here("summarize", video, "-o", folder, EVERYTHING)
    assert result.returncode == 0, result.stderr
    assert names_in(folder) == {video.name, *(f"{stem}.summary.{ending}" for ending in ENDINGS)}
    summary, _ = assert_sound_summary(folder / f"{stem}.summary.json", folder / f"{stem}.summary.mp4")
    assert summary.video.path == video


def test_media_relative_to_the_files_for_editing_programs(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path
) -> None:
    command = ["summarize", video_of("2 s"), "--formats=mlt", "--relative-media", "-o"]
    assert run_here(*command, tmp_path).returncode == 0
    named = re.search('name="resource">(.*)<', (tmp_path / "2_s.summary.mlt").read_text())
    assert named is not None
    assert not Path(named[1]).is_absolute()
    assert (tmp_path / named[1]).samefile(video_of("2 s"))
    assert_one_line_error(run_here(*command, "s3://bucket/out"), "--relative-media", "no file can be relative to s3://")


def test_variable_rate_budget_is_of_time_on_screen(tmp_path: Path) -> None:
    """Ten seconds at 2 frames a second, then ten at 40: a share of frames is not a share of time."""
    times = [*range(0, 10_000, 500), *range(10_000, 20_000, 25)]
    recipe = Recipe(times=times, time_base=Fraction(1, 1000), n_frames=len(times), sounds=["aac"])
    make_video(tmp_path / "vfr.mkv", recipe)
    summarize(tmp_path / "vfr.mkv", "-o", tmp_path)
    summary, played = assert_sound_summary(tmp_path / "vfr.summary.json", tmp_path / "vfr.summary.mp4")
    edges = np.array([*times, 20_000]) / 1000
    assert sum(edges[last + 1] - edges[first] for first, last in summary.ranges) == pytest.approx(summary.duration_s)
    assert played.indices == [i for first, last in summary.ranges for i in range(first, last + 1)]


def test_python_on_a_card(beeping: Path, tmp_path: Path) -> None:
    summary = vastsum.summarize(str(beeping), budget=0.15)
    assert summary.save(tmp_path / "a.summary.mp4") == tmp_path / "a.summary.mp4"
    summary.save(str(tmp_path / "a.json"))
    assert vastsum.Summary.load(tmp_path / "a.json") == summary
    assert_sound_summary(tmp_path / "a.json", tmp_path / "a.summary.mp4")

    shorter = summary.with_budget(0.05)
    assert 0 < shorter.duration_s <= 0.05 * 30 + 1e-6
    shorter.save(tmp_path / "b.mp4")
    assert len(play(tmp_path / "b.mp4").indices) == shorter.n_frames
    assert vastsum.Summary.load(tmp_path / "a.json").with_budget(0.05) == shorter


@pytest.mark.parametrize("out", [".", "out"])
def test_what_is_written_finds_its_video_from_anywhere(
    video_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    """Moved together, where the video lies beside it."""
    films = tmp_path / "films"
    films.mkdir()
    shutil.copy(video_of("2 s"), films / "a.mp4")
    monkeypatch.chdir(films)
    summary = vastsum.summarize("a.mp4", fast=True)
    summary.save(f"{out}/a.json")
    write_otio(summary, Path(out, "a.otio"), relative_media=out == ".")
    if out == ".":
        films = films.rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path)
    loaded = vastsum.Summary.load(films / out / "a.json")
    loaded.save(tmp_path / "a.storyboard.png")
    if out != ".":
        assert loaded == summary
    url = re.search('"target_url": "(.*?)"', (films / out / "a.otio").read_text())
    assert url is not None
    assert urljoin((films / out / "a.otio").as_uri(), url[1]) == (films / "a.mp4").as_uri()


def test_paths_of_older_files_are_meant_from_here(
    video_of: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(video_of("2 s"), tmp_path / "a.mp4")
    monkeypatch.chdir(tmp_path)
    summary = vastsum.summarize("a.mp4", fast=True)
    older = replace(summary, video=replace(summary.video, path=Path("a.mp4"))).save("out/a.json")
    vastsum.Summary.load(older).save("out/a.storyboard.png")


@pytest.mark.parametrize("ending", ["json", "mp4", "png"])
def test_a_file_is_replaced_only_if_asked(video_of: Callable[[str], Path], tmp_path: Path, ending: str) -> None:
    summary = vastsum.summarize(video_of("2 s"), fast=True)
    path = tmp_path / f"a.{ending}"
    path.write_text("mine")
    with pytest.raises(OutputError, match=r"exists already; .*overwrite=True"):
        summary.save(path)
    assert path.read_text() == "mine"
    summary.save(path, overwrite=True)
    assert path.read_bytes() != b"mine"


@pytest.mark.parametrize(("budget", "words"), [(2, "2% or 2s"), (2.5, r"2\.5% or 2\.5s"), (None, "None is neither")])
def test_budgets_that_are_none(video_of: Callable[[str], Path], budget: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        vastsum.summarize(video_of("2 s"), budget)


def test_a_summarizer_serves_many_videos(video_of: Callable[[str], Path], beeping: Path) -> None:
    summarizer = vastsum.Summarizer(fast=True)
    stages: list[str] = []
    first = summarizer.summarize(beeping, "3s", progress=lambda stage, *_: stages.append(stage))
    assert list(dict.fromkeys(stages)) == ["watching", "segmenting", "scoring"]
    assert summarizer.summarize(video_of("1 frame")).n_frames == 1
    assert summarizer.summarize(beeping, 0.1) == first


def test_budgets_however_small_leave_one_frame(beeping: Path) -> None:
    summary = vastsum.summarize(beeping, 0.000_01, fast=True)
    assert summary.n_frames == 1
