"""A real Chromium, and pages in it that must not complain."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

OFFLINE = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--autoplay-policy=no-user-gesture-required",
]  # fmt: skip

# Controls and regions that a screen reader could not name.
NAMELESS = r"""() => [...document.querySelectorAll('button, input, select, [role=slider], a, section')]
  .filter((e) => !(e.ariaLabel || e.textContent.trim() || e.labels?.length || e.hasAttribute('aria-labelledby')))
  .map((e) => e.outerHTML)"""

# Texts with less contrast than 4.5 : 1 (WCAG AA) against the nearest ground that is not transparent.
LOW_CONTRAST = r"""() => {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = parts(colour).slice(0, 3).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0.5) return colour;
    }
    return 'rgb(255, 255, 255)';
  };
  const low = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const e = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || e.closest('script, style, :disabled, [hidden]')) continue;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push([e.outerHTML.slice(0, 120), (a + 0.05) / (b + 0.05)]);
  }
  return low;
}"""


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


def wait_until(page: Any, expression: str, *, within_s: float = 30) -> None:
    """Until an expression is true in the page. Playwright's own waiting evaluates texts, which a policy forbids."""
    give_up = time.monotonic() + within_s
    while not page.evaluate(expression):
        assert time.monotonic() < give_up, f"never true: {expression}"
        page.wait_for_timeout(30)
