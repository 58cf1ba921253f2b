"""The web application: the API, the page, and the door before both."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import FrameType

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from vastsum import __version__
from vastsum.errors import ConfigError, OutputError, VastsumError
from vastsum.serve.api import router
from vastsum.serve.config import StudioSettings
from vastsum.serve.connections import Connection, raise_max_files
from vastsum.serve.errors import RefusedError
from vastsum.serve.logs import Repeats
from vastsum.serve.security import API, Door, Sessions
from vastsum.serve.studio import Studio

DESCRIPTION = """Summarise videos, change what was chosen, and export it. Every error has the same body: where, problem
and remedy, for a person to read. Where the studio has a token, send it as `Authorization: Bearer …`, or exchange it for
a cookie at `/session`."""
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_KEEP_ALIVE_S = 60  # a page that polls now and then need not connect anew each time
_BACKLOG = 128  # connections that may come in between two looks at how many there are
_GRACE_S = 2  # for answers to end when the studio is asked to
_LOGS = ("uvicorn.error", "asyncio", "vastsum.serve")


def create_app(settings: StudioSettings) -> FastAPI:
    studio = Studio(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await studio.open()
        try:
            yield
        finally:
            await studio.close()

    app = FastAPI(
        title="VASTSum studio",
        version=__version__,
        description=DESCRIPTION,
        lifespan=lifespan,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # that page would load its scripts from elsewhere
        redoc_url=None,
        routes=[*_page()],
    )
    app.state.studio = studio
    app.state.sessions = sessions = Sessions(settings)
    app.include_router(router)
    app.add_exception_handler(VastsumError, _told)
    app.add_exception_handler(RequestValidationError, _not_understood)
    app.add_exception_handler(HTTPException, _by_the_framework)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_middleware(Door, settings=settings, sessions=sessions)
    return app


def serve(settings: StudioSettings) -> None:
    """Until it is interrupted."""
    raise_max_files()
    for name in _LOGS:
        logging.getLogger(name).addFilter(Repeats())
    with listen(settings) as listener, suppress(KeyboardInterrupt):  # which is how it is meant to be ended
        make_server(settings).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Asked to end, it leaves what its clients could draw out: tasks that are cancelled instead end in tracebacks."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        asyncio.get_running_loop().call_later(_GRACE_S / 2, self._drop_connections)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if not self.should_exit:  # it ends within seconds: a second Ctrl-C would only cut that short
            super().handle_exit(sig, frame)

    def _drop_connections(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def make_server(settings: StudioSettings) -> uvicorn.Server:
    config = uvicorn.Config(
        create_app(settings),
        http=Connection,
        ws="none",
        backlog=_BACKLOG,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    return _Server(config)


def listen(settings: StudioSettings) -> socket.socket:
    """Before anything else is begun, so that a port in use is a matter of one line."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        where = f"{settings.host}, port {settings.port}"
        raise ConfigError(
            where, f"cannot listen there ({error.strerror})", "choose another --port or --host"
        ) from error
    # Each answer leaves in two pieces; without this, the second waits 40 ms for the first to be acknowledged.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _page() -> list[Route]:
    """The page's files by name, read once: there is no path that could lead elsewhere."""
    own, shared = (files(room) / "page" for room in ("vastsum.serve", "vastsum.export"))
    kept = [item for item in own.iterdir() if _suffix(item.name) in _TYPES]
    kept += [item for item in shared.iterdir() if _suffix(item.name) in (".js", ".css")]
    return [_route("/" if item.name == "index.html" else f"/{item.name}", item) for item in kept]


def _route(path: str, file: Traversable) -> Route:
    content, media_type = file.read_bytes(), _TYPES[_suffix(file.name)]
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": etag, "cache-control": "no-cache"}

    async def answer(request: Request) -> Response:
        if request.headers.get("if-none-match") == etag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=media_type, headers=headers)

    return Route(path, answer, methods=["GET"], include_in_schema=False)


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]


def _answer(status: int, where: str, problem: str, remedy: str = "", **headers: str) -> JSONResponse:
    body = {"where": where, "problem": problem, "remedy": remedy}
    return JSONResponse(body, status_code=status, headers={name.replace("_", "-"): v for name, v in headers.items()})


async def _told(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, VastsumError)
    status = error.status if isinstance(error, RefusedError) else 507 if isinstance(error, OutputError) else 422
    retry = {"retry_after": "10"} if status == 429 else {}
    return _answer(status, error.where, error.problem, error.remedy, **retry)


async def _not_understood(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return _answer(422, where, str(first["msg"]), f"see {API}/openapi.json")


async def _by_the_framework(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    headers = {name.lower().replace("-", "_"): value for name, value in (error.headers or {}).items()}
    return _answer(error.status_code, request.url.path, str(error.detail), f"see {API}/openapi.json", **headers)


async def _gone(_: Request, __: Exception) -> JSONResponse:
    return _answer(400, "request", "it ended before it was complete", "send it again")
