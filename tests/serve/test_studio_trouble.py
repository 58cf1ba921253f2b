"""Kills, crashes, full disks, vanished and broken files: one job's trouble, and nothing is lost."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from kills import kill_again_and_again
from studios import Client, StudioProcess, files_in, studio_here, wait_for, workers_of

import vastsum
from vastsum.errors import DataError, OutputError
from vastsum.jobs.local import LocalEngine
from vastsum.serve import results, tasks
from vastsum.serve.config import StudioSettings
from vastsum.serve.studio import Studio

N_KILLS = 5  # scripts/kill_studio.py does more of the same


@pytest.fixture
def studio_process(tmp_path: Path) -> Iterator[StudioProcess]:
    studio = StudioProcess(tmp_path / "data")
    yield studio
    studio.end()


def test_kills_at_random_moments_lose_no_job_and_leave_no_orphans(studio_process: StudioProcess, film: Path) -> None:
    kill_again_and_again(studio_process, film, N_KILLS, random.Random(1))


def test_an_upload_that_is_cut_off_leaves_nothing(studio_process: StudioProcess, film: Path) -> None:
    studio = studio_process

    def half() -> Iterator[bytes]:
        yield film.read_bytes()[: 2**15]
        wait_for(lambda: any(path.stat().st_size >= 0 for path in (studio.data / "incoming").iterdir()))
        studio.kill()
        yield b"more"

    with pytest.raises(Exception, match=r"."):
        studio.client.http.post("/uploads", params={"name": "half.mp4"}, content=half())
    assert list((studio.data / "incoming").iterdir())
    studio.start()
    assert studio.client.jobs() == []
    assert not list((studio.data / "incoming").iterdir())


def test_a_killed_worker_is_tried_once_more_and_then_said_to_have_failed(
    studio_process: StudioProcess, film: Path, long_film: Path
) -> None:
    client = studio_process.client

    def kill_worker() -> bool:
        for worker in workers_of(studio_process.process.pid):
            os.kill(worker, signal.SIGSEGV)
            return True
        return False

    unlucky, lucky = client.upload(long_film)["id"], client.upload(film)["id"]
    wait_for(lambda: (client.job(unlucky)["progress"] or {}).get("stage") == "watching" and kill_worker())
    assert client.settled(lucky)["state"] == "done"  # it had its turn in between
    wait_for(lambda: (client.job(unlucky)["progress"] or {}).get("stage") == "watching" and kill_worker())
    job = client.settled(unlucky)
    assert job["state"] == "failed"
    assert "crashed" in job["failure"]["problem"]
    assert "SIGSEGV" in job["failure"]["problem"]
    assert job["failure"]["remedy"]
    assert client.settled(client.upload(film)["id"])["state"] == "done"


def test_two_studios_never_share_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vastsum.serve.folders._LOCK_WAIT_S", 0.2)
    with studio_here(tmp_path), pytest.raises(OutputError, match="another studio is using this folder"):
        Studio(StudioSettings(tmp_path))


def test_workers_end_with_the_studio_and_jobs_go_on_with_the_next(
    studio_process: StudioProcess, long_film: Path
) -> None:
    studio = studio_process
    job_id = studio.client.upload(long_film)["id"]
    (worker,) = wait_for(lambda: workers_of(studio.process.pid))
    studio.kill()
    wait_for(lambda: not Path(f"/proc/{worker}").exists() or "Z" in Path(f"/proc/{worker}/stat").read_text())
    studio.start()
    assert studio.client.job(job_id)["state"] in ("queued", "running")
    assert studio.end() == 0  # asked to, it ends in good order; the job goes on another time
    studio.start()
    assert studio.client.job(job_id)["state"] in ("queued", "running")


BROKEN = {
    "text.mp4": b"this is not a video at all" * 100,
    "zeros.mkv": bytes(10_000),
    "playlist.m3u8": b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{film}\n#EXT-X-ENDLIST\n",
    "concat.mp4": b"ffconcat version 1.0\nfile {film}\n",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_upload_fails_with_a_message(studio: Client, tmp_path: Path, film: Path, name: str) -> None:
    (tmp_path / name).write_bytes(BROKEN[name].replace(b"{film}", str(film).encode()))
    job = studio.settled(studio.upload(tmp_path / name)["id"])
    assert job["state"] == "failed"
    assert job["failure"]["problem"].startswith(f"{name}: ")
    assert job["failure"]["remedy"]
    assert str(film) not in job["failure"]["problem"]
    assert studio.get(f"/jobs/{job['id']}/result").status_code == 409
    assert studio.http.put(f"/jobs/{job['id']}/exports/mp4").status_code == 409


def test_a_playlist_gets_one_answer_whether_or_not_what_it_names_exists(
    studio: Client, tmp_path: Path, film: Path
) -> None:
    playlist = BROKEN["playlist.m3u8"].replace(b"{film}", b"file:%s")
    stream = tmp_path / "there.ts"
    stream.write_bytes(b"\x47" + bytes(187))
    answers = set()
    for named in (stream, film, tmp_path / "absent.ts", tmp_path / "absent" / "absent.mp4"):
        (tmp_path / "list.m3u8").write_bytes(playlist % str(named).encode())
        failed = studio.settled(studio.upload(tmp_path / "list.m3u8")["id"])
        answers.add((failed["failure"]["problem"], failed["failure"]["remedy"]))
    ((problem, _),) = answers
    assert "playlist" in problem


@pytest.mark.parametrize("format_name", ["mp4", "storyboard"])
def test_a_video_that_became_a_playlist_is_not_exported(
    studio: Client, library: Path, film: Path, format_name: str
) -> None:
    turned = library / "turned.mp4"
    turned.write_bytes(film.read_bytes())
    job = studio.settled(studio.submit(library="turned.mp4", fast=True)["id"])
    turned.write_text("ffconcat version 1.0\nfile leak.mp4\n")  # which leads out of the library
    path = f"/jobs/{job['id']}/exports/{format_name}"
    assert studio.http.put(path).status_code == 202
    export = wait_for(lambda: (it := studio.get(path).json())["state"] not in ("queued", "running") and it)
    assert export["state"] == "failed"
    assert "playlist" in export["failure"]["problem"]
    turned.unlink()


def test_a_video_that_vanishes_fails_its_job_and_its_exports_only(
    studio: Client, library: Path, film: Path, long_film: Path
) -> None:
    lost = library / "lost.mp4"
    lost.write_bytes(film.read_bytes())
    done = studio.settled(studio.submit(library="lost.mp4")["id"])
    busy = studio.upload(long_film)
    waiting = studio.submit(library="lost.mp4")
    lost.unlink()
    studio.http.delete(f"/jobs/{busy['id']}")
    job = studio.settled(waiting["id"])
    assert job["state"] == "failed"
    assert "lost.mp4" in job["failure"]["problem"]
    assert studio.get(f"/jobs/{done['id']}/video").status_code == 404
    assert studio.get(f"/jobs/{done['id']}/result").status_code == 200
    path = f"/jobs/{done['id']}/exports/mp4"
    assert studio.http.put(path).status_code == 202
    export = wait_for(lambda: (it := studio.get(path).json())["state"] == "failed" and it)
    assert "lost.mp4" in export["failure"]["problem"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Four megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("no small disk can be made here: mounting one is not allowed")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place: Path) -> None:
    """To the last byte."""
    path = place / f"ballast{len(list(place.iterdir()))}"
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(1000))


def test_a_full_disk_fails_what_does_not_fit_and_nothing_else(
    small_disk: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "FIRST_WAIT_S", 0.1)
    data = small_disk / "data"

    def send(*chunks: bytes) -> httpx.Response:  # without saying how much is to come
        return client.http.post("/uploads", params={"name": "film.mp4"}, content=iter(chunks))

    with studio_here(data) as client:
        assert client.http.post("/uploads", params={"name": "a.mp4"}, content=bytes(2**22)).status_code == 507
        refused = send(*[bytes(2**20)] * 6)
        assert refused.status_code == 507
        assert "No space left" in refused.json()["problem"]
        assert not list((data / "incoming").iterdir())
        assert client.jobs() == []

        job_id = send(film.read_bytes()).json()["id"]
        assert client.settled(job_id)["state"] == "done"
        fill(small_disk)
        before = client.get(f"/jobs/{job_id}/selection").json()
        assert client.keep(job_id, budget=0.5).status_code == 507
        assert client.get(f"/jobs/{job_id}/selection").json() == before
        assert client.http.post("/jobs", json={"job": job_id}).status_code == 507
        path = f"/jobs/{job_id}/exports/mp4"
        assert client.http.put(path).status_code == 202
        export = wait_for(lambda: (it := client.get(path).json())["state"] == "failed" and it)
        assert "No space left" in export["failure"]["problem"]
    fill(small_disk)
    with studio_here(data) as client:  # which starts though there is no room
        assert client.get(f"/jobs/{job_id}/selection").json() == before
        for file in small_disk.glob("ballast*"):
            file.unlink()
        assert client.keep(job_id, budget=0.5).status_code == 200
        assert client.exported(job_id, "mp4").status_code == 200


def test_a_database_is_only_to_be_moved_away_where_it_is_broken(tmp_path: Path) -> None:
    (tmp_path / "studio.sqlite").mkdir()
    with pytest.raises(DataError, match="see to its disk"):
        Studio(StudioSettings(tmp_path))
    (tmp_path / "studio.sqlite").rmdir()
    (tmp_path / "studio.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(DataError, match="move this one away"):
        Studio(StudioSettings(tmp_path))


@pytest.mark.parametrize("times", [1, tasks.MAX_TRIES + 2])
def test_a_job_for_which_there_are_no_files_left_waits(
    studio: Client, film: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    monkeypatch.setattr(tasks, "FIRST_WAIT_S", 0.01)
    hire, lacking = LocalEngine.hire, iter(range(times))

    def hire_later(engine: LocalEngine) -> Any:
        if next(lacking, None) is not None:
            raise OSError(errno.EMFILE, "Too many open files")
        return hire(engine)

    monkeypatch.setattr(LocalEngine, "hire", hire_later)
    assert studio.settled(studio.upload(film)["id"])["state"] == "done"
    assert next(lacking, None) is None


def test_a_job_has_only_so_much_time_and_memory(
    tmp_path: Path, long_film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio_here(tmp_path) as studio:
        job_id = studio.upload(long_film)["id"]
        (worker,) = wait_for(lambda: workers_of(os.getpid()))
        wait_for(lambda: (studio.job(job_id)["progress"] or {}).get("stage") == "watching")
        line = next(line for line in Path(f"/proc/{worker}/limits").read_text().splitlines() if "data size" in line)
        assert int(line.split()[3]) < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        monkeypatch.setattr(tasks, "LONGEST_S", 0.5)
        late = studio.upload(long_film)["id"]
        studio.http.delete(f"/jobs/{job_id}")
        job = studio.settled(late)
        assert job["state"] == "failed"
        assert "hours" in job["failure"]["problem"]
        assert not workers_of(os.getpid())


def test_a_selection_of_a_job_that_is_deleted_meanwhile_is_not_found(
    tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with studio_here(tmp_path) as studio:
        job_id = studio.settled(studio.upload(film)["id"])["id"]

        def choose_and_delete(*asked: Any) -> results.Chosen:
            monkeypatch.undo()
            assert Client(studio.port).http.delete(f"/jobs/{job_id}").status_code == 204
            return results._choose(*asked)

        monkeypatch.setattr(results, "_choose", choose_and_delete)
        assert studio.keep(job_id, budget=0.4).status_code == 404
        assert studio.keep(job_id, budget=0.5).status_code == 404


def test_a_studio_takes_up_a_folder_where_another_left_it(tmp_path: Path, film: Path) -> None:
    with studio_here(tmp_path) as studio:
        job = studio.settled(studio.upload(film)["id"])
        studio.keep(job["id"], budget=0.4)
        studio.exported(job["id"], "edl")
    stray = tmp_path / "jobs" / job["id"] / "exports" / ".half.part"
    stray.write_bytes(b"left by a kill")
    upload = tmp_path / "jobs" / "0123456789abcdef" / "video" / "mine.mp4"  # of a job that the database has lost
    upload.parent.mkdir(parents=True)
    upload.write_bytes(b"kept")
    with studio_here(tmp_path) as studio:
        (again,) = studio.jobs()
        assert again["exports"][0]["is_current"]
        assert vastsum.Summary.from_dict(studio.get(f"/jobs/{job['id']}/result").json()).budget.fraction == 0.4
        assert studio.get(f"/jobs/{job['id']}/exports/edl/file").status_code == 200
        assert not stray.exists()
        assert files_in(tmp_path / "unclaimed") == {"0123456789abcdef/video/mine.mp4"}
        assert not (tmp_path / "jobs" / "0123456789abcdef").exists()
        assert studio.http.delete(f"/jobs/{job['id']}").status_code == 204
        assert not list((tmp_path / "jobs").iterdir())
        assert not list((tmp_path / "incoming").iterdir())
