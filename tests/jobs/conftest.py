"""Small films to summarise many of, and the two kinds of pool that can do it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "video"))

from films import Recipe, make_video

from vastsum.jobs.cluster import ray_pool
from vastsum.jobs.local import local_pool
from vastsum.jobs.many import PoolOf


@pytest.fixture(scope="session")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    return make_video(path, Recipe(n_frames=90, gop=15, sounds=["aac"], options={"preset": "ultrafast"}))


@pytest.fixture
def films(film: Path, tmp_path: Path) -> Callable[[int], Path]:
    """A folder of so many films, one of them in a folder below."""

    def make(n: int) -> Path:
        folder = tmp_path / "films"
        (folder / "below").mkdir(parents=True)
        for k in range(n - 1):
            shutil.copy(film, folder / f"{k}.mp4")
        shutil.copy(film, folder / "below" / f"{n - 1}.mp4")
        return folder

    return make


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Ray on this machine, as small as it gets; its workers find the modules of these tests."""
    found_in = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": os.pathsep.join(found_in)}
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install '.[scale]'")
    before = signal.getsignal(signal.SIGTERM)
    ray.init(
        address="local",
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100 * 2**20,
        log_to_driver=False,
        logging_level="ERROR",
    )
    signal.signal(signal.SIGTERM, before)  # Ray takes it for itself, and other tests send it
    yield
    ray.shutdown()


@pytest.fixture(params=["local", "ray"])
def pool_of(request: pytest.FixtureRequest) -> PoolOf:
    """Two workers: whatever is true of one engine is true of the other."""
    if request.param == "local":
        return partial(local_pool, n_workers=2, threads=1)
    request.getfixturevalue("cluster")
    return partial(ray_pool, n_workers=2)
