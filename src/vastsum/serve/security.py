"""Who may ask for what: the door through which every request comes, and the headers every answer leaves with."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vastsum.serve.config import StudioSettings, is_loopback
from vastsum.serve.errors import RefusedError

API = "/api/v1"
UPLOADS, SESSION = f"{API}/uploads", f"{API}/session"
MAX_JSON_BYTES = 8 * 2**20  # the edits of a very long video
MAX_TOKEN_BYTES = 16 * 2**10  # before anybody is known
MAX_SESSIONS = 1000

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


class Sessions:
    """Browsers that gave the token once, by the cookie each got for it; all end with the studio."""

    def __init__(self, settings: StudioSettings) -> None:
        self._token = settings.token
        self.cookie_name = f"vastsum-{settings.port}"  # browsers share cookies between the ports of a host
        self._open: dict[str, None] = {}  # hashes of cookies, so that a look-up's time says nothing of them

    def is_token(self, given: str) -> bool:
        return self._token is None or _equal(given, self._token)

    def open(self) -> str:
        cookie = secrets.token_urlsafe(32)
        self._open[_hash(cookie)] = None
        if len(self._open) > MAX_SESSIONS:
            del self._open[next(iter(self._open))]
        return cookie

    def is_open(self, headers: Headers) -> bool:
        return _hash(self._cookie(headers)) in self._open

    def close(self, headers: Headers) -> None:
        self._open.pop(_hash(self._cookie(headers)), None)

    def _cookie(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return ""
        return "" if cookie is None else cookie.value


class Door:
    """Turns away what comes under another name, from another site, or without the token."""

    def __init__(self, app: ASGIApp, settings: StudioSettings, sessions: Sessions) -> None:
        self._app = app
        self._settings = settings
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                # By path, since an answer that nothing has changed (304) renews the policy of what the browser kept.
                headers["content-security-policy"] = PAGE_POLICY if scope["path"] == "/" else DATA_POLICY
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            self._check(scope, Headers(scope=scope))
        except RefusedError as error:
            await refuse(error, send_guarded)
        else:
            await self._app(scope, _limited(scope, receive), send_guarded)

    def _check(self, scope: Scope, headers: Headers) -> None:
        path = scope["path"]
        self._check_name(headers.get("host", ""))
        self._check_site(headers, is_page=path == "/" and scope["method"] in ("GET", "HEAD"))
        if path.startswith("/api/") and path != SESSION:
            self._check_token(headers)
        length = headers.get("content-length", "0")
        if path != UPLOADS and length.isdecimal() and int(length) > _most_bytes(path):
            raise _too_large(path)

    def _check_name(self, host: str) -> None:
        """A page elsewhere can have its own name lead here (DNS rebinding). It cannot change the name that is asked
        for, though, and a numeric address is no name."""
        name = _host_of(host)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            is_known = name in self._settings.known_names
        else:
            is_known = is_loopback(str(address)) or not self._settings.on_loopback
        if not is_known:
            remedy = f"use {self._settings.url}, or start the studio with --name {name or 'NAME'}"
            raise RefusedError(403, f"host {name[:100]}", "the studio is not known by this name", remedy)

    def _check_site(self, headers: Headers, is_page: bool) -> None:
        """Browsers say where a request comes from. The page itself may be linked to; all else is its own alone."""
        site = headers.get("sec-fetch-site")
        if is_page and headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document":
            return
        origin = headers.get("origin")
        same_origin = origin is None or origin.partition("://")[2].lower() == headers.get("host", "").lower()
        if site not in (None, "same-origin", "none") or not same_origin:
            raise RefusedError(403, "request", "it comes from another site", "open the studio's own page")

    def _check_token(self, headers: Headers) -> None:
        if self._settings.token is None:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        is_known = scheme.lower() == "bearer" and self._sessions.is_token(given.strip())
        if not is_known and not self._sessions.is_open(headers):
            raise RefusedError(401, "token", "it is missing or wrong", "give the token the studio was started with")


async def refuse(error: RefusedError, send: Send) -> None:
    body = json.dumps({"where": error.where, "problem": error.problem, "remedy": error.remedy}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _limited(scope: Scope, receive: Receive) -> Receive:
    """A body that did not say how long it is may not be endless either; uploads are counted where they are stored."""
    if scope["path"] == UPLOADS:
        return receive
    n_bytes = 0

    async def counted() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > _most_bytes(scope["path"]):
            raise _too_large(scope["path"])
        return message

    return counted


def _most_bytes(path: str) -> int:
    return MAX_TOKEN_BYTES if path == SESSION else MAX_JSON_BYTES


def _too_large(path: str) -> RefusedError:
    return RefusedError(413, "request", f"larger than {_most_bytes(path)} bytes", "send less")


def _host_of(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _equal(given: str, wanted: str) -> bool:
    """In a time that does not tell how much of it is right."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode("utf-8", "surrogatepass"))
