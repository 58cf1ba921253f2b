"""Who does the work of a command: processes of this machine, or a Ray cluster."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from vastsum.errors import ConfigError

if TYPE_CHECKING:
    from vastsum.jobs.many import PoolOf

_MAX_ON_A_GPU = 4  # processes; each holds the models


class Engine(StrEnum):
    local = "local"
    ray = "ray"


Address = Annotated[
    str | None, typer.Option(help="Ray cluster: auto, or ray://HOST:PORT.", show_default="start one on this machine")
]
GpusPerWorker = Annotated[
    float | None, typer.Option(help="GPUs per Ray worker; may be a fraction.", show_default="1 on cuda", min=0)
]


def refuse_cluster_options(address: str | None, gpus_per_worker: float | None) -> None:
    for option, value in (("--address", address), ("--gpus-per-worker", gpus_per_worker)):
        if value is not None:
            raise ConfigError(option, "is for a Ray cluster", "add --engine ray, or leave it out")


def cluster(device: str, address: str | None, workers: int | None, gpus_per_worker: float | None) -> PoolOf:
    from vastsum.jobs.cluster import ray_pool

    gpus = gpus_per_worker if gpus_per_worker is not None else float(device.startswith("cuda"))
    return partial(ray_pool, n_workers=workers, address=address, gpus=gpus)


def processes(device: str, workers: int | None, n_tasks: int) -> tuple[PoolOf, int]:
    """The pool, and how many threads each worker may use: all cores are used, and none by two."""
    from vastsum.jobs.local import local_pool
    from vastsum.video.source import available_cores

    cores = available_cores()
    n_workers = workers or max(1, min(n_tasks, cores if device in ("cpu", "auto") else _MAX_ON_A_GPU))
    threads = max(1, cores // n_workers)
    return partial(local_pool, n_workers=n_workers, threads=threads), threads
