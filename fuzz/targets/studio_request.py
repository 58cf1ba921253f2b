"""Requests to the studio, heads and JSON bodies: raw bytes over a real connection to a studio in this process."""

from __future__ import annotations

import atexit
import json
import logging
import random
import re
import socket
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from fuzz.mutation import mutate_json, text_mutator
from fuzz.target import Target
from vastsum.serve.app import listen, make_server
from vastsum.serve.config import StudioSettings

_TIMEOUT_S = 0.5  # for what waits for more, by a request that is not whole
_WORDS = (
    "GET ", "PUT ", "DELETE ", "HTTP/1.1", "HTTP/9", "\r\n", "\n", ": ", "content-length: 5", "host: x", "cookie: a=b",
    "expect: 100-continue", "transfer-encoding: chunked", "range: bytes=5-", "range: bytes=-1", "authorization: Bearer",
    "/api/v1/jobs", "/selection", "..", "%00", "%2e%2e/", "?budget=1e999", "\0", "\xff", "x" * 40_000, "a: b\r\n" * 200,
)  # fmt: skip
_JOB = "/api/v1/jobs/0123456789abcdef0123456789abcdef"
_spoil_head = text_mutator(_WORDS)


def _request(method: str, path: str, body: object = None) -> bytes:
    content = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(content) + content


def seeds(_: Path) -> list[bytes]:
    return [
        _request("GET", "/api/v1/jobs?limit=5"),
        _request("GET", "/api/v1/library?path=a"),
        _request("POST", "/api/v1/jobs", {"library": "a.mp4", "budget": "15%", "model": "vastsum", "fast": False}),
        _request("PUT", f"{_JOB}/selection", {"budget": 0.3, "starts": [0, 100], "held": [[0, True], [100, False]]}),
        _request("DELETE", _JOB),
    ]


def mutate(data: bytes, rng: random.Random, others: Sequence[bytes] = ()) -> bytes:
    """The head, or the values of the body under a head that fits it."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not (found and body) or rng.random() < 0.5:
        return _spoil_head(data, rng, others)
    spoiled = mutate_json(body, rng)
    return re.sub(rb"content-length: \d+", b"content-length: %d" % len(spoiled), head) + b"\r\n\r\n" + spoiled


@cache
def _port() -> int:
    """Of a studio that runs until this process ends."""
    data = tempfile.TemporaryDirectory()
    with socket.create_server(("127.0.0.1", 0)) as free:
        settings = StudioSettings(data=Path(data.name), port=free.getsockname()[1], library=Path(data.name))
    server = make_server(settings)
    logging.getLogger("uvicorn.error").disabled = True  # it has a line for every request that is none
    thread = threading.Thread(target=lambda: server.run(sockets=[listen(settings)]), daemon=True)
    thread.start()
    atexit.register(data.cleanup)
    while not server.started:
        time.sleep(0.01)
    return settings.port


def _answer(request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", _port()), timeout=_TIMEOUT_S) as connection:
        try:
            connection.sendall(request)
            return connection.recv(1 << 16)
        except (ConnectionError, TimeoutError):  # refused while it was being sent, or it waits
            return b""


def use(path: Path) -> None:
    answer = _answer(path.read_bytes())
    assert not answer.startswith(b"HTTP/1.1 500"), answer[:300]
    assert any(b" 200 " in _answer(_request("GET", "/api/v1/about")) for _ in range(20)), "the studio answers no more"


TARGET = Target("request.bin", seeds, use, mutate, native=True)
