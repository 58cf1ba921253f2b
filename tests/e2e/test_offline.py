"""Nothing is told to anybody: no socket is opened, and no file written but the results."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from films import Recipe, make_video

ROOT = Path(__file__).parents[2]

AS_IMPORTED = """
import os, sys

class Noticing:
    def find_spec(self, name, *_):
        if name == "onnxruntime":
            print(os.environ.get("ORT_DISABLE_TELEMETRY"))

sys.meta_path.insert(0, Noticing())
import vastsum.onnx_runtime
"""


@pytest.mark.parametrize(("own", "found"), [(None, "1"), ("0", "0")])
def test_onnx_runtime_is_told_to_keep_quiet_unless_someone_said_otherwise(own: str | None, found: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    environment |= {} if own is None else {"ORT_DISABLE_TELEMETRY": own}
    said = subprocess.run([sys.executable, "-c", AS_IMPORTED], env=environment, capture_output=True, text=True)
    assert said.stdout.split() == [found], said.stderr


def test_onnx_runtime_is_imported_in_one_place() -> None:
    importing = set()
    for folder in ("src", "tests", "benchmarks", "scripts", "studies"):
        for path in ROOT.joinpath(folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if any(name.split(".")[0] == "onnxruntime" for name in names):
                    importing.add(path.relative_to(ROOT).as_posix())
    assert importing == {"src/vastsum/onnx_runtime.py"}


# One video in this process, one in a worker; then both stay for longer than ONNX Runtime waits before it calls home.
STAYING = """
import sys, time
from functools import partial

import vastsum
from vastsum.jobs.inputs import Item
from vastsum.jobs.local import local_pool
from vastsum.jobs.places import open_place
from vastsum.jobs.pool import Attempt
from vastsum.jobs.one import Settings
from vastsum.jobs.work import ItemWorker

film, out = sys.argv[1:]
settings = Settings("15%", ("mp4", "json"), 2.0, "efficientnet_lite0", "vastsum")
start = partial(ItemWorker, settings, open_place(out), overwrite=False, threads=1, folder=".")
pool = local_pool(start, 1, threads=1)
summarizer = vastsum.Summarizer()
summarizer.summarize(film, "15%").save(f"{out}/here.html")
done = pool.submit(Attempt(Item(film, "worker"), 1)).result()
assert done.status == "done", done
time.sleep(10)
pool.close()
"""
_OPENED = re.compile(r'openat\((?:AT_FDCWD|\d+)<([^>]*)>, "([^"]*)", [A-Z_|]*O_(?:WRONLY|RDWR|CREAT)')
_MADE = re.compile(r'mkdir\(()"([^"]*)"')
_SOCKET = re.compile(r"socket\((AF_\w+)")


def test_a_run_opens_no_socket_and_writes_nothing_but_results(tmp_path: Path) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace, which watches what a run opens, is not installed")
    if subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True).returncode:
        pytest.skip("strace may not watch processes here")
    folders = {name: tmp_path / name for name in ("home", "tmp", "out")}
    for folder in folders.values():
        folder.mkdir()
    film = make_video(tmp_path / "film.mp4", Recipe(n_frames=90, gop=15, sounds=["aac"]))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    environment |= {"HOME": str(folders["home"]), "TMPDIR": str(folders["tmp"]), "PYTHONDONTWRITEBYTECODE": "1"}
    strace = ["strace", "-f", "-qq", "-y", "--seccomp-bpf", "-e", "trace=socket,open,openat,mkdir,mkdirat"]
    seen = tmp_path / "seen"
    subprocess.run(
        [*strace, "-o", str(seen), sys.executable, "-c", STAYING, str(film), str(folders["out"])],
        env=environment,
        check=True,
        timeout=120,
    )
    calls = seen.read_text(errors="replace")
    sockets = set(_SOCKET.findall(calls))
    assert sockets <= {"AF_UNIX"}, f"a run looks for the network: {sockets}"
    written = {Path(where, name) for where, name in [*_OPENED.findall(calls), *_MADE.findall(calls)]}
    assert any(path.is_relative_to(folders["out"]) for path in written), "strace does not show what is written any more"
    allowed = (folders["out"], folders["tmp"], Path("/dev"), Path("/proc"))
    elsewhere = {str(path) for path in written if not any(path.is_relative_to(folder) for folder in allowed)}
    assert not elsewhere
    assert not list(folders["tmp"].iterdir()), "and nothing stays in the temporary folder"
