"""What strangers try: other paths, other sites, other names, no token, too much, and HTML in names."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from studios import Client, files_in, studio_here

from vastsum.errors import ConfigError
from vastsum.serve.config import StudioSettings
from vastsum.serve.library import safe_name
from vastsum.serve.security import MAX_JSON_BYTES

TOKEN = "open sesame, please"

OUTSIDE = [
    "../secret.mp4", "..", "trips/../../secret.mp4", "/etc/passwd", "//etc/passwd", "leak.mp4", "out/secret.mp4", "out",
    "..\\secret.mp4", "%2e%2e/secret.mp4", "....//secret.mp4", "trips/\0/../../secret.mp4", "~/secret.mp4", "a" * 4000,
    "file:///etc/passwd", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
]  # fmt: skip


def raw(port: int, method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Any:
    """Exactly this request: no client that tidies paths up on the way."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
    for name, value in {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body)), **(headers or {})}.items():
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    answer.content = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_the_library_can_be_listed_or_summarised(studio: Client, path: str) -> None:
    for answer in (studio.get("/library", params={"path": path}), studio.http.post("/jobs", json={"library": path})):
        assert answer.status_code in (404, 422), answer.text
        assert "root:" not in answer.text
    assert not [job for job in studio.jobs() if job["library_path"] == path]


def test_a_link_that_turns_bad_later_is_not_followed(studio: Client, library: Path, film: Path) -> None:
    turned = library / "turned.mp4"
    turned.write_bytes(film.read_bytes())
    job = studio.settled(studio.submit(library="turned.mp4", fast=True)["id"])
    turned.unlink()
    turned.symlink_to(library.parent / "secret.mp4")
    assert studio.get(f"/jobs/{job['id']}/video").status_code == 404
    turned.unlink()


TRAVERSALS = [
    "../../studio.sqlite",
    "..%2f..%2fstudio.sqlite",
    "%2e%2e",
    "....//",
    "/etc/passwd",
    "a/b",
    "%00",
    "\\..\\..",
]


@pytest.mark.parametrize("bad", TRAVERSALS)
def test_no_other_parameter_is_a_way_out_either(studio: Client, done: dict[str, Any], bad: str) -> None:
    job = f"/api/v1/jobs/{done['id']}"
    targets = [
        f"/api/v1/jobs/{bad}", f"/api/v1/jobs/{bad}/video", f"/api/v1/jobs/{bad}/result", f"{job}/exports/{bad}",
        f"{job}/exports/{bad}/file", f"{job}/thumbnails/{bad}", f"{job}/{bad}", f"/{bad}", f"/api/v1/{bad}",
    ]  # fmt: skip
    for target in targets:
        for method in ("GET", "PUT", "DELETE"):
            answer = raw(studio.port, method, target.replace(" ", "%20"))
            assert answer.status in (307, 404, 405, 422), (method, target, answer.status)
            assert b"SQLite" not in answer.content
            assert b"root:" not in answer.content
    assert studio.http.post("/jobs", json={"library": "holiday.mp4", "model": bad}).status_code == 422
    assert studio.http.post("/uploads", params={"name": "a.mp4", "model": bad}, content=b"x").status_code == 422
    assert studio.http.post("/jobs", json={"job": bad}).status_code == 422


@pytest.mark.parametrize(
    "name", ["../../../evil.mp4", "/etc/cron.d/evil", "..\\..\\evil.mp4", "...", ".hidden.mp4", "a\0b\n.mp4", "x" * 999]
)
def test_the_name_of_an_upload_is_only_a_name(studio: Client, tmp_path: Path, name: str) -> None:
    (tmp_path / "evil").write_bytes(b"not a video")
    job = studio.upload(tmp_path / "evil", name=name)
    assert job["name"] == safe_name(name)
    assert not set("/\\\0\n") & set(job["name"])
    assert not job["name"].startswith(".")
    assert len(job["name"].encode()) <= 200
    assert studio.settled(job["id"])["state"] == "failed"
    assert studio.http.delete(f"/jobs/{job['id']}").status_code == 204


def test_uploads_have_a_limit_announced_or_not(tmp_path: Path) -> None:
    with studio_here(tmp_path, max_upload_bytes=100_000) as studio:

        def endless() -> Iterator[bytes]:
            for _ in range(100):
                yield bytes(10_000)

        announced = raw(studio.port, "POST", "/api/v1/uploads?name=a.mp4", {"Content-Length": str(10**12)})
        assert announced.status == 413
        assert studio.http.post("/uploads", params={"name": "a.mp4"}, content=endless()).status_code == 413
        assert studio.http.post("/uploads", params={"name": "a.mp4"}, content=b"").status_code == 422
        assert studio.http.post("/uploads", content=b"x").status_code == 422
        assert studio.jobs() == []
        assert {name for name in files_in(tmp_path) if not name.startswith("studio.sqlite")} == {"lock"}


def test_other_bodies_have_a_limit_too(studio: Client) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(MAX_JSON_BYTES // 2**20 + 2):
            yield b" " * 2**20

    headers = {"content-type": "application/json"}
    assert studio.http.post("/jobs", content=endless(), headers=headers).status_code in (400, 413)
    assert raw(studio.port, "POST", "/api/v1/jobs", {"Content-Length": str(10**12)}).status == 413
    assert raw(studio.port, "POST", "/api/v1/session", {"Content-Length": str(10**5)}).status == 413


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with studio_here(tmp_path_factory.mktemp("guarded"), token=TOKEN) as client:
        yield client


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer open sesame", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer \xe9"]
)
def test_without_the_token_the_api_is_closed(guarded: Client, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": given}
    paths = ["about", "jobs", "library", "events", "openapi.json", "jobs/0123456789abcdef/video"]
    for method, path in [*(("GET", path) for path in paths), ("POST", "jobs"), ("POST", "uploads?name=a.mp4")]:
        answer = raw(guarded.port, method, f"/api/v1/{path}", headers, b"x" if method == "POST" else b"")
        assert answer.status == 401, path
        assert json.loads(answer.content)["remedy"]


def test_the_token_opens_as_a_header_or_as_a_cookie(guarded: Client) -> None:
    assert guarded.get("/jobs").status_code == 200
    path = "/api/v1/session"
    wrong = raw(guarded.port, "POST", path, {"Content-Type": "application/json"}, b'{"token": "open sesame"}')
    assert wrong.status == 401
    assert wrong.getheader("set-cookie") is None
    body = json.dumps({"token": TOKEN}).encode()
    right = raw(guarded.port, "POST", path, {"Content-Type": "application/json"}, body)
    cookie = right.getheader("set-cookie")
    assert right.status == 204
    for word in ("HttpOnly", "SameSite=strict", "Path=/"):
        assert word in cookie
    assert TOKEN not in cookie
    pair = cookie.partition(";")[0]
    assert raw(guarded.port, "GET", "/api/v1/jobs", {"Cookie": pair}).status == 200
    assert raw(guarded.port, "GET", "/api/v1/jobs", {"Cookie": pair[:-1]}).status == 401
    assert raw(guarded.port, "DELETE", path, {"Cookie": pair}).status == 204
    assert raw(guarded.port, "GET", "/api/v1/jobs", {"Cookie": pair}).status == 401  # whoever has kept it
    assert raw(guarded.port, "GET", "/", {}).status == 200  # the page itself, which asks for the token, holds nothing


def test_other_hosts_need_a_token_and_a_good_one(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "studio.example"):
        with pytest.raises(ConfigError, match="--token"):
            StudioSettings(tmp_path, host=host)
        assert StudioSettings(tmp_path, host=host, token=TOKEN)
    for host in ("127.0.0.1", "127.1.2.3", "::1", "localhost"):
        assert StudioSettings(tmp_path, host=host).on_loopback
    for token in ("1234", "x" * 30):
        with pytest.raises(ConfigError, match="easily guessed"):
            StudioSettings(tmp_path, token=token)
    for token in (" " * 8, "open sesame\n", "\topen sesame"):
        with pytest.raises(ConfigError, match="space"):
            StudioSettings(tmp_path, token=token)
    with pytest.raises(ConfigError, match="not a folder"):
        StudioSettings(tmp_path, library=tmp_path / "absent")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
    ],
)
def test_other_sites_are_refused(studio: Client, done: dict[str, Any], method: str, headers: dict[str, str]) -> None:
    for path in ("jobs", f"jobs/{done['id']}", f"jobs/{done['id']}/video", "uploads?name=a.mp4"):
        answer = raw(studio.port, method, f"/api/v1/{path}", headers)
        assert answer.status == 403
        assert answer.getheader("access-control-allow-origin") is None
    assert studio.job(done["id"])


def test_the_studios_own_page_and_links_to_it_are_not_refused(studio: Client) -> None:
    own = {"Origin": f"http://127.0.0.1:{studio.port}", "Sec-Fetch-Site": "same-origin"}
    assert raw(studio.port, "GET", "/api/v1/jobs", own).status == 200
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert raw(studio.port, "GET", "/", link).status == 200
    framed = {**link, "Sec-Fetch-Dest": "iframe"}
    assert raw(studio.port, "GET", "/", framed).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "10.0.0.1"]
)
def test_names_that_lead_here_from_elsewhere_are_refused(studio: Client, host: str) -> None:
    assert raw(studio.port, "GET", "/api/v1/jobs", {"Host": host}).status in (400, 403)
    assert raw(studio.port, "GET", "/", {"Host": host}).status in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:9000", "127.0.0.1:1", "[::1]:8000"])
def test_loopback_by_any_name_is_known(studio: Client, host: str) -> None:
    assert raw(studio.port, "GET", "/api/v1/jobs", {"Host": host}).status == 200


def test_every_answer_is_wrapped_up(studio: Client, done: dict[str, Any]) -> None:
    for path in ("/", "/studio.js", "/api/v1/jobs", f"/api/v1/jobs/{done['id']}/video", "/absent", "/api/v1/jobs/x"):
        answer = raw(studio.port, "GET", path)
        policy = answer.getheader("content-security-policy")
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.getheader("x-content-type-options") == "nosniff"
        assert answer.getheader("x-frame-options") == "DENY"
        assert answer.getheader("server") is None
    assert raw(studio.port, "OPTIONS", "/api/v1/jobs").status == 405
    page = raw(studio.port, "GET", "/")
    unchanged = raw(studio.port, "GET", "/", {"If-None-Match": page.getheader("etag")})
    assert unchanged.status == 304
    assert unchanged.getheader("content-security-policy") == page.getheader("content-security-policy")


def test_html_in_names_stays_text(studio: Client, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a video")
    name = '<img src=x onerror=alert(1)>&"quote".mp4'
    job = studio.upload(tmp_path / "x", name=name)
    assert job["name"] == "<img src=x onerror=alert(1)>&quote.mp4"
    answer = studio.get(f"/jobs/{job['id']}")
    assert answer.headers["content-type"] == "application/json"
    refused = studio.get(f"/jobs/{quote('<script>alert(1)</script>', safe='')}")
    assert refused.status_code in (404, 422)
    assert refused.headers["content-type"] == "application/json"


def test_requests_that_are_no_http_do_no_harm(studio: Client) -> None:
    for garbage in (
        b"\0\1\2\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 100_000,
        b"POST / HTTP/1.1\r\nHost:",
    ):
        with socket.create_connection(("127.0.0.1", studio.port)) as connection:
            connection.sendall(garbage)
    assert studio.get("/about").status_code == 200


def test_the_description_is_served_and_names_every_error(studio: Client) -> None:
    described = studio.get("/openapi.json").json()
    assert described["openapi"].startswith("3.")
    operations = [op for path in described["paths"].values() for op in path.values()]
    assert len(operations) >= 20
    for operation in operations:
        assert operation["summary"]
        assert operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("ErrorBody")


def test_the_web_parts_are_not_loaded_until_they_are_asked_for() -> None:
    code = "import sys, vastsum, vastsum.cli, vastsum.serve.worker; print({'fastapi', 'uvicorn'} & {*sys.modules})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"


def test_without_the_extra_the_command_says_how_to_install_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['fastapi'] = None; sys.argv = ['', 'serve']; from vastsum.cli import main; main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 1
    assert 'pip install ".[serve]"' in " ".join(ended.stderr.split())


def test_a_port_in_use_is_one_line(studio: Client, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vastsum", "serve", "--port", str(studio.port), "--data", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "--port" in " ".join(ended.stderr.split())
