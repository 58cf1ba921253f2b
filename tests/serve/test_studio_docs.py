"""The example of docs/api.md, run as it stands there."""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import av
import pytest
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


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_the_example_for_the_shell_works(studio: Client, film: Path, tmp_path: Path) -> None:
    (example,) = re.findall(r"```bash\n(.*?)```", (DOCS / "api.md").read_text(), re.DOTALL)
    shutil.copy(film, tmp_path / "holiday.mp4")

    def run(line: str) -> str:
        line = line.replace("127.0.0.1:8000", f"127.0.0.1:{studio.port}").replace("curl", "curl --fail --silent", 1)
        return subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    upload, events, export, download = example.splitlines()
    job = json.loads(run(upload))["id"]
    assert '"state":"done"' in run(events.replace("ID", job, 1)).splitlines()[-2].replace(" ", "")
    run(export.replace("ID", job))
    studio.exported(job, "mp4")
    run(download.replace("ID", job))
    assert (tmp_path / "holiday.summary.mp4").stat().st_size > 1000


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
