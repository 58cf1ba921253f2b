"""The studio as a person meets it: a real server, a real Chromium, a video dropped on the page."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import pytest
from browsing import LOW_CONTRAST, NAMELESS, wait_until

sys.path.insert(0, str(Path(__file__).parents[1] / "serve"))

from studios import Client, studio_here

from vastsum.cli.demo import SCENES

PHONE = {"width": 390, "height": 844}
GROUNDS = {"light": "rgb(246, 245, 242)", "dark": "rgb(15, 18, 24)"}
TOKEN = "open sesame, please"
# A file from outside cannot be dragged by a program; from here on it is the browser's own drag and drop.
DROP = """
([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
  const given = new DataTransfer();
  given.items.add(new File([bytes], name));
  const options = { dataTransfer: given, bubbles: true, cancelable: true };
  for (const kind of ["dragenter", "dragover", "drop"])
    document.querySelector("main").dispatchEvent(new DragEvent(kind, options));
}
"""
TIMELINE = "document.querySelector('vastsum-timeline')"
CHOSEN = f"{TIMELINE}.summary.segments.filter((s) => s.selected).map((s) => s.start_frame)"
PLAYED = """
(src) => new Promise((resolve, reject) => {
  const video = document.createElement("video");
  Object.assign(video, { src, muted: true, playbackRate: 8 });
  Object.assign(video, { onended: () => resolve(video.duration), onerror: () => reject(video.error.message) });
  video.play();
})
"""


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half a minute of scenes that differ, so that there is something to choose; VP9, which every Chromium plays."""
    path = tmp_path_factory.mktemp("film") / "five scenes.webm"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libvpx-vp9", rate=10, options={"deadline": "realtime", "cpu-used": "8"})
        stream.width, stream.height, stream.pix_fmt = 480, 270, "yuv420p"
        for n in range(300):
            picture = SCENES[n // 60].draw(n % 60 / 10)
            out.mux(stream.encode(av.VideoFrame.from_ndarray((picture.clip(0, 1) * 255).astype("uint8"), "rgb24")))
        out.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, film: Path) -> Iterator[Client]:
    library = tmp_path_factory.mktemp("library")
    (library / "trips").mkdir()
    (library / "trips" / "alps.webm").write_bytes(film.read_bytes())
    with studio_here(tmp_path_factory.mktemp("data"), library=library) as client:
        yield client


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
    yield page
    context.close()
    assert page.complaints == []


def home(studio: Client, place: str = "") -> str:
    return f"http://127.0.0.1:{studio.port}/{place}"


def drop(page: Any, path: Path, name: str | None = None) -> None:
    page.get_by_role("heading", name="What is worth seeing?").wait_for()
    page.evaluate(DROP, [name or path.name, base64.b64encode(path.read_bytes()).decode()])


def until_timeline(page: Any, n: int = 1) -> None:
    count = "[...document.querySelectorAll('vastsum-timeline')].filter((t) => t.draft).length"
    wait_until(page, f"{count} === {n}", within_s=90)


@pytest.fixture(scope="module")
def done(studio: Client, film: Path) -> str:
    return studio.settled(studio.upload(film, budget="30%")["id"])["id"]


def test_from_a_dropped_video_to_a_summary_that_plays(page: Any, studio: Client, film: Path, tmp_path: Path) -> None:
    page.goto(home(studio))
    page.get_by_label("Length").fill("30%")
    page.get_by_label("Length").blur()
    page.evaluate(
        """() => new MutationObserver(() => {
          window.stages = [...(window.stages ?? []), document.querySelector(".stages .now b")?.textContent];
        }).observe(document.body, { childList: true, subtree: true })"""
    )
    drop(page, film)
    until_timeline(page)
    assert "watching" in page.evaluate("stages")
    assert page.get_by_role("heading", name="five scenes.webm").is_visible()

    # The slider changes the selection.
    first = page.evaluate(CHOSEN)
    slider = page.get_by_role("slider", name="Budget")
    slider.focus()
    for _ in range(8):
        slider.press("ArrowRight")
    page.get_by_role("button", name="Budget 50 percent").click()
    longer = page.evaluate(CHOSEN)
    assert len(longer) > len(first)
    assert slider.input_value() == "50"

    # A change by hand survives a reload.
    left_out = page.evaluate(
        "document.querySelector('vastsum-timeline').summary.segments.findIndex((s) => !s.selected)"
    )
    page.evaluate(f"{TIMELINE}.toggle({left_out})")
    edited = page.evaluate(CHOSEN)
    assert edited != longer
    page.locator(".kept", has_text="kept").wait_for()
    page.reload()
    until_timeline(page)
    assert page.evaluate(CHOSEN) == edited
    assert page.get_by_role("slider", name="Budget").input_value() == "50"

    # An export downloads, holds the edited selection, and plays.
    with page.expect_download(timeout=60_000) as download:
        page.get_by_role("button", name="Export mp4").click()
    assert download.value.suggested_filename == "five scenes.summary.mp4"
    download.value.save_as(tmp_path / "summary.mp4")
    (job,) = [job for job in studio.jobs() if job["name"] == film.name]
    result = studio.get(f"/jobs/{job['id']}/result").json()
    assert [s["start_frame"] for s in result["segments"] if s["selected"]] == edited
    with av.open(str(tmp_path / "summary.mp4")) as container:
        assert len(list(container.decode(video=0))) == result["summary"]["n_frames"]
    lasted = page.evaluate(PLAYED, f"/api/v1/jobs/{job['id']}/exports/mp4/file")
    assert lasted == pytest.approx(result["summary"]["duration_s"], abs=0.2)


def test_changes_made_just_before_leaving_are_kept(page: Any, studio: Client, done: str) -> None:
    page.goto(home(studio, f"#/job/{done}"))
    until_timeline(page)
    page.get_by_role("button", name="Budget 10 percent").click()
    page.goto("about:blank")
    page.goto(home(studio, f"#/job/{done}"))
    until_timeline(page)
    assert page.evaluate(f"{TIMELINE}.budget") == 0.1
    page.get_by_role("button", name="As it was").click()
    page.locator(".kept", has_text="kept").wait_for()
    assert studio.get(f"/jobs/{done}/selection").json()["edits"] == {"budget": 0.3, "starts": None, "held": []}


def test_play_summary_skips_what_was_not_chosen(page: Any, studio: Client, done: str) -> None:
    page.goto(home(studio, f"#/job/{done}"))
    until_timeline(page)
    wait_until(page, "document.querySelector('video').readyState > 1")
    page.evaluate(
        "() => { document.querySelector('video').playbackRate = 2; document.querySelector('video').muted = true; }"
    )
    page.evaluate(
        """() => { window.times = []; const video = document.querySelector("video");
        const note = () => { if (!video.paused && !video.seeking) times.push(video.currentTime); };
        video.addEventListener("timeupdate", note); }"""
    )
    page.get_by_role("button", name="Play summary").click()
    wait_until(page, f"times.length > 0 && !{TIMELINE}.isPlayingSummary", within_s=30)
    chosen = page.evaluate(f"{TIMELINE}.summary.segments.filter((s) => s.selected).map((s) => [s.start_s, s.end_s])")
    slack_s = 1.2  # at twice the speed, on a busy machine
    for time_s in page.evaluate("times"):
        assert any(start_s - 0.1 <= time_s <= end_s + slack_s for start_s, end_s in chosen), (time_s, chosen)


def test_a_video_of_the_library_is_a_click_away_and_two_summaries_stand_side_by_side(
    page: Any, studio: Client, done: str
) -> None:
    page.goto(home(studio))
    page.get_by_role("button", name="trips").click()
    page.get_by_role("button", name="alps.webm").click()
    until_timeline(page)
    page.get_by_role("link", name="Compare").last.click()
    until_timeline(page, 2)
    page.get_by_role("region", name="What they share").wait_for()
    left, right = page.get_by_role("region", name="Left"), page.get_by_role("region", name="Right")
    right.get_by_role("combobox").select_option(done)
    until_timeline(page, 2)
    for side, percent in ((left, 20), (right, 40)):
        side.get_by_role("button", name=f"Budget {percent} percent").click()
    assert ":0.2/" in page.url
    assert page.url.endswith(":0.4")
    assert "in both" in page.get_by_role("region", name="What they share").inner_text()
    page.reload()
    until_timeline(page, 2)
    assert page.evaluate("[...document.querySelectorAll('vastsum-timeline')].map((t) => t.budget)") == [0.2, 0.4]
    assert not studio.job(done)["is_edited"]


def test_trouble_is_told_and_html_in_names_is_text(page: Any, studio: Client, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a video")
    page.goto(home(studio))
    drop(page, tmp_path / "x", "<img src=x onerror=document.title=1><b>bold.mp4")
    page.get_by_role("heading", name="This did not work").wait_for(timeout=60_000)
    assert "not a video that can be read" in page.inner_text("main")
    assert page.locator("h1").inner_text() == "<img src=x onerror=document.title=1><b>bold.mp4"
    assert page.locator("main b").count() == 0
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_role("heading", name="Your videos").wait_for()
    assert page.locator(".films", has_text="bold.mp4").count() == 0
    page.get_by_label("Length").fill("nonsense")
    page.get_by_label("Length").blur()
    drop(page, tmp_path / "x", "y.mp4")
    assert "is not a length" in page.get_by_role("alert").inner_text()
    page.complaints[:] = [said for said in page.complaints if "422" not in said]  # which the browser notes


def test_a_list_that_comes_late_undoes_nothing(page: Any, studio: Client, done: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"not a video")
    gone = studio.upload(tmp_path / "x")["id"]
    page.goto(home(studio))
    page.locator(f'[data-id="{gone}"]').wait_for()
    held: list[tuple[Any, Any]] = []
    page.route("**/api/v1/jobs?limit=200", lambda route: held.append((route, route.fetch())))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # upon which the list is asked for
    while not held:
        page.wait_for_timeout(10)
    studio.http.delete(f"/jobs/{gone}")
    page.locator(f'[data-id="{gone}"]').wait_for(state="detached")
    drop(page, tmp_path / "x", "late.mp4")
    page.get_by_role("heading", name="This did not work").wait_for(timeout=60_000)
    with page.expect_response("**/api/v1/jobs?limit=200") as answer:
        for route, response in held:
            route.fulfill(response=response)
    answer.value.finished()
    page.get_by_role("link", name="Videos").click()
    page.locator(f'[data-id="{done}"]').wait_for()
    assert page.get_by_role("link", name="late.mp4").count() == 1
    assert page.locator(f'[data-id="{gone}"]').count() == 0
    for job in studio.jobs():
        if job["name"] == "late.mp4":
            studio.http.delete(f"/jobs/{job['id']}")


def test_history_opens_a_job_and_a_running_one_can_be_cancelled(
    page: Any, studio: Client, done: str, film: Path
) -> None:
    page.goto(home(studio))
    page.locator(f'[data-id="{done}"] a').click()
    until_timeline(page)
    page.get_by_role("link", name="Videos").click()
    first, second = studio.upload(film), studio.upload(film)
    page.locator(f'[data-id="{second["id"]}"] a').click()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("heading", name="Cancelled").wait_for()
    page.get_by_role("button", name="Try again").click()
    until_timeline(page)
    for job in (first, second):
        studio.http.delete(f"/jobs/{job['id']}")


def test_what_was_exported_can_be_had_again(page: Any, studio: Client, done: str) -> None:
    page.goto(home(studio, f"#/job/{done}"))
    until_timeline(page)
    button = page.get_by_role("button", name="Export json")
    for _ in range(2):
        with page.expect_download() as download:
            button.click()
        assert download.value.suggested_filename.endswith(".json")
        page.locator(".exports li", has=button).get_by_role("link").wait_for()


def test_all_videos_that_are_chosen_are_taken(page: Any, studio: Client, film: Path, tmp_path: Path) -> None:
    names = ["first.webm", "second.webm", "third.webm"]
    for name in names:
        (tmp_path / name).write_bytes(film.read_bytes())
    page.goto(home(studio))
    page.get_by_role("heading", name="What is worth seeing?").wait_for()
    page.locator("#files").set_input_files([tmp_path / name for name in names])
    for name in names:
        page.get_by_role("link", name=name).wait_for()
    for job in studio.http.get("/jobs").json()["jobs"]:
        if job["name"] in names:
            studio.http.delete(f"/jobs/{job['id']}")


def test_news_does_not_take_a_click_away(page: Any, studio: Client, done: str, film: Path) -> None:
    """Between pressing a button and letting go of it, how far a job is changes more often than not."""
    news = """async (id) => {
      const { live } = await import("/studio-api.js");
      const job = live.jobs.get(id);
      live.dispatchEvent(new CustomEvent("job", { detail: { ...job } }));
      await new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)));
    }"""

    def press(target: Any, id: str) -> None:
        target.hover()
        page.mouse.down()
        page.evaluate(news, id)
        page.mouse.up()

    page.goto(home(studio))
    press(page.locator(f'[data-id="{done}"] a'), done)
    until_timeline(page)
    jobs = [studio.upload(film) for _ in range(3)]
    page.goto(home(studio, f"#/job/{jobs[-1]['id']}"))
    press(page.get_by_role("button", name="Cancel"), jobs[-1]["id"])
    page.get_by_role("heading", name="Cancelled").wait_for()
    for job in jobs:
        studio.http.delete(f"/jobs/{job['id']}")


def test_the_token_is_asked_for_once(page: Any, tmp_path: Path) -> None:
    with studio_here(tmp_path, token=TOKEN) as studio:
        page.goto(home(studio))
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Open the studio").click()
        page.locator(".bad", has_text="wrong").wait_for()
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Open the studio").click()
        page.get_by_role("heading", name="What is worth seeing?").wait_for()
        page.context.clear_cookies()
        page.goto("about:blank")
        page.goto(home(studio, f"#token={TOKEN.replace(' ', '+')}"))
        page.get_by_role("heading", name="What is worth seeing?").wait_for()
        assert "token" not in page.url
        # The session ends, as all do with the studio, and the page asks for its events again.
        page.evaluate("fetch('/api/v1/session', {method: 'DELETE'})")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.get_by_label("Token").wait_for()
        page.goto("about:blank")
    page.complaints[:] = [said for said in page.complaints if "401" not in said]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("place", ["", "#/job/{id}", "#/compare/{id}"])
def test_it_fits_a_phone_and_can_be_read_in_both_themes(
    browser: Any, studio: Client, done: str, theme: str, place: str
) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme=theme, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(home(studio, place.format(id=done)))
    page.locator("main .view").wait_for()
    if place:
        until_timeline(page, n=2 if "compare" in place else 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == GROUNDS[theme]
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(LOW_CONTRAST) == []
    context.close()
