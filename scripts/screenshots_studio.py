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

from vastsum.cli import demo

# Films made of scenes of the demo, by number, and how long their summaries are to be.
LIBRARY = {
    "Alps, day one.mp4": ((0, 1, 2, 3, 4, 5, 6), "20%"),
    "Alps, day two.mp4": ((4, 6, 0), "15%"),
    "Birthday.mp4": ((0, 3, 2), "8s"),
    "School play.mp4": ((2, 1, 4), "25%"),
}
SHOTS = (
    ("home", "light", False), ("home", "dark", True), ("job", "light", False), ("job", "dark", True),
    ("compare", "dark", False),
)  # fmt: skip
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def studio(folder: Path) -> Iterator[str]:
    library = folder / "library"
    (library / "2024").mkdir(parents=True)
    scenes = demo.SCENES
    for name, (numbers, _) in LIBRARY.items():
        demo.SCENES = tuple(scenes[n] for n in numbers)
        demo.render(library / name)
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


def summarise(url: str) -> str:
    """A few finished jobs and one that failed; gives the id of the one to look at, submitted last."""
    api = httpx.Client(base_url=f"{url}/api/v1", timeout=60)
    api.post("/uploads", params={"name": "Old tape.mpg"}, content=b"not a video any more")
    for name, (_, budget) in reversed(LIBRARY.items()):
        last = api.post("/jobs", json={"library": name, "budget": budget}).json()["id"]
    while any(job["state"] in ("queued", "running") for job in api.get("/jobs").json()["jobs"]):
        time.sleep(0.2)
    return str(last)


def opened(browser: Browser, url: str, *, dark: bool, size: dict[str, int]) -> Page:
    context = browser.new_context(viewport=size, color_scheme="dark" if dark else "light", device_scale_factor=1.5)
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
        job = summarise(url)
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        places = {"home": "#/", "job": f"#/job/{job}", "compare": f"#/compare/{job}:0.15/{job}:0.3"}
        for name, theme, on_phone in SHOTS:
            size = PHONE if on_phone else DESKTOP
            page = opened(browser, f"{url}/{places[name]}", dark=theme == "dark", size=size)
            shoot(page, destination / f"studio-{name}-{theme}{'-phone' if on_phone else ''}.png")
            page.context.close()
        browser.close()


if __name__ == "__main__":
    main()
