"""From a video to its summary and its exports, over HTTP."""

from __future__ import annotations

import io
import threading
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image
from studios import Client, files_in, studio_here, wait_for

import vastsum
from vastsum.assets import read_asset
from vastsum.export import FORMATS


def test_an_upload_becomes_a_summary_and_says_how_far_it_is(studio: Client, film: Path) -> None:
    job = studio.upload(film, budget="25%")
    assert job["state"] in ("queued", "running")
    told = list(studio.messages(f"/jobs/{job['id']}/events"))
    assert {event for event, _ in told} == {"job"}
    stages = [content["progress"]["stage"] for _, content in told if content["progress"]]
    assert "watching" in stages
    last = told[-1][1]
    assert last["state"] == "done"
    assert last["video"]["duration_s"] == pytest.approx(24.0)
    assert last == studio.job(job["id"])

    summary = vastsum.Summary.from_dict(studio.get(f"/jobs/{job['id']}/result").json())
    by_command = vastsum.summarize(film, "25%").to_dict()
    assert summary.to_dict() == {**by_command, "video": {**by_command["video"], "path": "holiday.mp4"}}


def test_a_video_of_the_library_is_summarised_where_it_lies(studio: Client, library: Path) -> None:
    before = files_in(library)
    listed = studio.get("/library", params={"path": "trips/2024"}).json()["entries"]
    assert [entry["path"] for entry in listed] == ["trips/2024/alps.mp4"]
    job = studio.settled(studio.submit(library="trips/2024/alps.mp4", fast=True)["id"])
    assert job["state"] == "done"
    assert studio.get(f"/jobs/{job['id']}/video").content == (library / "trips/2024/alps.mp4").read_bytes()
    assert files_in(library) == before


def test_the_library_shows_folders_and_videos_only(studio: Client) -> None:
    entries = studio.get("/library").json()["entries"]
    assert [(entry["name"], entry["is_folder"]) for entry in entries] == [
        ("trips", True),
        ("again.mp4", False),
        ("holiday.mp4", False),
    ]


def test_another_budget_needs_no_work_and_edits_are_kept(studio: Client, done: dict[str, Any]) -> None:
    job_id = done["id"]
    first = studio.get(f"/jobs/{job_id}/selection").json()
    assert first["edits"] == {"budget": 0.25, "starts": None, "held": []}
    found = first["found"]
    looked_at = studio.get(f"/jobs/{job_id}/result", params={"budget": 0.5}).json()
    assert looked_at["budget"]["fraction"] == 0.5
    assert studio.get(f"/jobs/{job_id}/selection").json() == first

    starts = [*found[:-1], found[-1] + 5]
    edits = {"budget": 0.3, "starts": starts, "held": [[starts[0], False], [starts[-1], True]]}
    kept = studio.keep(job_id, **edits)
    assert kept.status_code == 200, kept.text
    assert kept.json()["edits"] == edits
    assert studio.job(job_id)["is_edited"]
    segments = studio.get(f"/jobs/{job_id}/result").json()["segments"]
    assert [segment["start_frame"] for segment in segments] == starts
    assert (segments[0]["selected"], segments[-1]["selected"]) == (False, True)
    as_chosen = studio.get(f"/jobs/{job_id}/result", params={"edited": "false"}).json()
    assert as_chosen["starts"] == found
    preview = studio.http.post(f"/jobs/{job_id}/select", json={"budget": 0.1}).json()
    assert preview["budget"]["fraction"] == 0.1
    assert studio.get(f"/jobs/{job_id}/selection").json()["edits"] == edits
    assert studio.keep(job_id, budget=0.25).status_code == 200
    assert not studio.job(job_id)["is_edited"]


@pytest.mark.parametrize(
    ("edits", "problem"),
    [
        ({"budget": 0.2, "held": [[1, True]]}, "no segment starts there"),
        ({"budget": 0.2, "starts": [5, 10]}, "one after another"),
        ({"budget": 0.2, "starts": [0, 100_000]}, "one after another"),
        ({"budget": 0.2, "starts": [0], "held": [[0, False]]}, "every segment is left out"),
        ({"budget": 0}, "greater than 0"),
        ({"budget": 2}, "less than or equal to 1"),
        ({"budget": 0.2, "starst": []}, "not permitted"),
        ({}, "required"),
    ],
)
def test_edits_that_make_no_sense_are_refused_and_change_nothing(
    studio: Client, done: dict[str, Any], edits: dict[str, Any], problem: str
) -> None:
    before = studio.get(f"/jobs/{done['id']}/selection").json()
    answer = studio.keep(done["id"], **edits)
    assert answer.status_code == 422
    assert problem in answer.json()["problem"]
    assert studio.get(f"/jobs/{done['id']}/selection").json() == before


def test_every_format_is_exported(studio: Client, done: dict[str, Any]) -> None:
    for name, kind in FORMATS.items():
        answer = studio.exported(done["id"], name)
        assert answer.status_code == 200
        assert answer.content
        assert f"holiday{kind.suffix}" in answer.headers["content-disposition"]
        assert answer.headers["content-disposition"].startswith("attachment")
    summary = vastsum.Summary.from_dict(studio.get(f"/jobs/{done['id']}/result").json())
    with av.open(io.BytesIO(studio.exported(done["id"], "mp4").content)) as container:
        assert len(list(container.decode(video=0))) == summary.n_frames
    assert vastsum.Summary.from_dict(studio.exported(done["id"], "json").json()) == summary


def test_an_export_is_made_anew_when_the_selection_has_changed(studio: Client, done: dict[str, Any]) -> None:
    def current() -> bool:
        (vtt,) = [export for export in studio.job(done["id"])["exports"] if export["format"] == "vtt"]
        return vtt["is_current"]

    short = studio.exported(done["id"], "vtt").text
    assert studio.exported(done["id"], "vtt").text == short
    assert current()
    studio.keep(done["id"], budget=0.9)
    assert not current()
    assert studio.exported(done["id"], "vtt").text != short
    assert current()
    studio.keep(done["id"], budget=0.25)
    assert studio.http.delete(f"/jobs/{done['id']}/exports/vtt").status_code == 204
    assert studio.get(f"/jobs/{done['id']}/exports/vtt/file").status_code == 404


def test_ranges_are_served_for_seeking(studio: Client, done: dict[str, Any], film: Path) -> None:
    whole = film.read_bytes()
    path = f"/jobs/{done['id']}/video"
    for asked, part in (("0-99", whole[:100]), ("1000-", whole[1000:]), ("-50", whole[-50:])):
        answer = studio.get(path, headers={"range": f"bytes={asked}"})
        assert answer.status_code == 206
        assert answer.content == part
    assert studio.get(path).headers["content-type"] == "video/mp4"
    assert studio.get(path, headers={"range": f"bytes={len(whole)}-"}).status_code == 416
    assert studio.get(path, headers={"range": "lines=1-2"}).status_code == 400
    studio.exported(done["id"], "mp4")
    assert len(studio.get(f"/jobs/{done['id']}/exports/mp4/file", headers={"range": "bytes=5-8"}).content) == 4


def test_there_is_a_thumbnail_for_each_time(studio: Client, done: dict[str, Any]) -> None:
    times_s = done["video"]["thumbnails_s"]
    assert len(times_s) >= 12
    for n in (0, len(times_s) - 1):
        picture = Image.open(io.BytesIO(studio.get(f"/jobs/{done['id']}/thumbnails/{n}").content))
        assert picture.size == (160, 120)
    assert studio.get(f"/jobs/{done['id']}/thumbnails/{len(times_s)}").status_code == 404


def test_the_same_video_can_be_summarised_in_another_way_and_outlives_the_first(studio: Client, film: Path) -> None:
    first = studio.settled(studio.upload(film)["id"])
    second = studio.settled(studio.submit(job=first["id"], budget="6s", fast=True)["id"])
    assert second["state"] == "done"
    assert second["video"]["budget"] == pytest.approx(0.25)
    assert studio.http.delete(f"/jobs/{first['id']}").status_code == 204
    assert studio.get(f"/jobs/{second['id']}/video").content == film.read_bytes()


def test_further_models_are_found_by_name(tmp_path: Path, film: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "mine.onnx").write_bytes(read_asset("vastsum.onnx"))
    (models / "broken.onnx").write_bytes(b"not a model")
    with studio_here(tmp_path / "data", models=models) as studio:
        assert studio.get("/about").json()["models"] == ["vastsum", "broken", "mine"]
        mine = studio.settled(studio.upload(film, model="mine", fast=True)["id"])
        assert studio.get(f"/jobs/{mine['id']}/result").json()["model"]["scorer"] == "mine"
        broken = studio.settled(studio.submit(job=mine["id"], model="broken")["id"])
        assert broken["state"] == "failed"
        assert "broken.onnx" in broken["failure"]["problem"]
        assert studio.http.post("/jobs", json={"job": mine["id"], "model": "absent"}).status_code == 422


def test_history_comes_newest_first_and_in_pages(studio: Client, done: dict[str, Any]) -> None:
    numbers = [job["number"] for job in studio.jobs()]
    assert numbers == sorted(numbers, reverse=True)
    assert done["number"] in numbers
    page = studio.get("/jobs", params={"limit": 1}).json()
    assert [job["number"] for job in page["jobs"]] == numbers[:1]
    page = studio.get("/jobs", params={"limit": 1, "before": page["before"]}).json()
    assert [job["number"] for job in page["jobs"]] == numbers[1:2]


def test_a_job_can_be_cancelled_while_it_runs_or_waits_and_then_deleted(
    tmp_path: Path, film: Path, long_film: Path
) -> None:
    with studio_here(tmp_path) as studio:
        running, waiting = studio.upload(long_film), studio.upload(film)
        wait_for(lambda: (studio.job(running["id"])["progress"] or {}).get("stage") == "watching")
        assert studio.job(waiting["id"])["position"] == 0
        for job in (running, waiting):
            assert studio.http.post(f"/jobs/{job['id']}/cancel").json()["state"] == "cancelled"
            assert studio.http.post(f"/jobs/{job['id']}/cancel").status_code == 409
            assert studio.get(f"/jobs/{job['id']}/result").status_code == 409
        after = studio.settled(studio.upload(film)["id"])
        assert after["state"] == "done"
        for job in studio.jobs():
            assert studio.http.delete(f"/jobs/{job['id']}").status_code == 204
        assert studio.jobs() == []
        assert {name for name in files_in(tmp_path) if not name.startswith("studio.sqlite")} == {"lock"}


def test_deleting_a_running_job_stops_it(studio: Client, long_film: Path) -> None:
    job = studio.upload(long_film)
    told: list[str] = []

    def listen() -> None:
        for event, content in studio.messages("/events"):
            if content["id"] == job["id"]:
                told.append(event)
                if event == "deleted":
                    return

    listener = threading.Thread(target=listen)
    listener.start()
    wait_for(lambda: "job" in told)
    assert studio.http.delete(f"/jobs/{job['id']}").status_code == 204
    listener.join(30)
    assert told[-1] == "deleted"
    assert studio.get(f"/jobs/{job['id']}").status_code == 404


def test_the_queue_is_bounded(tmp_path: Path, film: Path, long_film: Path) -> None:
    with studio_here(tmp_path, max_queued=1) as studio:
        first = studio.upload(long_film)
        wait_for(lambda: studio.job(first["id"])["state"] == "running")
        second = studio.upload(film)
        refused = studio.http.post("/uploads", params={"name": "third.mp4"}, content=film.read_bytes())
        assert refused.status_code == 429
        assert "retry-after" in refused.headers
        assert "waiting" in refused.json()["problem"]
        studio.http.delete(f"/jobs/{first['id']}")
        assert studio.settled(second["id"])["state"] == "done"
