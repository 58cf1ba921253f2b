"""A real Chromium, and pages in it that must not complain."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OFFLINE = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Any]:
    """The system's Chromium, or Playwright's own. Without one tests are skipped, but never in CI."""
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        own = driver.chromium.executable_path
        system = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
        path = next(system, own if Path(own).exists() else None)
        if path is None:
            missing = "no Chromium is installed here (Debian: apt-get install chromium)"
            pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
        browser = driver.chromium.launch(executable_path=path, args=OFFLINE)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, url: str, **options: Any) -> Iterator[Any]:
    """A page in a window of its own; whatever it writes to the console as a warning or error fails the test."""
    context = browser.new_context(**options)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(url)
    yield page
    context.close()
    assert complaints == []
