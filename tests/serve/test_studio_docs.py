"""The example of docs/api.md, run as it stands there."""

from __future__ import annotations

import io
import re
from importlib.resources import files
from pathlib import Path

import av
from studios import Client

from vastsum.export.page import TIMELINE_SCRIPTS, TIMELINE_STYLES
from vastsum.serve.api import router

DOCS = Path(__file__).parents[2] / "docs"


def test_the_example_in_python_works(studio: Client) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (DOCS / "api.md").read_text(), re.DOTALL)
    assert "127.0.0.1:8000" in example
    found: dict[str, object] = {}
    exec(example.replace("127.0.0.1:8000", f"127.0.0.1:{studio.port}"), found)
    video = found["video"]
    assert isinstance(video, bytes)
    with av.open(io.BytesIO(video)) as container:
        assert next(container.decode(video=0)).width == 160


def test_every_path_is_told_of(studio: Client) -> None:
    told = (DOCS / "api.md").read_text()
    for path in studio.get("/openapi.json").json()["paths"]:
        short = path.removeprefix(router.prefix).replace("{job_id}", "ID").replace("{format_name}", "FORMAT")
        assert short.replace("{n}", "N") in told, path


def test_the_page_loads_what_the_timeline_needs_in_its_order() -> None:
    page = (files("vastsum.serve") / "page" / "index.html").read_text()
    for names in (TIMELINE_STYLES, TIMELINE_SCRIPTS):
        places = [page.index(f'"/{name}"') for name in names]
        assert places == sorted(places)
