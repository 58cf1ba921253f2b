"""The report in a real Chromium: opened from disk, it shows, plays and changes a summary as Python would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import LOW_CONTRAST, NAMELESS, opened, wait_until
from films import Recipe, make_video

from vastsum import Summary
from vastsum.export.page import STATIC, TIMELINE_SCRIPTS
from vastsum.selection import knapsack
from vastsum.summary import ModelNames, SourceVideo
from vastsum.types import Marks, Prediction, Segments, Stretch

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


# ---- the knapsack and the draft, against Python ----


@pytest.fixture(scope="module")
def workbench(browser: Any) -> Any:
    """An empty page with the scripts that choose."""
    page = browser.new_page()
    for name in TIMELINE_SCRIPTS:
        page.add_script_tag(path=STATIC / name)
    yield page
    page.close()


def random_case(rng: np.random.Generator) -> tuple[list[float], list[int], int]:
    """Values, weights and capacity of one of the kinds that go wrong in different ways."""
    n = 1 if rng.random() < 0.05 else int(rng.integers(1, 60))
    weights = rng.integers(1, rng.choice([3, 20, 400]), n, endpoint=True) * rng.choice([1, 1, 5])
    values = [
        lambda: rng.random(n),  # as scores are
        lambda: rng.standard_normal(n),  # some worthless
        lambda: -rng.random(n),  # all of them
        lambda: rng.integers(-1, 4, n) * 0.1,  # ties that rounding could break
        lambda: weights * 0.1,  # ties everywhere
        lambda: np.full(n, 0.3),
        lambda: np.zeros(n),
        lambda: rng.random(n).astype(np.float32),
    ][rng.integers(8)]()
    share = rng.choice([0.0, 0.02, 0.15, 0.5, 1.0, 1.2])  # small ones leave out all items or most
    return np.asarray(values, dtype=np.float64).tolist(), weights.tolist(), int(share * weights.sum())


def test_the_knapsack_chooses_as_python_does_in_1000_random_cases(workbench: Any) -> None:
    rng = np.random.default_rng(6)
    cases = [random_case(rng) for _ in range(1000)]
    answers = workbench.evaluate(
        "cases => cases.map(([values, weights, capacity]) => [...vastsum.knapsack(values, weights, capacity)])", cases
    )
    for (values, weights, capacity), answer in zip(cases, answers, strict=True):
        expected = knapsack(np.array(values), np.array(weights), capacity)
        assert answer == expected.astype(int).tolist(), (values, weights, capacity)
    assert sum(not any(answer) for answer in answers) > 20  # nothing fits in some
    assert sum(sum(answer) > 1 for answer in answers) > 300


def random_marks(rng: np.random.Generator, starts: np.ndarray, n_frames: int) -> Marks:
    """Hard cuts, most of them where segments start; speech, and stretches that show nothing."""
    cuts = np.unique([*rng.choice(starts, len(starts) // 2, replace=False), *rng.integers(1, n_frames, 5)])
    speech, empty = (np.sort(rng.choice(n_frames, 2 * n, replace=False)).reshape(-1, 2) for n in (8, 2))
    return Marks(
        tuple(cuts.tolist()),
        tuple(np.unique(rng.integers(1, n_frames, 60)).tolist()),
        tuple(Stretch(*pair) for pair in speech.tolist()),
        tuple(Stretch(*pair, "black") for pair in empty.tolist()),
    )


def random_summary(rng: np.random.Generator) -> Summary:
    """Of frames that are evenly spaced in one half of the cases, and not in the other."""
    n_frames = int(rng.integers(200, 3000))
    cuts = np.unique(rng.integers(1, n_frames, rng.integers(1, 40)))
    starts = np.concatenate([[0], cuts])
    bounds = np.column_stack([starts, np.append(cuts, n_frames) - 1])
    picks = np.unique(rng.integers(0, n_frames, n_frames // 12))
    scores = rng.standard_normal(len(picks)) * 0.3 + rng.choice([0.0, 0.6])
    video = SourceVideo(Path("film.mp4"), n_frames / 29.97, 29.97, n_frames, 320, 180)
    prediction = Prediction(scores, rng.uniform(0.01, 0.3, len(picks)))
    layout = Segments(bounds, picks, n_frames)
    marks = random_marks(rng, starts, n_frames) if rng.random() < 0.7 else Marks()
    summary = Summary.choose(video, ModelNames("a", "b"), prediction, layout, budget=1.0, marks=marks)
    if rng.random() < 0.5:
        paces = rng.uniform(0.5, 2.0, len(layout)) * layout.lengths
        edges = np.append(0.0, np.cumsum(paces) / paces.sum() * video.duration_s).tolist()
        times = zip(summary.segments, edges[:-1], edges[1:], strict=True)
        uneven = tuple(replace(segment, start_s=start_s, end_s=end_s) for segment, start_s, end_s in times)
        summary = replace(summary, segments=uneven)
    return summary.with_budget(0.15)


def assert_same_choice(answer: dict[str, Any], expected: Summary) -> None:
    """To the frame; seconds and chances may be rounded otherwise."""
    content = expected.to_dict()
    for name in ("version", "video", "model", "budget", "picks", "importance", "uncertainty", "starts", "marks"):
        assert answer[name] == content[name]
    assert answer["summary"] == pytest.approx(content["summary"])
    for column in ("start_frame", "end_frame", "selected", "importance", "uncertainty"):
        assert [segment[column] for segment in answer["segments"]] == [row[column] for row in content["segments"]]
    for column in ("start_s", "end_s", "chance"):
        numbers = [row[column] for row in content["segments"]]
        assert [segment[column] for segment in answer["segments"]] == pytest.approx(numbers, abs=1e-9)


def test_another_budget_gives_what_with_budget_gives(workbench: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        summary = random_summary(rng)
        budgets = [*rng.uniform(0.005, 0.5, 5).tolist(), 0.0005, 0.15, 1.0]
        answers = workbench.evaluate(
            """([summary, budgets]) => budgets.map((budget) => {
                 const draft = new vastsum.Draft(summary);
                 draft.setBudget(budget);
                 return draft.summary; })""",
            [summary.to_dict(), budgets],
        )
        for budget, answer in zip(budgets, answers, strict=True):
            assert_same_choice(answer, summary.with_budget(budget))


def test_edits_by_hand_give_what_python_gives_for_them(workbench: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        summary = random_summary(rng)
        starts = summary.starts
        n = len(starts)
        by_hand = rng.choice([0, 1, 2], n, p=[0.7, 0.15, 0.15])
        by_hand[0] = 0  # something must be left to choose
        keep, leave_out = np.flatnonzero(by_hand == 1).tolist(), np.flatnonzero(by_hand == 2).tolist()
        held = [[starts[k], True] for k in keep] + [[starts[k], False] for k in leave_out]
        budget = float(rng.uniform(0.02, 0.4))
        answer = workbench.evaluate(
            """([summary, edits]) => {
                 const draft = new vastsum.Draft(summary);
                 draft.edits = edits;
                 return draft.summary; }""",
            [summary.to_dict(), {"budget": budget, "starts": None, "held": held}],
        )
        assert_same_choice(answer, summary.with_budget(budget, keep=keep, leave_out=leave_out))


RANDOM_EDITS = """([summary, starts, seed]) => {
  let state = seed;
  const random = () => { state = (state * 48271) % 2147483647; return state / 2147483647; };
  const draft = new vastsum.Draft(summary);
  for (let n = 0; n < 25; n++) {
    const k = Math.floor(random() * draft.summary.segments.length);
    const what = random();
    if (what < 0.4) draft.toggle(k);
    else if (what < 0.65) draft.moveBoundary(k, Math.floor(random() * summary.video.n_frames));
    else if (what < 0.85) draft.setBudget(random() < 0.3 ? 0.003 : 0.01 + 0.4 * random());
    else if (what < 0.95) draft.undo();
    else draft.edits = JSON.parse(JSON.stringify(draft.edits));
  }
  const again = new vastsum.Draft(summary);
  again.edits = draft.edits;
  return { summary: draft.summary, edits: draft.edits, again: again.summary };
}"""


def test_whatever_is_edited_python_reads_it_and_agrees(workbench: Any) -> None:
    rng = np.random.default_rng(3)
    for seed in range(1, 61):
        summary = random_summary(rng)
        answer = workbench.evaluate(RANDOM_EDITS, [summary.to_dict(), seed])
        edited, edits = Summary.from_dict(answer["summary"]), answer["edits"]
        assert choice(Summary.from_dict(answer["again"])) == choice(edited)

        starts = edits["starts"] or summary.starts
        held = {starts.index(frame): wanted for frame, wanted in edits["held"]}
        keep, leave_out = ([k for k, wanted in held.items() if wanted is one] for one in (True, False))
        expected = summary.with_starts(starts).with_budget(edits["budget"], keep=keep, leave_out=leave_out)
        assert choice(edited) == choice(expected)


def choice(summary: Summary) -> list[tuple[int, bool]]:
    return [(segment.start_frame, segment.selected) for segment in summary.segments]


# ---- the page ----

N_FRAMES = 1300


def film_summary(path: Path) -> Summary:
    """Thirteen segments of 4 s with an importance that rises and falls; at 15.5 % the 2nd and the 8th are chosen."""
    starts = np.arange(13) * 100
    bounds = np.column_stack([starts, starts + 99])
    picks = np.arange(0, N_FRAMES, 12)
    mean = 0.4 + 0.25 * np.sin(picks / 95) + 0.1 * np.cos(picks / 31)
    prediction = Prediction(mean, np.full(len(picks), 0.08))
    video = SourceVideo(path, 52.0, 25.0, N_FRAMES, 320, 180)
    return Summary.choose(video, ModelNames("vastsum", "lite0"), prediction, Segments(bounds, picks, N_FRAMES), 0.155)


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("a film") / "<img src=x onerror=alert(1)> & #1.mp4"
    return make_video(path, Recipe(n_frames=N_FRAMES, fps=25, size=(320, 180), options={"preset": "ultrafast"}))


@pytest.fixture(scope="module")
def report(film: Path) -> Path:
    return film_summary(film).save(film.with_name("film.summary.html"))


def shown_summary(page: Any) -> Summary:
    """What a person would download; read by Python as any other summary.json is."""
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download summary.json").click()
    return Summary.load(waiting.value.path())


def in_timeline(page: Any, expression: str) -> Any:
    return page.evaluate(
        f"() => {{ const timeline = document.querySelector('vastsum-timeline'); return {expression} }}"
    )


def point_in_lane(page: Any, time_s: float) -> tuple[float, float]:
    """Where on the screen a time is, in the lane of segments."""
    box = page.get_by_role("slider", name="Timeline").bounding_box()
    return box["x"] + box["width"] * time_s / 52.0, box["y"] + box["height"] - 28


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_the_report_opens_from_disk_in_both_themes_and_on_a_phone(
    browser: Any, report: Path, scheme: str, window: dict[str, Any]
) -> None:
    with opened(browser, report.as_uri(), color_scheme=scheme, **window) as page:
        page.get_by_role("heading", name="<img src=x onerror=alert(1)> & #1.mp4").wait_for()
        wait_until(page, "document.querySelector('video').readyState >= 2")  # the video beside it plays
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator(".scene").count() == 2
        assert (
            page.locator(".scene img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 288
        )
        background = "getComputedStyle(document.body).backgroundColor"
        was = page.evaluate(background)
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(background) != was


def test_the_slider_chooses_what_with_budget_chooses(browser: Any, film: Path, report: Path) -> None:
    summary = film_summary(film)
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        assert shown_summary(page) == summary
        slider = page.get_by_role("slider", name="Budget")
        for percent in (8, 30.5, 50, 1):
            slider.fill(str(percent))
            page.wait_for_timeout(50)
            assert choice(shown_summary(page)) == choice(summary.with_budget(percent / 100))
        page.get_by_role("button", name="Budget 20 percent").click()
        assert choice(shown_summary(page)) == choice(summary.with_budget(0.2))
        page.get_by_role("button", name="As it was").click()
        assert shown_summary(page) == summary


def test_what_would_change_at_other_lengths_is_told(browser: Any, film: Path, report: Path) -> None:
    summary = film_summary(film)
    now, longer, shorter = (
        {s.start_frame for s in summary.with_budget(budget).selected if s.n_frames == 100}
        for budget in (0.155, 0.2, 0.1)
    )
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        page.get_by_role("heading", name="At 20 %").wait_for()
        told = page.locator("#shorter, #longer").all_inner_texts()
        assert f"− {len(now - shorter)} would leave" in told[0]
        assert ("same segments" in told[1]) == (now == longer)


def test_keys_move_play_toggle_and_undo(browser: Any, film: Path, report: Path) -> None:
    summary = film_summary(film)
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        timeline = page.get_by_role("slider", name="Timeline")
        timeline.focus()
        for key in ("Home", "ArrowDown", "ArrowDown", "ArrowDown"):
            page.keyboard.press(key)
        assert in_timeline(page, "timeline.current") == 3
        page.keyboard.press("ArrowRight")
        assert in_timeline(page, "timeline.time_s") == pytest.approx(13.0)
        page.keyboard.press(".")
        assert in_timeline(page, "timeline.time_s") == pytest.approx(13.04)
        assert "Segment 4 of 13" in timeline.get_attribute("aria-valuetext")

        page.keyboard.press("Enter")  # in, by hand; the rest fills what is left of the budget
        assert choice(shown_summary(page)) == choice(summary.with_budget(0.155, keep=[3]))
        timeline.focus()
        page.keyboard.press("Control+z")
        assert shown_summary(page) == summary

        timeline.focus()
        page.keyboard.press("o")  # the segment now ends after this frame: 13.04 s is frame 326
        assert [segment.end_frame for segment in shown_summary(page).segments][2:4] == [299, 326]
        timeline.focus()
        page.keyboard.press("i")
        assert [segment.start_frame for segment in shown_summary(page).segments][2:5] == [200, 326, 327]

        timeline.focus()
        page.keyboard.press("Space")
        wait_until(page, "!document.querySelector('video').paused")
        page.keyboard.press("Space")
        wait_until(page, "document.querySelector('video').paused")


def test_a_boundary_is_dragged_and_a_click_seeks(browser: Any, film: Path, report: Path) -> None:
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        page.get_by_role("slider", name="Timeline").scroll_into_view_if_needed()
        page.mouse.move(*point_in_lane(page, 8.0))
        page.mouse.down()
        page.mouse.move(*point_in_lane(page, 9.0), steps=4)
        page.mouse.move(*point_in_lane(page, 10.0), steps=4)
        page.mouse.up()
        edited = shown_summary(page)
        assert edited.segments[2].start_s == pytest.approx(10.0, abs=0.06)
        assert edited.segments[1].end_frame + 1 == edited.segments[2].start_frame
        # Chosen anew from these segments; one that was chosen stays so when its edge is moved.
        summary = film_summary(film)
        by_hand = [k for k in (1, 2) if summary.segments[k].selected]
        starts = [segment.start_frame for segment in edited.segments]
        assert choice(edited) == choice(summary.with_starts(starts).with_budget(0.155, keep=by_hand))

        page.mouse.click(*point_in_lane(page, 30.0))
        assert in_timeline(page, "timeline.time_s") == pytest.approx(30.0, abs=0.06)
        assert page.evaluate("document.querySelector('video').currentTime") == pytest.approx(30.0, abs=0.06)
        was = choice(edited)[7]
        page.mouse.dblclick(*point_in_lane(page, 30.0))
        assert choice(shown_summary(page))[7] == (was[0], not was[1])


def test_details_are_shown_where_the_pointer_is(browser: Any, film: Path, report: Path) -> None:
    segment = film_summary(film).segments[7]
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        page.get_by_role("slider", name="Timeline").scroll_into_view_if_needed()
        page.mouse.move(*point_in_lane(page, 30.0))
        tip = page.locator("vastsum-timeline .tip")
        text = tip.inner_text()
        for part in ("0:30.0", "chosen", " % would include it", f"{segment.importance:.2f}, to one person ±"):
            assert part in text
        assert tip.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
        page.mouse.move(5, 5)
        assert not tip.is_visible()


def test_details_follow_what_is_changed(browser: Any, report: Path) -> None:
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        page.get_by_role("slider", name="Timeline").scroll_into_view_if_needed()
        tip = page.locator("vastsum-timeline .tip")
        edge_s = shown_summary(page).segments[2].start_s
        page.mouse.move(*point_in_lane(page, edge_s))
        page.mouse.down()
        page.mouse.move(*point_in_lane(page, edge_s + 2), steps=5)
        page.mouse.up()
        second = shown_summary(page).segments[2]
        page.mouse.move(*point_in_lane(page, edge_s + 3))
        assert second.start_s == pytest.approx(edge_s + 2, abs=0.1)
        assert f"segment 3, {second.duration_s:.1f} s" in tip.inner_text()
        assert ("chosen" in tip.inner_text()) == second.selected
        in_timeline(page, "timeline.toggle(2)")
        assert ("chosen" in tip.inner_text()) != second.selected


def test_the_summary_plays_from_its_beginning(browser: Any, film: Path, report: Path) -> None:
    """A page opens at the best picture, which is not where a summary begins; from where a person goes, it goes on."""
    chosen = film_summary(film).selected
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        assert in_timeline(page, "timeline.time_s") > chosen[0].end_s
        in_timeline(page, "(timeline.video.play = () => Promise.resolve(), timeline.playSummary(), 0)")
        assert in_timeline(page, "timeline.time_s") == pytest.approx(chosen[0].start_s, abs=0.01)
        middle_s = (chosen[-1].start_s + chosen[-1].end_s) / 2
        in_timeline(page, f"timeline.seek({middle_s})")
        in_timeline(page, "(timeline.playSummary(), 0)")
        assert in_timeline(page, "timeline.time_s") == pytest.approx(middle_s, abs=0.01)


def test_zoom_and_pan(browser: Any, report: Path) -> None:
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        timeline = page.get_by_role("slider", name="Timeline")
        timeline.scroll_into_view_if_needed()
        page.mouse.click(*point_in_lane(page, 26.0))
        page.get_by_role("button", name="Zoom in").click()  # about the playhead: 13 to 39 s
        box = timeline.bounding_box()
        page.mouse.click(box["x"] + 1, box["y"] + box["height"] - 28)
        assert in_timeline(page, "timeline.time_s") == pytest.approx(13.0, abs=0.1)
        page.mouse.move(box["x"] + 600, box["y"] + box["height"] - 60)
        page.mouse.down()
        page.mouse.move(box["x"] + 600 - box["width"] / 2, box["y"] + box["height"] - 60, steps=5)
        page.mouse.up()  # half a window to the left: all the way to the end, 26 to 52 s
        page.mouse.click(box["x"] + 1, box["y"] + box["height"] - 28)
        assert in_timeline(page, "timeline.time_s") == pytest.approx(26.0, abs=0.1)


def test_the_summary_plays_by_skipping_what_is_not_chosen(browser: Any, film: Path, report: Path) -> None:
    chosen = film_summary(film).selected
    late_s = 3.0  # a browser short of time skips and stops late; what is left out is twenty seconds long
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        page.evaluate(
            """() => { const video = document.querySelector('video'); window.seen = [];
                 video.muted = true; video.playbackRate = 2;
                 video.requestVideoFrameCallback(function see(_, { mediaTime }) {
                   window.seen.push(mediaTime); video.requestVideoFrameCallback(see); }); }"""
        )
        in_timeline(page, "timeline.seek(0)")
        page.wait_for_timeout(200)
        page.evaluate("window.seen = []")
        page.get_by_role("button", name="Play summary").click()
        wait_until(page, "document.querySelector('video').paused && window.seen.length > 5")
        seen = np.array(page.evaluate("window.seen"))
        stopped_s = page.evaluate("document.querySelector('video').currentTime")
    assert chosen[-1].end_s - 0.1 <= stopped_s <= chosen[-1].end_s + late_s
    inside = [any(s.start_s - 0.1 <= time <= s.end_s + late_s for s in chosen) for time in seen[1:]]
    assert all(inside)
    assert all(any(s.start_s <= time <= s.end_s for time in seen) for s in chosen)


def test_edits_by_touch(browser: Any, report: Path) -> None:
    with opened(browser, report.as_uri(), **PHONE) as page:
        timeline = page.get_by_role("slider", name="Timeline")
        timeline.scroll_into_view_if_needed()
        page.touchscreen.tap(*point_in_lane(page, 2.0))
        assert in_timeline(page, "timeline.current") == 0
        page.locator("vastsum-timeline").get_by_role("button", name="Put in").tap()
        assert shown_summary(page).segments[0].selected
        page.get_by_role("button", name="Take out the piece at 0:00.0").tap()
        assert not shown_summary(page).segments[0].selected


def test_two_fingers_zoom(browser: Any, report: Path) -> None:
    with opened(browser, report.as_uri(), **PHONE) as page:
        page.get_by_role("slider", name="Timeline").scroll_into_view_if_needed()
        (left, y), (right, _) = point_in_lane(page, 13.0), point_in_lane(page, 39.0)
        fingers = page.context.new_cdp_session(page)

        def touch(kind: str, *places: float) -> None:
            points = [{"x": x, "y": y - 90, "id": n} for n, x in enumerate(places)]
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        middle = (left + right) / 2
        touch("touchStart", middle - 20, middle + 20)
        for apart in (25, 30, 35, 40):
            touch("touchMove", middle - apart, middle + apart)
        touch("touchEnd")
        frame = page.locator("vastsum-timeline .window")
        assert frame.is_visible()
        share = frame.bounding_box()["width"] / page.locator("vastsum-timeline .overview").bounding_box()["width"]
        assert share == pytest.approx(0.5, abs=0.1)  # fingers twice as far apart: half as much is shown


def test_everything_has_a_name_and_enough_contrast(browser: Any, report: Path) -> None:
    """What can be told without a person: names, one main heading, keyboard reach, contrast of texts in both themes."""
    with opened(browser, report.as_uri(), **DESKTOP) as page:
        assert page.evaluate(NAMELESS) == []
        assert page.locator("h1").count() == 1
        assert page.evaluate("document.documentElement.lang") == "en"
        page.keyboard.press("Tab")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        for theme in ("light", "dark"):
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            assert page.evaluate(LOW_CONTRAST) == []


def test_without_the_video_the_report_says_so_and_takes_another(browser: Any, film: Path, tmp_path: Path) -> None:
    page_file = tmp_path / "moved.html"
    film_summary(tmp_path / "gone.mp4").save(page_file)
    context = browser.new_context(**DESKTOP)  # a missing file is an error on the console, by the browser itself
    page = context.new_page()
    page.goto(page_file.as_uri())
    page.get_by_text("The video cannot be shown.").wait_for()
    assert page.get_by_text("gone.mp4").count() > 0
    page.get_by_label("Choose the video").set_input_files(film)
    wait_until(page, "document.querySelector('video').readyState >= 2")
    context.close()
