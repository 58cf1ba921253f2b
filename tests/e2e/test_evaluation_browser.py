"""The evaluation page in a real Chromium: it opens from disk, its tables sort, its curves can be pointed at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import LOW_CONTRAST, NAMELESS, opened

from vastsum.bench.data import Dataset
from vastsum.bench.page.evaluation import Section, write_page
from vastsum.bench.report import reference_rows

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def page_file(tvsum: Dataset, summe: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluation") / "page.html"
    sections = []
    for dataset in (tvsum, summe):
        names = list(dataset.videos)
        ridge, *references = reference_rows(dataset, [names[:4]], [names[4:]])
        rows = [ridge, replace(ridge, protocol="5fcv"), *references]
        sections.append(Section(f"<i>{dataset.kind}</i>", dataset.kind, rows, dataset.videos))
    write_page(sections, path, title="Two benchmarks")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_it_opens_from_disk(browser: Any, page_file: Path, scheme: str, window: dict[str, Any]) -> None:
    with opened(browser, page_file.as_uri(), color_scheme=scheme, **window) as page:
        page.get_by_role("heading", name="<i>summe</i>").wait_for()
        page.locator("figure svg").nth(5).wait_for(state="attached")  # three plots in each section
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.evaluate(NAMELESS) == []
        assert page.evaluate(LOW_CONTRAST) == []


def test_tables_sort_by_any_column(browser: Any, page_file: Path) -> None:
    with opened(browser, page_file.as_uri(), **DESKTOP) as page:
        table = page.get_by_role("table", name="Agreement with people").first
        heads = table.locator("thead th")
        column = heads.all_inner_texts().index("τ")
        heads.nth(column).get_by_role("button").click()
        assert heads.nth(column).get_attribute("aria-sort") == "descending"

        def values() -> list[float]:
            shown = table.locator(f"tbody td:nth-child({column + 1})").all_inner_texts()
            assert shown[-1] == "—", "uniform clips have no scores, and come last"
            return [float(text.split()[0]) for text in shown if text != "—"]

        assert values() == sorted(values(), reverse=True)
        heads.nth(column).get_by_role("button").click()
        assert values() == sorted(values())
        heads.first.get_by_role("button").click()
        methods = table.locator("tbody td:first-child").all_inner_texts()
        assert methods == sorted(methods)


def test_one_protocol_can_be_looked_at_alone(browser: Any, page_file: Path) -> None:
    with opened(browser, page_file.as_uri(), **DESKTOP) as page:
        protocols = page.locator("#section-0 table").first.locator("tbody td:nth-child(2)")
        assert protocols.all_inner_texts() == ["last", "5fcv", *[""] * 5]
        page.get_by_label("Protocol, <i>tvsum</i>").select_option("5fcv")
        assert protocols.all_inner_texts() == ["5fcv", *[""] * 5]
        assert page.get_by_label("Method").first.locator("option").all_inner_texts() == ["Ridge, λ fixed · 5fcv"]


def test_a_video_is_shown_against_each_person(browser: Any, page_file: Path, tvsum: Dataset) -> None:
    name, video = list(tvsum.videos.items())[2]
    with opened(browser, page_file.as_uri(), **DESKTOP) as page:
        page.get_by_role("button", name=video.title or name, exact=True).first.click()
        plot = page.get_by_role("slider", name=f"Frame of {name}").first
        plot.focus()
        before = plot.get_attribute("aria-valuetext")
        page.keyboard.press("ArrowRight")
        said = plot.get_attribute("aria-valuetext")
        assert said != before
        t = len(video.segments.picks) // 2 + 1
        assert said.startswith(f"Frame {video.segments.picks[t]}:")
        assert f"people {video.annotations[:, t].mean():.2f}" in said
        page.get_by_label("Person").first.select_option("person 3")
        assert f"person 3 {video.annotations[2, t]:.2f}" in plot.get_attribute("aria-valuetext")
        assert plot.locator(".person").get_attribute("d").startswith("M")
