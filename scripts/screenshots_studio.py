"""Pictures of the studio for the README and docs/studio.md, in both themes and on a phone.

    python scripts/screenshots_studio.py [FOLDER]      default: docs/images

Draws the film of `make demo`, summarises it in a studio of its own and looks at it with Chromium (Debian's, or
Playwright's own).
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from vastsum.cli.demo import render

LIBRARY = ("Alps, day one.mp4", "Alps, day two.mp4", "Birthday.mp4", "School play.mp4")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    library = folder / "library"
    (library / "2024").mkdir(parents=True)
    render(library / LIBRARY[0])
    for name in LIBRARY[1:]:
        shutil.copyfile(library / LIBRARY[0], library / name)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    options = ["--port", str(port), "--data", str(folder / "data"), "--library", str(library)]
    process = subprocess.Popen([sys.executable, "-m", "vastsum", "serve", *options], stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait()


def summarise(url: str) -> list[str]:
    """A few finished jobs, and one that failed."""
    api = httpx.Client(base_url=f"{url}/api/v1", timeout=60)
    asked = [
        {"library": name, "budget": budget} for name, budget in zip(LIBRARY, ("20%", "15%", "8s", "25%"), strict=True)
    ]
    jobs = [api.post("/jobs", json=one).json()["id"] for one in asked]
    jobs.append(api.post("/jobs", json={"job": jobs[0], "budget": "20%", "fast": True}).json()["id"])
    api.post("/uploads", params={"name": "Old tape.mpg"}, content=b"not a video any more")
    while any(job["state"] in ("queued", "running") for job in api.get("/jobs").json()["jobs"]):
        time.sleep(0.2)
    return jobs


def opened(browser: Browser, url: str, *, dark: bool, size: dict[str, int]) -> Page:
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", device_scale_factor=2)
    page = context.new_page()
    page.on("console", lambda message: print(message.text) if message.type in ("error", "warning") else None)
    page.goto(url)
    return page


def shoot(page: Page, path: Path) -> None:
    page.wait_for_timeout(1500)  # pictures, and the first frame of the video
    page.screenshot(path=path, full_page=True)
    print(f"wrote {path}")


def main() -> None:
    destination = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images")
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder)) as url, sync_playwright() as driver:
        first, *_, hasty = summarise(url)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for theme in ("light", "dark"):
            views = {"home": "#/", "job": f"#/job/{first}", "compare": f"#/compare/{first}/{hasty}"}
            for name, place in views.items():
                for device, size in (("", DESKTOP), ("-phone", PHONE)):
                    page = opened(browser, f"{url}/{place}", dark=theme == "dark", size=size)
                    shoot(page, destination / f"studio-{name}-{theme}{device}.png")
                    page.context.close()
        browser.close()


if __name__ == "__main__":
    main()
