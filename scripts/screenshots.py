"""The pictures of the pages in README and docs: `python scripts/screenshots.py`, with a Chromium at hand.

The film that `make demo` draws is summarised and looked at as a person would.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

import vastsum
from vastsum.cli.demo import render

IMAGES = Path(__file__).parents[1] / "docs" / "images"
WINDOW: ViewportSize = {"width": 1280, "height": 1196}
THEMES: dict[Literal["light", "dark"], str] = {"light": "", "dark": "-dark"}  # and what a picture's name ends in
BUDGET = "25%"


def main() -> None:
    with TemporaryDirectory() as folder, chromium() as browser:
        film = Path(folder) / "film.mp4"
        render(film)
        shoot_report(browser, film)


def shoot_report(browser: Browser, film: Path) -> None:
    page_file = vastsum.summarize(film, BUDGET).save(film.with_suffix(".summary.html"), overwrite=True)
    for theme, ending in THEMES.items():
        with window(browser, page_file.as_uri(), theme) as page:
            page.locator(".scene img").first.wait_for()
            page.wait_for_timeout(1000)  # for the video's picture, and its controls to fade
            page.screenshot(path=IMAGES / f"report{ending}.png")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's, or Playwright's own."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def window(browser: Browser, url: str, theme: Literal["light", "dark"]) -> Iterator[Page]:
    context = browser.new_context(viewport=WINDOW, device_scale_factor=1.5, color_scheme=theme)
    page = context.new_page()
    page.goto(url)
    yield page
    context.close()


if __name__ == "__main__":
    main()
