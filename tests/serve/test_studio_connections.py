"""Clients that say nothing, too much, too little, or never listen: the studio answers everybody else."""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from studios import PATIENCE_S, Client, StudioProcess, studio_here, wait_for

from vastsum.serve import connections
from vastsum.serve.logs import Repeats

POST = b"POST /api/v1/%s HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextlib.contextmanager
def connected(port: int, n: int = 1) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S)) for _ in range(n)]


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side ends it."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := connection.recv(2**16):
            said += chunk
    return said


def test_silent_connections_make_room_for_others(studio: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "max_connections", lambda: 20)
    with connected(studio.port, 30) as silent:
        for _ in range(5):
            assert Client(studio.port).get("/about").status_code == 200
        ended = [connection for connection in silent[:15] if answer(connection) == b""]
        assert len(ended) == 15  # the oldest; a peer may have half of all


def test_peers_that_keep_all_their_connections_busy_are_told_so(
    studio: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    studio.http.close()  # a connection of its own that is kept alive would count
    studio.http = Client(studio.port).http
    monkeypatch.setattr(connections, "max_connections", lambda: 8)
    with connected(studio.port, 4) as busy:
        for connection in busy:
            connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        with connected(studio.port) as (late,):
            assert b"503 Service Unavailable" in answer(late)
    assert wait_for(lambda: studio.get("/about").status_code == 200)


@pytest.mark.parametrize("beginning", [b"", b"\r\n\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_requests_that_are_never_made_end(studio: Client, monkeypatch: pytest.MonkeyPatch, beginning: bytes) -> None:
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    with connected(studio.port) as (connection,):
        connection.sendall(beginning)
        assert answer(connection) == b""


TOO_LARGE = {
    "many small ones": b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 1000,
    "one that is long": b"GET / HTTP/1.1\r\nA: " + b"a" * 10**6,
    "a long address": b"GET /" + b"a" * 10**6,
    "after the body": POST % b"session" + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:b\r\n" * 1000,
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_headers_have_a_limit(studio: Client, name: str) -> None:
    with connected(studio.port) as (connection,):
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(TOO_LARGE[name])
        assert answer(connection)[:12] in (b"", b"HTTP/1.1 431")  # b"": it ended before all of it was sent
    assert studio.get("/about", headers={"x-long": "a" * 8000}).status_code == 200


def test_many_requests_at_once_on_one_connection_end_it(studio: Client) -> None:
    with connected(studio.port) as (connection,):
        connection.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 1000)
        assert answer(connection).count(b"HTTP/1.1") <= 1 + 1  # the first is a stream, which has no end


def test_uploads_that_stall_give_way(tmp_path: Path, film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "BODY_S", 0.3)
    request = POST % b"uploads?name=a.mp4" + b"Content-Length: 1000000\r\n\r\n" + b"x" * 100
    with studio_here(tmp_path, max_uploads=2) as studio, connected(studio.port, 2) as stalled:
        for connection in stalled:
            connection.sendall(request)
        wait_for(lambda: len(list((tmp_path / "incoming").iterdir())) == 2)
        for connection in stalled:
            assert answer(connection).startswith(b"HTTP/1.1 408")
        assert wait_for(lambda: not list((tmp_path / "incoming").iterdir()))
        assert studio.jobs() == []
        assert studio.upload(film)["state"] in ("queued", "running")


def test_answers_that_are_not_read_end(studio: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "large.mp4").write_bytes(bytes(2**25))
    job = studio.upload(tmp_path / "large.mp4")
    monkeypatch.setattr(connections, "UNREAD_S", 0.3)
    dropped: list[connections.Connection] = []
    monkeypatch.setattr(connections.Connection, "drop", lambda self: dropped.append(self))
    with connected(studio.port) as (connection,):
        connection.sendall(f"GET /api/v1/jobs/{job['id']}/video HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        (only,) = wait_for(lambda: dropped)
        only.transport.abort()


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_with_a_page_open_ends_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], times: int
) -> None:
    studio = StudioProcess(tmp_path)
    with studio.client.http.stream("GET", "/events") as stream, connected(studio.port) as (uploading,):
        next(stream.iter_lines())
        uploading.sendall(POST % b"uploads?name=a.mp4" + b"Content-Length: 1000000\r\n\r\nx")
        wait_for(lambda: list((tmp_path / "incoming").iterdir()))
        for _ in range(times):
            studio.process.send_signal(signal.SIGINT)
            time.sleep(0.3)
        assert studio.process.wait(PATIENCE_S) == 0
    assert capfd.readouterr().err == ""


def test_a_repeated_line_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("vastsum.serve.test_logs")
    log.addFilter(Repeats())
    for k in range(1000):
        log.warning("too many open files: %s", k % 2)
    assert len(caplog.records) == 2
