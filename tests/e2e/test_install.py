"""What `pip install vastsum` brings: a small wheel that summarises offline, without torch."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from films import Recipe, make_video
from running import assert_sound_summary

ROOT = Path(__file__).resolve().parents[2]
MAX_WHEEL_BYTES = 30_000_000
FOR_TRAINING = {"torch", "h5py", "safetensors", "onnx", "onnxscript"}

# As it is in an environment without these packages, and without a network.
BARE = """
import importlib.abc, socket, sys

place, absent, *arguments = sys.argv[1:]

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent.split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def refuse(*_):
    raise AssertionError("something asked for the network")

sys.meta_path.insert(0, Absent())
sys.path.insert(0, place)
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import vastsum
assert vastsum.__file__.startswith(place), vastsum.__file__
from vastsum.cli import main
sys.argv = ["vastsum", *arguments]
main()
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "-w", str(folder)]
    if importlib.util.find_spec("hatchling"):
        command.append("--no-build-isolation")
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("vastsum-*.whl")
    return path


def test_wheel_is_small_and_complete(wheel: Path) -> None:
    assert wheel.stat().st_size < MAX_WHEEL_BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    needed_assets = {"efficientnet_lite0.onnx", "vastsum.onnx", "silero_vad.onnx", "checksums.json"}
    for needed in needed_assets | {"LICENSE.efficientnet_lite0.txt", "LICENSE.silero_vad.txt"}:
        assert f"vastsum/assets/{needed}" in names
    assert "vastsum/py.typed" in names
    for shared in ("man/man1/vastsum.1", "bash-completion/completions/vastsum"):
        assert any(name.endswith(f".data/data/share/{shared}") for name in names)


def test_core_dependencies_have_no_torch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
    core = {re.split(r"[^\w.-]", line)[0].lower() for line in required if "extra ==" not in line}
    assert {"numpy", "av", "onnxruntime"} <= core
    assert not core & FOR_TRAINING


def network_namespace() -> list[str]:
    """A command that runs another without any network at all, where that is allowed."""
    command = ["unshare", "--net"]
    try:
        allowed = subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except OSError:
        allowed = False
    return command if allowed else []


def test_the_wheel_alone_summarises_offline(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    video = make_video(tmp_path / "holiday.mp4", Recipe(n_frames=150, sounds=["aac"]))
    bare = [sys.executable, "-c", BARE, str(place), ",".join(FOR_TRAINING)]
    result = subprocess.run(
        [*network_namespace(), *bare, "summarize", str(video), "--formats=mp4,json,html"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    _, played = assert_sound_summary(tmp_path / "holiday.summary.json", tmp_path / "holiday.summary.mp4")
    assert len(played.samples)
    assert "vastsum-timeline" in (tmp_path / "holiday.summary.html").read_text()
