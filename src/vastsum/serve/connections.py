"""The connections of a studio: how many there may be, and how long each may keep it waiting.

uvicorn waits for ever: for a request to begin, for its headers and body to end, for an answer to be read. It does so
before the token is asked, and holds all of it in memory. Here each of these has a limit.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

MAX_HEAD_BYTES = 32 * 2**10
MAX_HEADERS = 100
HEAD_S = 15.0  # for a request's first line and headers
BODY_S = 30.0  # in each such time, `LEAST_BODY_BYTES` of a body must come, or the rest of it
LEAST_BODY_BYTES = int(BODY_S * 16 * 2**10)
UNREAD_S = 60.0  # for what was sent to be read
_MAX_PIPELINED = 16
_MAX_CONNECTIONS = 1024
_FAREWELL_S = 2.0


def max_connections() -> int:
    """A third of the files that may be open: each connection may have one open besides; the rest is for jobs."""
    return min(_MAX_CONNECTIONS, _max_files() // 3)


def raise_max_files() -> None:
    """As far as this process may; many systems start programs with far fewer than that."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * _MAX_CONNECTIONS if hard == resource.RLIM_INFINITY else min(4 * _MAX_CONNECTIONS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _max_files() -> int:
    try:
        import resource
    except ImportError:
        return _MAX_CONNECTIONS
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 4 * _MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft


class _TooLargeError(Exception):
    """The head of a request."""


class Connection(HttpToolsProtocol):
    """One peer may have half of all connections. Where there are too many, the one idle for longest makes room."""

    _waiting: asyncio.TimerHandle | None = None  # for a head or a body
    _unread: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None
    _is_dropped = False
    _idle_since = 0.0
    _n_head_bytes = 0
    _n_unparsed = 0  # since the parser last had something to say
    _n_body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `pause_writing` tells of all that is not read
        self._idle_since = self.loop.time()
        self._wait_for_head()
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait(None)
        self.resume_writing()
        super().connection_lost(exc)
        if self._running is not None:  # uvicorn tells the last request in the pipeline alone
            self._running.disconnected = True
            self._running.message_event.set()

    @property
    def is_idle(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self._is_dropped and not self.transport.get_write_buffer_size()

    def drop(self) -> None:
        """Now: `close` would wait for what was sent to be read."""
        self._is_dropped = True
        self.transport.abort()

    # ---- too many, too much, too slow ----

    def _make_room(self) -> None:
        most = max_connections()
        peer = self.client and self.client[0]
        everyone = [other for other in self.connections if isinstance(other, Connection)]
        same_peer = [other for other in everyone if (other.client and other.client[0]) == peer]
        crowd = same_peer if len(same_peer) > most // 2 else everyone if len(everyone) > most else []
        if not crowd:
            return
        self.logger.warning("There are too many connections: idle ones are closed.")
        idle = [other for other in crowd if other.is_idle and other is not self]
        if idle:
            min(idle, key=lambda other: other._idle_since).drop()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "there are too many connections", "try again later")

    def _refuse(self, status: HTTPStatus, problem: str, remedy: str) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not (self.cycle.response_started or self.pipeline):
            body = json.dumps({"where": "request", "problem": problem, "remedy": remedy}).encode()
            head = f"HTTP/1.1 {status} {status.phrase}\r\nconnection: close\r\ncontent-type: application/json\r\n"
            self.transport.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()
        self._wait(self.loop.call_later(_FAREWELL_S, self.drop))

    def _refuse_head(self) -> None:
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "its headers are too large or too many", "send less")

    def _wait(self, timer: asyncio.TimerHandle | None) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
        self._waiting = timer

    def _wait_for_head(self) -> None:
        self._n_head_bytes = 0
        self._wait(self.loop.call_later(HEAD_S, self.drop))

    def _wait_for_body(self) -> None:
        self._n_body_bytes = 0
        self._wait(self.loop.call_later(BODY_S, self._check_body))

    def _check_body(self) -> None:
        if self._n_body_bytes >= LEAST_BODY_BYTES:
            self._wait_for_body()
        elif self.is_idle:  # it was answered without being read to its end
            self.drop()
        else:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "its body came too slowly", "send it again on a better connection")

    def _count_head(self, n_bytes: int) -> None:
        self._n_unparsed = 0
        self._n_head_bytes += n_bytes
        if self._n_head_bytes > MAX_HEAD_BYTES or len(self.headers) >= MAX_HEADERS:
            self._refuse_head()
            raise _TooLargeError  # which ends the parsing

    # ---- what uvicorn and the parser tell ----

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._waiting is None and self.is_idle:
            self._wait_for_head()
        self._n_unparsed += len(data)
        super().data_received(data)
        if self._n_unparsed > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse_head()

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:  # those after a chunked body, too
        self._count_head(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._n_unparsed = 0
        if len(self.pipeline) >= _MAX_PIPELINED:
            raise _TooLargeError
        self._wait_for_body()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._n_unparsed = 0
        super().on_body(body)
        # While the studio cannot take more, it is not for the client to hurry.
        self._n_body_bytes += LEAST_BODY_BYTES if self.flow.read_paused else len(body)

    def on_message_complete(self) -> None:
        self._n_unparsed = 0
        self._n_head_bytes = 0
        self._wait(None)
        super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        self._idle_since = self.loop.time()
        super().on_response_complete()

    def timeout_keep_alive_handler(self) -> None:
        self.drop()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(UNREAD_S, self.drop)

    def resume_writing(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
        super().resume_writing()
