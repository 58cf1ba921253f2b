"""Whatever is said to be done outlives a power cut.

A file is written, flushed, renamed, its folder flushed, and only then is it recorded anywhere."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from films import Recipe, make_video
from power import Disk, files_in, watched
from scenarios import SCENARIOS, Stage

import vastsum
from vastsum.export import FORMATS
from vastsum.jobs.inputs import Item
from vastsum.jobs.one import Settings
from vastsum.jobs.places import open_place
from vastsum.jobs.pool import Attempt
from vastsum.jobs.work import ItemWorker
from vastsum.serve import worker as studio_worker
from vastsum.serve.config import StudioSettings
from vastsum.serve.store import Job
from vastsum.serve.studio import Studio

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="/proc says which file a handle is of")

SOURCE = Path(vastsum.__file__).parent
WRITING = [name for name, scenario in SCENARIOS.items() if not (scenario.slow or scenario.answers)]


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_video(tmp_path_factory.mktemp("film") / "film.mp4", Recipe(n_frames=90, gop=15, sounds=["aac"]))


@pytest.mark.parametrize("name", WRITING)
def test_what_a_command_wrote_is_still_there(name: str, tmp_path: Path) -> None:
    stage = Stage(SCENARIOS[name], tmp_path)
    stage.clear()
    with watched(stage.output) as disk:
        ended = stage.run()
    assert ended.code == 0, ended.errors
    assert files_in(stage.output)
    assert disk.left().items() >= files_in(stage.output).items()


def test_a_training_is_finished_only_when_its_weights_are_still_there(tmp_path: Path) -> None:
    stage = Stage(SCENARIOS["train"], tmp_path)
    stage.clear()
    weights: list[bytes] = []

    def look(disk: Disk) -> None:
        left = disk.left()
        if "run/data.csv.gz" in left:
            weights.append(left["run/split0.seed0/last.safetensors"])

    with watched(stage.output, look):
        assert stage.run().code == 0
    assert set(weights) == {(stage.output / "run/split0.seed0/last.safetensors").read_bytes()}


def test_a_video_is_done_only_when_its_files_are_still_there(film: Path, tmp_path: Path) -> None:
    seen: set[str] = set()

    def look(disk: Disk) -> None:
        left = disk.left()
        for name, content in left.items():
            record = json.loads(content) if name.startswith(".vastsum/videos/") and name.endswith(".json") else {}
            if record:
                seen.add(record["status"])
            sizes = [len(left[file]) for file in record.get("files", ())]
            assert all(sizes)
            assert sum(sizes) == record.get("bytes_out", 0)

    out = tmp_path / "out"
    out.mkdir()
    settings = Settings("15%", tuple(FORMATS), 2.0, "efficientnet_lite0", "vastsum")
    with watched(out, look) as disk:
        worker = ItemWorker(settings, open_place(str(out)), overwrite=False, threads=1, folder=".")
        done = worker(Attempt(Item(str(film), "below/film"), 1))
    assert seen == {"started", "done"}
    assert len(done.files) == len(FORMATS)
    assert disk.left() == files_in(out)


def test_what_a_studio_has_answered_is_still_there(film: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload, the same again, and what its worker made of it."""
    monkeypatch.chdir(tmp_path)  # and back: tasks go to where their video is
    data, saved = tmp_path / "data", []
    data.mkdir()

    async def sent() -> AsyncIterator[bytes]:
        yield film.read_bytes()

    with watched(tmp_path) as disk:
        studio = Studio(StudioSettings(data=data))
        save = studio._store.save

        def saving(job: Job) -> None:
            saved.append(disk.left()[f"data/jobs/{job.id}/video/film.mp4"])
            save(job)

        monkeypatch.setattr(studio._store, "save", saving)
        options = studio.options("30%", "vastsum", True)

        async def submit() -> Job:
            first = await studio.submit_upload("film.mp4", options, sent(), None)
            return await studio.submit_again(first, options)

        try:
            job = asyncio.run(submit())
            task = {**studio._begin(job), "model": "vastsum"}  # type: ignore[dict-item]
            studio_worker.summarize(task, lambda *_: None)  # type: ignore[arg-type]
            export = {**task, "format": "mp4", "edits": {"budget": 0.3, "starts": None, "held": []}}
            studio_worker.export(export, lambda *_: None)  # type: ignore[arg-type]
            (level,) = studio._store._db.execute("PRAGMA synchronous").fetchone()
        finally:
            asyncio.run(studio.close())
    assert set(saved) == {film.read_bytes()}
    below = data / "jobs"
    left = {name: content for name, content in disk.left().items() if name.startswith("data/jobs/")}
    assert left == {f"data/jobs/{name}": content for name, content in files_in(below).items()}
    assert len(left) == 2 + 2 + len(list(below.rglob("*.jpg")))
    assert level == 2, "SQLite flushes at every commit (FULL)"


# ---- every writer ----

# What is not for keeping, or is flushed where it is written.
EXCEPTIONS = {
    ("jobs/places.py", "local.write_bytes(content)"),  # a copy on its way to another store
    ("serve/folders.py", "(self.root / 'lock').open('ab')"),
    ("serve/folders.py", "folder.replace(self.unclaimed / folder.name)"),
    ("serve/folders.py", "self.of(job).replace(leftover)"),  # to be removed
    ("serve/folders.py", "shutil.copyfile(source, destination)"),
    ("serve/studio.py", "part.open('xb')"),
    ("video/output.py", "av.open(f'file:{part.absolute()}', 'w', format=container_format, container_options=options)"),
}


def _writes(call: ast.Call) -> bool:
    owner, _, name = ast.unparse(call.func).rpartition(".")
    if name == "open":
        modes = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
        return any(set(mode) <= set("rwaxbt+") and set(mode) & set("wax+") for mode in modes)
    if name == "replace":  # a path is replaced by one other; in a text, one is replaced by another
        return bool(owner) and len(call.args) == 1
    if owner == "shutil":
        return name.startswith(("copy", "move"))
    return bool(owner) and name in {"write_bytes", "write_text", "rename"}


def _lasting_writes(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.With) and "atomic_path(" in ast.unparse(node.items[0]):
        return
    if isinstance(node, ast.Call) and _writes(node):
        yield ast.unparse(node)
    for child in ast.iter_child_nodes(node):
        yield from _lasting_writes(child)


def test_nothing_is_written_past_the_one_function_that_flushes() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), write)
        for path in SOURCE.rglob("*.py")
        if path != SOURCE / "files.py"
        for write in _lasting_writes(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == EXCEPTIONS


# ---- a real file system ----


@contextmanager
def mounted(image: Path, folder: Path) -> Iterator[Path]:
    folder.mkdir(exist_ok=True)
    said = subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True, text=True)
    if said.returncode:
        pytest.skip(f"no disk can be mounted here: {said.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_disk_copied_as_the_command_ends_holds_all_results(film: Path, tmp_path: Path) -> None:
    """What has not reached the disk by then, a power cut takes away."""
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("only root can mount a disk, and mkfs.ext4 makes it")
    films, image, cut = tmp_path / "films", tmp_path / "disk", tmp_path / "cut"
    films.mkdir()
    for n in range(2):
        shutil.copy(film, films / f"{n}.mp4")
    with image.open("wb") as file:
        file.truncate(32 * 2**20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    with mounted(image, tmp_path / "before") as place:
        command = [sys.executable, "-m", "vastsum", "summarize", films, "-o", place / "out", "--formats=mp4,json"]
        subprocess.run(command, check=True, capture_output=True)
        shutil.copy(image, cut)
        written = files_in(place / "out")
    assert len(written) >= 2 * 2 + 2 + 1  # results, records, and how they were asked for
    with mounted(cut, tmp_path / "after") as place:
        assert files_in(place / "out") == written
