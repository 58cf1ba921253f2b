"""A studio as a user has it: a real server on a real port, in this process or in one of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

from vastsum.serve.app import listen, make_server
from vastsum.serve.config import StudioSettings

PATIENCE_S = 60.0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class Client:
    """The API, in the words of the tests."""

    def __init__(self, port: int, **options: Any) -> None:
        self.port = port
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=PATIENCE_S, **options)

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.http.get(path, **options)

    def upload(self, video: Path, name: str | None = None, **options: Any) -> dict[str, Any]:
        answer = self.http.post("/uploads", params={"name": name or video.name, **options}, content=video.read_bytes())
        assert answer.status_code == 201, answer.text
        return answer.json()

    def submit(self, **asked: Any) -> dict[str, Any]:
        answer = self.http.post("/jobs", json=asked)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def job(self, job_id: str) -> dict[str, Any]:
        answer = self.get(f"/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def jobs(self) -> list[dict[str, Any]]:
        return self.get("/jobs", params={"limit": 200}).json()["jobs"]

    def settled(self, job_id: str) -> dict[str, Any]:
        """The job when nothing more is to come."""
        return wait_for(lambda: (job := self.job(job_id))["state"] not in ("queued", "running") and job)

    def exported(self, job_id: str, format_name: str) -> httpx.Response:
        path = f"/jobs/{job_id}/exports/{format_name}"
        assert self.http.put(path).status_code == 202
        state = wait_for(lambda: (it := self.get(path).json())["state"] not in ("queued", "running") and it)
        assert state["state"] == "done", state
        return self.get(f"{path}/file")

    def keep(self, job_id: str, **edits: Any) -> httpx.Response:
        return self.http.put(f"/jobs/{job_id}/selection", json=edits)

    def messages(self, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Server-sent events."""
        with self.http.stream("GET", path) as answer:
            event = ""
            for line in answer.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    yield event, json.loads(line.removeprefix("data: "))


def wait_for(condition: Callable[[], Any]) -> Any:
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


@contextlib.contextmanager
def studio_here(data: Path, **settings: Any) -> Iterator[Client]:
    """In a thread of this process: real sockets and real workers, and its lines are seen by coverage."""
    known = StudioSettings(data=data, port=free_port(), **settings)
    server = make_server(known)
    thread = threading.Thread(target=lambda: server.run(sockets=[listen(known)]))
    thread.start()
    wait_for(lambda: server.started)
    token = settings.get("token")
    try:
        yield Client(known.port, headers={"authorization": f"Bearer {token}"} if token else {})
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)


class StudioProcess:
    """`vastsum serve` in a process of its own, which can be killed and started again on the same folder."""

    def __init__(self, data: Path, *options: object, **process: Any) -> None:
        self.data, self.port = data, free_port()
        self._options, self._process = options, process
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "vastsum", "serve", "--port", str(self.port), "--data", str(self.data)]
        self.process = subprocess.Popen(
            [*command, *map(str, self._options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            **self._process,
        )
        self.client = Client(self.port)
        wait_for(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, "the studio did not start"
        with contextlib.suppress(httpx.TransportError):
            return self.client.get("/about").status_code in (200, 401)
        return False

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_S)


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def workers_of(pid: int) -> list[int]:
    """The worker processes of a studio."""
    listed = subprocess.run(["ps", "-ww", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True)
    lines = [line.split(maxsplit=1) for line in listed.stdout.splitlines()]
    return [int(worker) for worker, command in lines if "spawn_main" in command]
