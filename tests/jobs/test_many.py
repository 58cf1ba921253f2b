"""Many videos, done once each: killed, interrupted, resumed, and with bad ones among them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from runs import SETTINGS, records_in, results_in, summarize_into, table_in

import vastsum
from vastsum.errors import ConfigError, OutputError, VideoError
from vastsum.jobs.inputs import Item, find_items
from vastsum.jobs.ledger import Ledger, Outcome
from vastsum.jobs.local import local_pool
from vastsum.jobs.places import RemotePlace, open_place
from vastsum.jobs.pool import Attempt
from vastsum.jobs.work import ItemWorker
from vastsum.video import probe


def vastsum_command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "vastsum", "summarize", *map(str, arguments)]


def test_a_bad_video_is_tried_twice_recorded_and_left(film: Path, films: Callable[[int], Path], tmp_path: Path) -> None:
    folder, out, pool_of = films(2), tmp_path / "out", partial(local_pool, n_workers=2, threads=1)
    bad = folder / "bad.mp4"
    bad.write_text("no video")
    summarize_into(folder, out, pool_of)
    rows = {row["name"]: row for row in table_in(out)}
    assert (rows["bad"]["status"], rows["bad"]["attempts"]) == ("failed", 2)
    assert rows["bad"]["error"].startswith(f"{bad}: ")
    assert Counter(row["status"] for row in rows.values()) == {"done": 2, "failed": 1}

    shutil.copy(film, bad)
    again = {outcome.name: outcome.status for outcome in summarize_into(folder, out, pool_of)}
    assert again["bad"] == "failed", "left until asked for"
    again = {outcome.name: outcome.status for outcome in summarize_into(folder, out, pool_of, retry_failed=True)}
    assert set(again.values()) == {"done"}
    assert {row["status"] for row in table_in(out)} == {"done"}


def alone(films: Callable[[int], Path], out: Path, **options: Any) -> tuple[ItemWorker, Attempt[Item]]:
    """A worker of this process, and its one video."""
    (item,) = find_items([str(films(1))])
    worker = ItemWorker(SETTINGS, open_place(str(out)), overwrite=False, threads=1, folder=".", **options)
    return worker, Attempt(item, 1)


def test_what_others_wrote_is_not_replaced(films: Callable[[int], Path], tmp_path: Path) -> None:
    worker, attempt = alone(films, tmp_path / "out")
    mine = tmp_path / "out/below/0.summary.json"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    for _ in range(2):
        with pytest.raises(OutputError, match="exists already"):
            worker(attempt)
    assert mine.read_text() == "mine"
    assert not records_in(tmp_path / "out")


def test_a_row_that_names_no_file_fails_alone(
    film: Path, tmp_path: Path, run_here: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    names = [("a\ud800.mp4", "a"), ("b\0.mp4", "b"), (str(film), "c\ud800"), (str(film), "d\0"), (str(film), "good")]
    manifest = tmp_path / "films.jsonl"
    manifest.write_text("".join(json.dumps({"source": source, "name": name}) + "\n" for source, name in names))
    for options in ((), ("--retry-failed",)):
        result = run_here("summarize", manifest, "-o", tmp_path / "out", "--formats=json", "--workers=1", *options)
        assert result.returncode == 1
        assert "1 of 5 videos summarised" in result.stdout
        assert result.stderr.count("failed: ") == result.stderr.count("cannot be the name of a file") == 4
        assert "should not have" not in result.stderr
    assert len(table_in(tmp_path / "out")) == 5


@pytest.mark.parametrize("name", ["a\0.mp4", "a\ud800.mp4"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(VideoError, match="no file can have this name"):
        probe(name)


def test_what_was_begun_is_begun_anew(films: Callable[[int], Path], tmp_path: Path) -> None:
    """As after a kill between the results and the record."""
    worker, attempt = alone(films, tmp_path / "out")
    done = worker(attempt)
    Ledger(open_place(str(tmp_path / "out"))).record(Outcome(done.source, done.name, "started", 1, done.started_at))
    before = results_in(tmp_path / "out")
    assert worker(attempt).status == "done"
    assert all(time_ns > before[name] for name, time_ns in results_in(tmp_path / "out").items())


def test_results_that_were_lost_or_spoiled_are_made_again(films: Callable[[int], Path], tmp_path: Path) -> None:
    """As a power cut leaves them on a disk that flushes nothing, or where a version wrote that flushed nothing."""
    folder, out, pool_of = films(6), tmp_path / "out", partial(local_pool, n_workers=2, threads=1)
    summarize_into(folder, out, pool_of)
    (out / "0.summary.mp4").unlink()
    (out / "1.summary.json").write_bytes(b"")
    os.truncate(out / "2.summary.mp4", 1000)
    os.truncate(out / "3.summary.mp4", 0)
    for path in (out / ".vastsum/videos").glob("*.json"):
        record = json.loads(path.read_text())
        if record["name"] in ("3", "4"):  # as if no size had been recorded
            path.write_text(json.dumps({**record, "bytes_out": 0}))
    before = results_in(out)
    outcomes = summarize_into(folder, out, pool_of)
    names = {f"{outcome.name}.summary.json": outcome.name for outcome in outcomes}
    assert {name for file, name in names.items() if results_in(out)[file] > before[file]} == {"0", "1", "2", "3"}
    for outcome in outcomes:
        assert outcome.status == "done"
        assert all((out / file).stat().st_size > 1000 for file in outcome.files)
    assert len(table_in(out)) == 6


def test_other_settings_are_not_mixed_into_a_folder(films: Callable[[int], Path], tmp_path: Path) -> None:
    folder, out, pool_of = films(1), tmp_path / "out", partial(local_pool, n_workers=1, threads=1)
    summarize_into(folder, out, pool_of)
    before = results_in(out)
    other = replace(SETTINGS, budget="30%")
    with pytest.raises(ConfigError, match=r"begun with another budget \('15%', not '30%'\)"):
        summarize_into(folder, out, pool_of, settings=other)
    assert results_in(out) == before
    summarize_into(folder, out, pool_of, settings=other, overwrite=True)
    assert vastsum.Summary.load(out / "below/0.summary.json").budget.fraction == 0.3


def test_a_run_that_is_older_than_an_option_is_resumed(films: Callable[[int], Path], tmp_path: Path) -> None:
    folder, out, pool_of = films(1), tmp_path / "out", partial(local_pool, n_workers=1, threads=1)
    summarize_into(folder, out, pool_of)
    (run,) = out.rglob("run.json")
    asked = json.loads(run.read_text())
    del asked["relative_media"]
    run.write_text(json.dumps(asked))
    before = results_in(out)
    summarize_into(folder, out, pool_of)
    assert results_in(out) == before


def test_a_run_that_cannot_start_leaves_nothing(films: Callable[[int], Path], tmp_path: Path) -> None:
    refused = subprocess.run(
        vastsum_command(films(2), "-o", tmp_path / "out", "--model=absent.onnx"), capture_output=True, text=True
    )
    assert refused.returncode == 1
    (line,) = refused.stderr.strip().splitlines()
    assert line.startswith("error: absent.onnx: ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("1000", "its frames are larger than 1,000 pixels"),
        ("many", "error: VASTSUM_MAX_PIXELS: 'many' is not a number"),
    ],
)
def test_workers_heed_the_environment(
    monkeypatch: pytest.MonkeyPatch, films: Callable[[int], Path], tmp_path: Path, limit: str, words: str
) -> None:
    monkeypatch.setenv("VASTSUM_MAX_PIXELS", limit)
    refused = subprocess.run(vastsum_command(films(1), "-o", tmp_path / "out"), capture_output=True, text=True)
    assert refused.returncode == 1
    assert words in refused.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_ended_run_goes_on_where_it_was(
    films: Callable[[int], Path], tmp_path: Path, number: signal.Signals
) -> None:
    folder, out = films(5), tmp_path / "out"
    command = vastsum_command(folder, "-o", out, "--formats=json,mp4", "--workers=2")
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # what runs in the background would not
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=heed)
    while not (done := [record for record in records_in(out) if record["status"] == "done"]):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    assert "Traceback" not in said
    pids = {int(record["worker"].rpartition(":")[2]) for record in records_in(out)}
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.01)
    if number != signal.SIGKILL:
        assert not list(out.rglob("*.part"))
        assert {row["name"] for row in table_in(out)} >= {record["name"] for record in done}
    before = results_in(out)
    finished = subprocess.run(command, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert "5 of 5 videos summarised, " in finished.stdout
    after = results_in(out)
    for record in done:
        assert all(after[file] == before[file] for file in record["files"])
    assert len(after) == 10
    assert not list(out.rglob("*.part"))
    assert len(table_in(out)) == 5


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A real web server on the folder of the test."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def test_videos_from_the_web(films: Callable[[int], Path], tmp_path: Path, server: str) -> None:
    films(2)
    rows = [{"url": f"{server}/films/0.mp4"}, {"url": "films/below/1.mp4"}, {"url": f"{server}/films/absent.mp4"}]
    (tmp_path / "list.jsonl").write_text("\n".join(map(json.dumps, rows)))
    out = tmp_path / "out"
    result = subprocess.run(
        vastsum_command(f"{server}/list.jsonl", "-o", out, "--formats=json,mp4"), capture_output=True, text=True
    )
    assert result.returncode == 1
    assert "2 of 3 videos summarised" in result.stdout
    assert f"failed: {server}/films/absent.mp4: there is no such file" in result.stderr
    assert set(results_in(out)) == {
        f"{name}.summary.{end}" for name in ("0", "films/below/1") for end in ("json", "mp4")
    }
    assert vastsum.Summary.load(out / "0.summary.json").video.path == Path("0.mp4")
    assert vastsum.Summary.load(out / "films/below/1.summary.json").video.path.name == "1.mp4"
    assert all(row["fetch_s"] > 0 for row in table_in(out) if row["status"] == "done")


def test_results_go_where_fsspec_can_write(films: Callable[[int], Path]) -> None:
    """fsspec's own memory stands for an object store: the worker is of this process, so both see the same."""
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    place = open_place("memory://results/here")
    assert isinstance(place, RemotePlace)
    (item,) = find_items([str(films(1))])
    worker = ItemWorker(SETTINGS, place, overwrite=False, threads=1, folder=".")
    done = worker(Attempt(item, 1))
    assert worker(Attempt(item, 1)) == done
    assert {path.removeprefix("/results/here/") for path in memory.find("/results/here")} == {
        *done.files, *(f".vastsum/{name}" for name in ("run.json", f"videos/{digest_of(memory)}.json"))
    }  # fmt: skip
    ledger = Ledger(place)
    assert ledger.outcomes() == {item.name: done}
    ledger.write_table([done])
    assert memory.exists("/results/here/results.parquet")
    assert ledger.checked_outcomes() == {item.name: done}
    memory.pipe_file(f"/results/here/{done.files[0]}", b"")
    assert ledger.checked_outcomes()[item.name].status == "started", "and so it is done again"
    assert worker(Attempt(item, 1)).bytes_out == done.bytes_out
    memory.pipe_file("/results/here/a", b"")
    with pytest.raises(OutputError, match="memory://results/here/a: exists already"):
        place.check("a", replace=False)
    ledger.forget()
    assert ledger.outcomes() == {}


def digest_of(memory: Any) -> str:
    (path,) = memory.ls("/results/here/.vastsum/videos", detail=False)
    return Path(path).stem


def test_a_killed_worker_leaves_no_fetched_video_for_long(
    monkeypatch: pytest.MonkeyPatch, films: Callable[[int], Path], tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    host = socket.gethostname()
    left, used, other = (
        tmp_path / f"vastsum-{name}"
        for name in (f"{host}-{ended.pid}-a", f"{host}-{os.getpid()}-b", f"else-{ended.pid}-c")
    )
    for folder in (left, used, other):
        folder.mkdir()
    alone(films, tmp_path / "out")
    assert not left.exists()
    assert used.exists()
    assert other.exists(), "another machine's process may well be running"


def test_a_place_that_is_none_is_refused(films: Callable[[int], Path], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    refused = subprocess.run(vastsum_command(films(2), "-o", tmp_path / "file"), capture_output=True, text=True)
    assert refused.returncode == 1
    (line,) = refused.stderr.strip().splitlines()
    assert line.startswith(f"error: {tmp_path / 'file'}")
    assert "choose another -o" in line
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["list.csv"], "list.csv: results cannot be put beside it; say where with -o"),
        (["http://host/a.mp4"], "say where with -o"),
        (["a.mp4", "--engine=ray"], "say which with -o"),
        (["a.mp4", "b.mp4", "-o", "out", "--gpus-per-worker=1"], "--gpus-per-worker: is for a Ray cluster"),
        (["a.mp4", "b.mp4", "-o", "out", "--address=auto"], "--address: is for a Ray cluster"),
        (["a.mp4", "b.mp4", "-o", "nosuch://out"], "nosuch://out: is no address that is read here"),
    ],
)
def test_arguments_that_do_not_fit_together(
    run_here: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, arguments: list[str], words: str
) -> None:
    result = run_here("summarize", *arguments, cwd=tmp_path)
    assert result.returncode == 1
    (line,) = result.stderr.strip().splitlines()
    assert words in line
    assert not list(tmp_path.iterdir())


def test_a_store_whose_package_is_missing_is_named() -> None:
    pytest.importorskip("fsspec")
    try:
        import s3fs  # noqa: F401
    except ImportError:
        with pytest.raises(ConfigError, match="pip install s3fs"):
            open_place("s3://bucket/results")


WITHOUT_THE_EXTRA = """
import sys
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
absent = {"ray", "fsspec", "pyarrow"}
PathFinder.find_spec = lambda name, *where: None if name.partition(".")[0] in absent else find_spec(name, *where)

from vastsum.cli import main

main()
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no results.parquet without pyarrow"),
        (["--engine=ray"], "error: ray: this Python package is not installed"),
        (["s3://bucket/a.mp4"], "error: fsspec: this Python package is not installed"),
    ],
)
def test_without_the_extra(films: Callable[[int], Path], tmp_path: Path, arguments: list[str], words: str) -> None:
    """Files of this machine need none of it; what does need it says so."""
    given = ["summarize", str(films(1)), "-o", str(tmp_path / "out"), "--formats=json", *arguments]
    result = subprocess.run([sys.executable, "-c", WITHOUT_THE_EXTRA, *given], capture_output=True, text=True)
    assert words in result.stderr
    assert 'pip install ".[scale]"' in result.stderr
    assert result.returncode == bool(arguments)
    assert set(results_in(tmp_path / "out")) == (set() if arguments else {"below/0.summary.json"})
