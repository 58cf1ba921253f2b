"""The documentation as a site: built strictly, whole, and without anything from elsewhere."""

from __future__ import annotations

import contextlib
import functools
import http.server
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from browsing import opened, wait_until

from vastsum import __version__

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("mkdocs", reason="the site is built by mkdocs")


def build(root: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts" / "build_site.py"), str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "0.0.9").mkdir()  # of an earlier version
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_document_is_a_page(site: Path) -> None:
    pages = {path.stem for path in (site / __version__).glob("*.html")}
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} | {"index", "changelog", "contributing"} <= pages


def test_every_table_is_one(site: Path) -> None:
    """Right below a listing or a line of text, it would be text as well."""
    for page in (site / __version__).glob("*.html"):
        assert "| ---" not in page.read_text(encoding="utf-8"), f"{page.name}: a table stands there as it was written"


class Fetches(HTMLParser):
    """What a browser fetches when it opens a page; links that a reader may follow are not among it."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        names = ["src", "srcset", "data", "poster", *(["href"] if tag == "link" else [])]
        self.places += [value for name in names if (value := given.get(name))]


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    for page in (site / __version__).glob("*.html"):
        fetches = Fetches()
        fetches.feed(page.read_text(encoding="utf-8"))
        assert fetches.places
        for place in fetches.places:
            assert not urlsplit(place).scheme or place.startswith("data:"), f"{page.name} fetches {place}"
            if page.name != "404.html":  # whose links are from the root of wherever it is published
                assert (page.parent / unquote(urlsplit(place).path)).exists(), f"{page.name} fetches {place}"
    for sheet in (site / __version__).rglob("*.css"):
        assert "url(http" not in sheet.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "mistake", ["[gone](gone.md)", "[gone](report.md#no-such-heading)", "![gone](images/gone.png)"]
)
def test_a_link_that_leads_nowhere_stops_the_build(mistake: str, tmp_path: Path) -> None:
    root = tmp_path / "clone"
    for folder in ("docs", "scripts"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml"):
        shutil.copy(file, root)
    with (root / "docs" / "studio.md").open("a") as page:
        page.write(f"\n{mistake}\n")
    built = build(root, tmp_path / "site")
    assert built.returncode != 0
    assert "gone" in built.stdout + built.stderr or "no-such-heading" in built.stdout + built.stderr


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Nothing: pytest shows what failed."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_reader_finds_the_newest_version_and_searches_it(site: Path, browser: Any) -> None:
    with served(site) as address, opened(browser, f"{address}/index.html") as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.wait_for_url(f"{address}/{__version__}/index.html")
        assert page.title().startswith("VASTSum")
        wait_until(page, "() => document.querySelectorAll('.md-version__item').length === 2")
        assert page.locator(".md-version__item").all_text_contents()[0].strip() == __version__
        page.locator("input[name=query]").click()
        wait_until(page, "() => document.querySelector('.md-search-result__meta').textContent.includes('Type to')")
        page.keyboard.type("knapsack")
        wait_until(page, "() => document.querySelectorAll('.md-search-result__item').length > 1")
        assert asked
        assert all(url.startswith((address, "blob:", "data:")) for url in asked), asked
