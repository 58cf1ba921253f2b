"""The report as a file: self-contained, safe whatever the video is called, and small."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from summaries import make_summary

from vastsum.export.html import MAX_SEGMENT_PICTURES, video_link
from vastsum.summary import Summary

HOSTILE = "</script><script>alert(1)</script><!-- \u2028 & ' \".mp4"


class Page(HTMLParser):
    """What a browser would take a page for."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None], str]] = []  # tag, attributes, text at its beginning
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.elements and not self.elements[-1][2]:
            self.elements[-1] = (*self.elements[-1][:2], data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attrs, text) for name, attrs, text in self.elements if name == tag]

    @property
    def data(self) -> Any:
        return next(json.loads(text) for attrs, text in self.all("script") if attrs.get("id") == "data")

    @property
    def policy(self) -> str:
        return next(str(attrs["content"]) for attrs, _ in self.all("meta") if "http-equiv" in attrs)


def saved(summary: Summary, folder: Path) -> Page:
    return Page(summary.save(folder / "page.summary.html"))


def test_it_holds_the_summary_as_json_does(filmed: Summary, tmp_path: Path) -> None:
    assert Summary.from_dict(saved(filmed, tmp_path).data["summary"]) == filmed


def test_nothing_is_loaded_but_the_video(filmed: Summary, tmp_path: Path) -> None:
    page = saved(filmed, tmp_path)
    assert not [attrs for _, attrs, _ in page.elements if attrs.keys() & {"src", "href", "style", "onclick", "onload"}]
    assert not page.all("link")


def test_the_policy_allows_the_one_script_and_the_one_style_by_their_hashes(filmed: Summary, tmp_path: Path) -> None:
    page = saved(filmed, tmp_path)
    scripts = [text for attrs, text in page.all("script") if "type" not in attrs]
    for name, texts in (("script-src", scripts), ("style-src", [text for _, text in page.all("style")])):
        hashes = [f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in texts]
        assert re.search(rf"{name} ([^;]*)", page.policy)[1].split() == hashes  # type: ignore[index]
    assert "default-src 'none'" in page.policy
    assert "unsafe" not in page.policy


def test_a_name_is_never_taken_for_html(tmp_path: Path) -> None:
    folder = tmp_path / "<" / "script><script>alert(2)<"
    path = folder / HOSTILE.replace("/", "∕")
    plain, hostile = saved(make_summary("a.mp4"), tmp_path), saved(make_summary(path), tmp_path)
    assert [tag for tag, *_ in hostile.elements] == [tag for tag, *_ in plain.elements]
    assert hostile.data["expected"] == str(path)


def test_pictures_are_embedded_in_order_and_modest(filmed: Summary, tmp_path: Path) -> None:
    thumbnails = saved(filmed, tmp_path).data["thumbnails"]
    times = [thumbnail["time_s"] for thumbnail in thumbnails]
    assert times == sorted(times)
    assert len(times) >= len(filmed.segments)
    for thumbnail in thumbnails:
        kind, content = thumbnail["src"].split(",")
        assert kind == "data:image/jpeg;base64"
        assert Image.open(BytesIO(b64decode(content))).size == (160, 90)
    # The video shows another colour every 60 frames; so do the pictures.
    first, last = (
        Image.open(BytesIO(b64decode(thumbnails[n]["src"].split(",")[1]))).getpixel((80, 45)) for n in (0, -1)
    )
    assert sum(abs(a - b) for a, b in zip(first, last, strict=True)) > 100  # type: ignore[arg-type]


def test_many_segments_do_not_make_a_huge_page(video: Path, tmp_path: Path) -> None:
    page = saved(make_summary(video, n_segments=290), tmp_path)
    assert MAX_SEGMENT_PICTURES <= len(page.data["thumbnails"]) < MAX_SEGMENT_PICTURES + 50


def test_without_the_video_there_are_no_pictures(summary: Summary, tmp_path: Path) -> None:
    assert saved(summary, tmp_path).data["thumbnails"] == []


@pytest.mark.parametrize(
    ("video", "page", "link"),
    [
        ("/films/a b#1.mp4", "/films/page.html", "a%20b%231.mp4"),
        ("/films/raw/a.mp4", "/films/page.html", "raw/a.mp4"),
        ("/films/a.mp4", "/out/page.html", "file:///films/a.mp4"),
        ("/films/c:d.mp4", "/films/page.html", "c%3Ad.mp4"),
    ],
)
def test_the_video_is_linked_beside_the_page_or_where_it_is(video: str, page: str, link: str) -> None:
    assert video_link(Path(video), Path(page)) == link


def test_relative_paths_are_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert video_link(Path("films/a.mp4"), Path("films/page.html")) == "a.mp4"
    assert video_link(Path("films/a.mp4"), Path("out/page.html")) == (tmp_path / "films/a.mp4").as_uri()
    assert video_link(Path("../a.mp4"), Path("page.html")) == "../a.mp4"
