"""Many clients at once on one studio while it works: how long a status call takes, and whether anything fails.

    python benchmarks/serve_load.py [--clients 200] [--seconds 30] [--pause 1.0] [--minutes 4]

Starts a studio on loopback with two workers, lets it summarise one video, then two longer ones while the clients are at
it. Each client, again and again: asks for the status of a job that runs, reads the whole result of one that is done,
and streams a range of a video as a seeking player does (256 KiB), pausing between rounds as a page does that polls.
Clients speak HTTP by hand over connections that stay open, from a process of their own, so that little is measured but
the server. Two cores are shared by all: server, workers and clients.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from video_material import video_of

RANGE_BYTES = 2**18


class Connection:
    """HTTP/1.1 by hand: one request after the other."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def get(self, path: str, headers: str = "") -> tuple[int, bytes]:
        return await self.send("GET", path, headers)

    async def send(self, method: str, path: str, headers: str = "", body: bytes = b"") -> tuple[int, bytes]:
        head = f"{method} /api/v1{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length = next(int(line.split(":")[1]) for line in answer if line.lower().startswith("content-length:"))
        return int(answer[0].split()[1]), await self._reader.readexactly(length)

    async def json(self, method: str, path: str, content: Any = None) -> Any:
        body = b"" if content is None else json.dumps(content).encode()
        status, answer = await self.send(method, path, "Content-Type: application/json\r\n", body)
        assert status < 400, answer
        return json.loads(answer)

    def close(self) -> None:
        self._writer.close()


@dataclass
class Measured:
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"status": [], "result": [], "range": []})
    errors: Counter[str] = field(default_factory=Counter)
    n_bytes: int = 0


async def client(port: int, busy: str, done: str, until_s: float, pause_s: float, measured: Measured) -> None:
    rng = random.Random(id(measured) + hash(asyncio.current_task()))
    connection = Connection(port)
    await connection.open()
    await asyncio.sleep(rng.uniform(0, pause_s))
    _, about = await connection.get(f"/jobs/{busy}")
    size = json.loads(about)["n_bytes"]
    while time.monotonic() < until_s:
        start = rng.randrange(max(size - RANGE_BYTES, 1))
        asked = {
            "status": (f"/jobs/{busy}", ""),
            "result": (f"/jobs/{done}/result", ""),
            "range": (f"/jobs/{busy}/video", f"Range: bytes={start}-{start + RANGE_BYTES - 1}\r\n"),
        }
        for what, (path, headers) in asked.items():
            began = time.perf_counter()
            try:
                status, body = await connection.get(path, headers)
            except (OSError, asyncio.IncompleteReadError) as error:
                measured.errors[f"{what}: {type(error).__name__}"] += 1
                await connection.open()
                continue
            measured.seconds[what].append(time.perf_counter() - began)
            measured.n_bytes += len(body)
            if status not in (200, 206):
                measured.errors[f"{what}: {status}"] += 1
        await asyncio.sleep(rng.uniform(0.5, 1.5) * pause_s)
    connection.close()


async def settled(connection: Connection, job_id: str) -> None:
    while (await connection.json("GET", f"/jobs/{job_id}"))["state"] != "done":
        await asyncio.sleep(0.2)


async def run(port: int, arguments: argparse.Namespace) -> None:
    connection = Connection(port)
    for _ in range(300):
        try:
            await connection.open()
            break
        except OSError:
            await asyncio.sleep(0.1)
    one, long = "720p30-1min.mp4", f"720p30-{arguments.minutes}min.mp4"
    done = (await connection.json("POST", "/jobs", {"library": one}))["id"]
    await settled(connection, done)
    busy = [(await connection.json("POST", "/jobs", {"library": long}))["id"] for _ in range(2)]
    measured = Measured()
    began, until_s = time.monotonic(), time.monotonic() + arguments.seconds
    n = arguments.clients
    clients = [client(port, busy[k % 2], done, until_s, arguments.pause, measured) for k in range(n)]
    await asyncio.gather(*clients)
    took_s = time.monotonic() - began
    states = [(await connection.json("GET", f"/jobs/{job_id}"))["state"] for job_id in busy]
    report(measured, took_s, arguments.clients, states)


def report(measured: Measured, took_s: float, n_clients: int, states: list[str]) -> None:
    n_requests = sum(map(len, measured.seconds.values()))
    print(
        f"{n_clients} clients for {took_s:.0f} s: {n_requests} requests ({n_requests / took_s:.0f} a second), "
        f"{measured.n_bytes / took_s / 2**20:.0f} MiB a second, errors: {dict(measured.errors) or 'none'}; "
        f"at the end the two jobs are {' and '.join(states)}"
    )
    print(f"{'':8} {'calls':>7} {'median':>9} {'p95':>9} {'p99':>9} {'longest':>9}   ms")
    for what, seconds in measured.seconds.items():
        ordered = sorted(seconds)
        shares = [1000 * ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0.5, 0.95, 0.99, 1)]
        print(f"{what:8} {len(ordered):7}" + "".join(f" {value:9.1f}" for value in shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--pause", type=float, default=1.0, help="between the rounds of a client, in seconds")
    parser.add_argument("--minutes", type=int, default=10, help="length of the videos that are worked on meanwhile")
    parser.add_argument("--folder", type=Path, help="where videos are made and kept; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        library = arguments.folder or Path(temporary) / "library"
        video_of(arguments.minutes, library)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        options = ["--port", str(port), "--data", f"{temporary}/data", "--library", str(library), "--workers", "2"]
        studio = subprocess.Popen([sys.executable, "-m", "vastsum", "serve", *options], stdout=subprocess.DEVNULL)
        try:
            asyncio.run(run(port, arguments))
        finally:
            studio.terminate()
            studio.wait()


if __name__ == "__main__":
    main()
