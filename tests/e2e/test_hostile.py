"""Damaged and hostile inputs: a clear error or a partial result that says so, and nothing half-written."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from films import play
from hostile import DAMAGED, FLIPPED, HOPELESS, N_FRAMES, whole_films
from running import Result, assert_one_line_error, names_in, run

import vastsum


@dataclass(frozen=True)
class Aftermath:
    """What one command left behind that was given all of them, and a good video last."""

    folder: Path
    result: Result

    def lines_on(self, name: str, kind: str) -> list[str]:
        return [line for line in self.result.stderr.splitlines() if line.startswith(f"{kind}: {name}: ")]

    def results_for(self, name: str) -> set[str]:
        stem = Path(name).stem
        return {path.name for path in self.folder.joinpath("out").iterdir() if path.name.startswith(f"{stem}.summary")}


@pytest.fixture(scope="module")
def aftermath(tmp_path_factory: pytest.TempPathFactory) -> Aftermath:
    folder = tmp_path_factory.mktemp("hostile")
    films = whole_films(tmp_path_factory.mktemp("whole"))
    inputs = {**HOPELESS, **DAMAGED, **FLIPPED}
    for name, make in inputs.items():
        make(folder / name, films)
    (folder / "good.mkv").write_bytes(films["film.mkv"])
    assert len({Path(name).stem for name in inputs}) == len(inputs), "results would be mistaken for one another"
    result = run("summarize", *inputs, "good.mkv", "-o", "out", "--formats=mp4,json", cwd=folder)
    return Aftermath(folder, result)


def test_there_are_enough_of_them() -> None:
    assert len(HOPELESS) + len(DAMAGED) + len(FLIPPED) >= 40


def test_a_good_video_after_all_of_them_is_summarised(aftermath: Aftermath) -> None:
    assert aftermath.result.returncode == 1, aftermath.result.stderr
    assert "Traceback" not in aftermath.result.stderr
    assert "should not have" not in aftermath.result.stderr
    assert aftermath.results_for("good.mkv") == {"good.summary.mp4", "good.summary.json"}


def test_nothing_half_written_stays(aftermath: Aftermath) -> None:
    names = {path.name for path in aftermath.folder.joinpath("out").iterdir()} - {".vastsum", "results.parquet"}
    for name in names:
        assert name.endswith((".summary.mp4", ".summary.json")), name
        assert not name.startswith("."), name
    assert not [name for name in names_in(aftermath.folder) if name.endswith(".part")]


@pytest.mark.parametrize("name", HOPELESS)
def test_what_is_no_video_gives_an_error(aftermath: Aftermath, name: str) -> None:
    (line,) = aftermath.lines_on(name, "failed")
    assert ";" in line, "no remedy is given"
    assert not aftermath.results_for(name)
    assert not aftermath.lines_on(name, "note")


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_left_of_a_video_is_summarised_and_the_loss_noted(aftermath: Aftermath, name: str) -> None:
    assert not aftermath.lines_on(name, "failed")
    summary = assert_whole(aftermath, name)
    assert summary.video.n_frames < N_FRAMES
    assert_loss_is_noted(aftermath, name, summary)


@pytest.mark.parametrize("name", FLIPPED)
def test_flipped_bits_never_pass_for_a_shorter_video(aftermath: Aftermath, name: str) -> None:
    if failed := aftermath.lines_on(name, "failed"):
        assert len(failed) == 1
        assert not aftermath.results_for(name)
        return
    assert_loss_is_noted(aftermath, name, assert_whole(aftermath, name))


def assert_loss_is_noted(aftermath: Aftermath, name: str, summary: vastsum.Summary) -> None:
    if summary.video.n_frames >= N_FRAMES or aftermath.lines_on(name, "note"):
        return
    pytest.fail(f"{summary.video.n_frames} of {N_FRAMES} frames are left, and no note says so")


def assert_whole(aftermath: Aftermath, name: str) -> vastsum.Summary:
    """The results of one input: both there, both sound."""
    stem = Path(name).stem
    assert aftermath.results_for(name) == {f"{stem}.summary.mp4", f"{stem}.summary.json"}
    summary = vastsum.Summary.load(aftermath.folder / "out" / f"{stem}.summary.json")
    assert summary.n_frames == 1 or 0 < summary.duration_s <= 0.15 * summary.video.duration_s + 1e-6
    n_lost = summary.n_frames - len(play(aftermath.folder / "out" / f"{stem}.summary.mp4").indices)
    lost_in_summary = [line for line in aftermath.lines_on(name, "note") if "frames of the summary" in line]
    assert bool(lost_in_summary) == (n_lost > 0)
    return summary


@pytest.mark.parametrize("name", ["empty.mp4", "text.mp4", "loop.mp4", "pipe.mp4", "missing.mp4", "talk.mp4"])
def test_alone_they_give_one_line(
    run_here: Callable[..., Result], aftermath: Aftermath, tmp_path: Path, name: str
) -> None:
    path = aftermath.folder / name
    assert_one_line_error(run_here("summarize", path, "-o", tmp_path / "out"), path)
    assert not list(tmp_path.iterdir())


def test_a_folder_without_videos(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert_one_line_error(run("summarize", "empty", cwd=tmp_path), "empty: this folder holds no videos")


def drop_powers() -> None:
    """Root may read and write whatever it likes, unless these two capabilities are taken from the next program."""
    if os.geteuid() == 0:
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP


def can_be_refused(folder: Path) -> bool:
    secret = folder / "secret"
    secret.touch(mode=0o000)
    try:
        tried = subprocess.run(["cat", secret], preexec_fn=drop_powers, stderr=subprocess.DEVNULL)
        return tried.returncode != 0
    except (OSError, AttributeError, subprocess.SubprocessError):
        return False
    finally:
        secret.unlink()


def test_unreadable_video_and_unwritable_folder(video_of: Callable[[str], Path], tmp_path: Path) -> None:
    if not can_be_refused(tmp_path):
        pytest.skip("this user may read and write everything, and that right cannot be dropped here")
    shutil.copy(video_of("2 s"), tmp_path / "mine.mp4")
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0o555)
    refused = run("summarize", "mine.mp4", "-o", "locked", cwd=tmp_path, before=drop_powers)
    assert_one_line_error(refused, "locked/mine.summary.mp4: you may not write to locked")
    (tmp_path / "mine.mp4").chmod(0o000)
    refused = run("summarize", "mine.mp4", "-o", "out", cwd=tmp_path, before=drop_powers)
    assert_one_line_error(refused, "mine.mp4: you may not read this file")
    assert names_in(tmp_path) == {"mine.mp4"}


@pytest.mark.parametrize("place", ["file", "file/below", "file/further/below"])
def test_output_folder_that_is_a_file(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").write_text("in the way")
    result = run_here("summarize", video_of("2 s"), "-o", tmp_path / place)
    assert_one_line_error(result, tmp_path / place / "2_s.summary.mp4", f"{tmp_path / 'file'} is not a folder")
    assert (tmp_path / "file").read_text() == "in the way"


def test_folder_where_a_result_should_go(
    run_here: Callable[..., Result], video_of: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "2_s.summary.json" / "kept").mkdir(parents=True)
    result = run_here("summarize", video_of("2 s"), "-o", tmp_path, "--overwrite")
    assert_one_line_error(result, tmp_path / "2_s.summary.json", "there is a folder of this name")
    assert not names_in(tmp_path)


ROOM = {
    "mp4": 10_000, "json": 500, "png": 1000, "storyboard": 1000, "otio": 100, "edl": 20, "vtt": 5, "fcpxml": 100,
    "kdenlive": 100, "mlt": 100, "gif": 500, "webp": 500,
}  # fmt: skip
ON_A_FULL_DISK = """
import resource, sys
from vastsum.cli import main
video, out, *cases = sys.argv[1:]
for case in cases:
    name, n_bytes = case.split("=")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(n_bytes), resource.RLIM_INFINITY))
    sys.argv = ["vastsum", "summarize", video, "-o", out, f"--formats={name}", "--fast", "--overwrite"]
    try:
        main()
    except SystemExit as end:
        assert end.code == 1, end.code
"""


def test_full_disk(beeping: Path, tmp_path: Path) -> None:
    """Files may not grow beyond a size, format after format; what an earlier run left stays as it was."""
    before = [tmp_path / f"beeps.summary.{'storyboard.png' if name == 'storyboard' else name}" for name in ROOM]
    for path in before:
        path.write_text("of an earlier run")
    cases = [f"{name}={n_bytes}" for name, n_bytes in [*ROOM.items(), ("mp4", 0)]]
    result = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK, str(beeping), str(tmp_path), *cases], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if line]
    assert len(lines) == len(cases), lines
    for line, path in zip(lines, [*before, before[0]], strict=True):
        assert line.startswith(f"error: {path}: "), line
        assert "File too large" in line
        assert ";" in line
    assert names_in(tmp_path) == {path.name for path in before}
    assert {path.read_text() for path in before} == {"of an earlier run"}


def interrupted(video: Path, out: Path, number: signal.Signals) -> tuple[int, str]:
    """Send a signal as soon as something is being written; gives the exit code and what was said."""
    command = [sys.executable, "-m", "vastsum", "summarize", video, "-o", out, "--budget=100%"]

    def heed() -> None:  # under nohup, children ignore SIGHUP, and so does the command, as it should
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)

    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed
    )
    patience = time.monotonic() + 60
    while not any(path.stat().st_size for path in out.glob(".*.part")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patience
        time.sleep(0.005)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    return process.returncode, said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_ended_while_writing(long_video: Path, tmp_path: Path, number: signal.Signals) -> None:
    code, said = interrupted(long_video, tmp_path, number)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in said
    left = names_in(tmp_path)
    if number == signal.SIGKILL:  # no program can tidy up after this one
        assert all(name.endswith(".part") for name in left)
        run("summarize", long_video, "-o", tmp_path, "--formats=json", "--fast")
        left = names_in(tmp_path) - {"long.summary.json"}
    assert left == set()


def test_earlier_results_survive_a_run_that_is_ended(long_video: Path, tmp_path: Path) -> None:
    earlier = tmp_path / "long.summary.json"
    earlier.write_text("earlier")
    process = subprocess.Popen(
        [sys.executable, "-m", "vastsum", "summarize", str(long_video), "-o", str(tmp_path), "--overwrite"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.7)
    process.terminate()
    process.wait(30)
    assert earlier.read_text() == "earlier" or vastsum.Summary.load(earlier)
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]
