"""Attack a studio of our own in the ways that once did harm, and say what came of each.

    python scripts/attack.py

Starts `vastsum serve` on loopback, with its data in a temporary folder and 512 files it may open, and ends it
afterwards. Takes about two minutes. Exits with 1 where anything is found.
"""

from __future__ import annotations

import contextlib
import json
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "tests" / folder) for folder in ("serve", "video")]

import httpx  # noqa: E402
from films import Recipe, make_video  # noqa: E402
from studios import PATIENCE_S, Client, StudioProcess, wait_for  # noqa: E402

TOKEN = "for this attack alone"
MAX_FILES = 512
N_SILENT, N_HEADER_BYTES = 800, 64 * 2**20
MAX_GROWTH_MB = 64
MAX_LOG_BYTES = 20_000


class Target:
    def __init__(self, folder: Path) -> None:
        self.folder, self.log, self.library = folder, folder / "log", folder / "library"
        self.library.mkdir()
        self.film = make_video(folder / "film.mp4", Recipe(n_frames=250, fps=25, gop=25))
        with self.log.open("wb") as log:
            options = ("--token", TOKEN, "--library", self.library)
            self.studio = StudioProcess(folder / "data", *options, stderr=log)
        resource.prlimit(self.studio.process.pid, resource.RLIMIT_NOFILE, (MAX_FILES, MAX_FILES))
        self.process, self.client = self.studio.process, self.new_client()

    def new_client(self) -> Client:
        return Client(self.studio.port, headers={"authorization": f"Bearer {TOKEN}"})

    @contextlib.contextmanager
    def connected(self, n: int, first_words: bytes = b"") -> Iterator[list[socket.socket]]:
        with contextlib.ExitStack() as stack:
            place = ("127.0.0.1", self.studio.port)
            opened = [stack.enter_context(socket.create_connection(place, PATIENCE_S)) for _ in range(n)]
            for connection in opened:
                with contextlib.suppress(OSError):
                    connection.sendall(first_words)
            yield opened

    def request(self, line: str, length: int = 0) -> bytes:
        headers = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n"
        return f"{line} HTTP/1.1\r\n{headers}".encode()

    def memory_mb(self) -> int:
        return int(Path(f"/proc/{self.process.pid}/status").read_text().partition("VmRSS:")[2].split()[0]) // 1000

    def works(self) -> str:
        client = self.new_client()
        job = client.settled(client.upload(self.film, fast=True)["id"])
        return "" if job["state"] == "done" else f"a job failed: {job['failure']}"


def silent_connections(target: Target) -> str:
    with target.connected(N_SILENT):
        found = target.works()
    n_bytes = target.log.stat().st_size
    return found or (f"{n_bytes} bytes of log" if n_bytes > MAX_LOG_BYTES else "")


def endless_headers(target: Target) -> str:
    before, n_sent = target.memory_mb(), 0
    with target.connected(1, b"GET / HTTP/1.1\r\n") as (connection,), contextlib.suppress(OSError):
        while n_sent < N_HEADER_BYTES:
            n_sent += connection.send(b"a: b\r\n" * 10_000)
    grown_mb = target.memory_mb() - before
    is_harm = n_sent >= N_HEADER_BYTES or grown_mb > MAX_GROWTH_MB
    return f"{n_sent} bytes were taken in, memory grew by {grown_mb} MB" if is_harm else ""


def many_requests_on_one_connection(target: Target) -> str:
    before = target.memory_mb()
    with target.connected(20, target.request("GET /api/v1/events") * 10_000):
        time.sleep(2)
        grown_mb = target.memory_mb() - before
    return f"memory grew by {grown_mb} MB" if grown_mb > MAX_GROWTH_MB else ""


def stalled_uploads(target: Target) -> str:
    with target.connected(8, target.request("POST /api/v1/uploads?name=a.mp4", 10**6)):
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            with contextlib.suppress(AssertionError):  # refused while there are eight
                return target.works()
            time.sleep(1)
    return f"no upload was taken for {PATIENCE_S:.0f} s"


def playlist_in_place_of_a_video(target: Target) -> str:
    (target.library / "leak.mp4").symlink_to(target.film)
    turned = target.library / "turned.mp4"
    turned.write_bytes(target.film.read_bytes())
    job = target.client.settled(target.client.submit(library="turned.mp4", fast=True)["id"])
    turned.write_text("ffconcat version 1.0\nfile leak.mp4\n")
    with contextlib.suppress(AssertionError):
        return f"a video outside the library was exported: {target.client.exported(job['id'], 'mp4')}"
    return ""


def playlist_that_asks_what_exists(target: Target) -> str:
    answers = set()
    for named in (target.film, target.folder / "absent.mp4"):
        playlist = target.folder / "list.m3u8"
        playlist.write_text(f"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:{named}\n#EXT-X-ENDLIST\n")
        job = target.client.settled(target.client.upload(playlist)["id"])
        answers.add(json.dumps(job["failure"]))
    return "" if len(answers) == 1 else f"the answers differ: {answers}"


def deletion_in_the_middle_of_a_change(target: Target) -> str:
    first = target.client.settled(target.client.upload(target.film, fast=True)["id"])
    jobs = [target.client.settled(target.client.submit(job=first["id"], fast=True)["id"])["id"] for _ in range(5)]
    answers: list[int] = []

    def change(job: str) -> None:
        client = target.new_client()
        answers.extend(client.keep(job, budget=k / 100).status_code for k in range(1, 40))

    for job in jobs:
        thread = threading.Thread(target=change, args=(job,))
        thread.start()
        wait_for(lambda: answers)
        target.client.http.delete(f"/jobs/{job}")
        thread.join()
    return "" if set(answers) <= {200, 404} else f"answers: {sorted(set(answers))}"


def kept_cookie(target: Target) -> str:
    with httpx.Client(base_url=f"http://127.0.0.1:{target.studio.port}/api/v1") as browser:
        opened = browser.post("/session", json={"token": TOKEN})
        cookie = {"Cookie": opened.headers["set-cookie"].partition(";")[0]}
        browser.delete("/session", headers=cookie)
        browser.cookies.clear()
        return "it still opens the studio" if browser.get("/jobs", headers=cookie).status_code == 200 else ""


def blank_token(target: Target) -> str:
    with contextlib.suppress(AssertionError):  # it did not start
        StudioProcess(target.folder / "blank", "--token", " " * 8, stderr=subprocess.DEVNULL).kill()
        return "the studio opened"
    return ""


def ctrl_c_with_a_page_open(target: Target) -> str:
    before = target.log.stat().st_size
    with target.connected(1, target.request("GET /api/v1/events")) as (connection,):
        connection.recv(1000)
        target.process.send_signal(signal.SIGINT)
        target.process.wait(PATIENCE_S)
    said = target.log.read_bytes()[before:].decode()
    return f"{len(said.splitlines())} lines: {said.splitlines()[-1]}" if said else ""


ATTACKS: list[Callable[[Target], str]] = [
    silent_connections, endless_headers, many_requests_on_one_connection, stalled_uploads, playlist_in_place_of_a_video,
    playlist_that_asks_what_exists, deletion_in_the_middle_of_a_change, kept_cookie, blank_token,
    ctrl_c_with_a_page_open,
]  # fmt: skip


def main() -> None:
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        target = Target(Path(folder))
        try:
            for attack in ATTACKS:
                try:
                    result = attack(target)
                except (AssertionError, httpx.HTTPError, OSError) as error:
                    result = f"{type(error).__name__}: {str(error)[:200]}"
                found += bool(result)
                print(f"{attack.__name__.replace('_', ' '):40} {result or 'nothing found'}", flush=True)
        finally:
            target.studio.end()
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
