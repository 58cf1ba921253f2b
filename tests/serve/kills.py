"""A studio killed at random moments, for tests/serve and scripts/kill_studio.py."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

from studios import StudioProcess, files_in, wait_for

_LONGEST_PAUSE_S = 2.5  # about as long as a job takes


def kill_again_and_again(studio: StudioProcess, film: Path, n_kills: int, rng: random.Random) -> str:
    """Raises an AssertionError where anything is lost or left behind; gives one line about what was seen."""
    kept: dict[str, dict[str, Any]] = {}
    uploaded = [studio.client.upload(film, budget="30%")["id"]]
    n_interrupted = 0
    for _ in range(n_kills):
        _keep_what_is_done(studio, kept)
        uploaded.append(studio.client.upload(film, budget="30%")["id"])
        time.sleep(rng.uniform(0, _LONGEST_PAUSE_S))
        n_interrupted += sum(job["state"] == "running" for job in studio.client.jobs())
        studio.kill()
        studio.start()
        for job_id, result in kept.items():
            assert studio.client.get(f"/jobs/{job_id}/result").json() == result
    for job_id in uploaded:
        assert studio.client.settled(job_id)["state"] == "done"
    wait_for(lambda: all(export["state"] == "done" for job in studio.client.jobs() for export in job["exports"]))
    assert {job["id"] for job in studio.client.jobs()} == set(uploaded)
    found = {name for name in files_in(studio.data) if not name.startswith("studio.sqlite")}
    assert found == _known_files(studio)
    return (
        f"{len(uploaded)} jobs done, {n_interrupted} of them interrupted at least once, {len(found)} files, no orphan"
    )


def _keep_what_is_done(studio: StudioProcess, kept: dict[str, dict[str, Any]]) -> None:
    for job in studio.client.jobs():
        if job["state"] == "done" and job["id"] not in kept:
            assert studio.client.keep(job["id"], budget=0.5).status_code == 200
            kept[job["id"]] = studio.client.get(f"/jobs/{job['id']}/result").json()
            assert studio.client.http.put(f"/jobs/{job['id']}/exports/mp4").status_code == 202


def _known_files(studio: StudioProcess) -> set[str]:
    found = {"lock"}
    for job in studio.client.jobs():
        folder = f"jobs/{job['id']}"
        found |= {f"{folder}/video/{job['name']}", f"{folder}/whole.json"}
        found |= {f"{folder}/thumbnails/{n:03d}.jpg" for n in range(len(job["video"]["thumbnails_s"]))}
        found |= {f"{folder}/exports/{export['file']}" for export in job["exports"]}
    return found
