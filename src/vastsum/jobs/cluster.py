"""Workers that are Ray actors, on the machines of a cluster or, where none is named, on this one."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vastsum.errors import ConfigError, MissingExtraError, VastsumError
from vastsum.jobs.pool import Pool, Start, Tell, WorkerDiedError, answer, started

_LOCAL_STORE_BYTES = 100 * 2**20  # tasks and outcomes are small; videos never pass through Ray


def ray_pool(
    start: Start,
    n_workers: int | None = None,
    *,
    address: str | None = None,
    cpus: float = 1.0,
    gpus: float = 0.0,
) -> Pool:
    """As many workers as the cluster has room for, if not told otherwise."""
    return Pool(RayEngine(start, n_workers, address=address, cpus=cpus, gpus=gpus))


class _Actor:
    """What lives on a worker. It is alive when it answers, so whoever asks learns why it could not start."""

    def __init__(self, start: Start) -> None:
        self._do = started(start)

    def trouble(self) -> VastsumError | None:
        return self._do if isinstance(self._do, VastsumError) else None

    def do(self, task: Any) -> tuple[list[tuple[Any, ...]], Any]:
        """What was told, all of it at the end, and the answer."""
        assert not isinstance(self._do, VastsumError)
        told: list[tuple[Any, ...]] = []
        return told, answer(self._do, task, lambda *what: told.append(what))


class RayEngine:
    """Actors are replaced by the pool and not by Ray's own `max_restarts`: whoever did half of a task is gone for
    certain before another begins it, and one that cannot start is not tried for ever."""

    def __init__(self, start: Start, n_workers: int | None, *, address: str | None, cpus: float, gpus: float) -> None:
        self._ray = _import_ray()
        self._owns_connection = not self._ray.is_initialized()
        if self._owns_connection:
            with _keeping_signals():
                _connect(self._ray, address, n_workers)
        try:
            self.n_workers = n_workers or _fitting(self._ray.cluster_resources(), cpus, gpus)
            self._actor_class = self._ray.remote(_Actor).options(num_cpus=cpus, num_gpus=gpus)
            self._start = self._ray.put(start)
        except BaseException:
            self.close()
            raise

    def hire(self) -> _RayWorker:
        return _RayWorker(self._ray, self._actor_class.remote(self._start))

    def close(self) -> None:
        if self._owns_connection:
            self._ray.shutdown()


class _RayWorker:
    def __init__(self, ray: Any, actor: Any) -> None:
        self._ray, self._actor = ray, actor

    def ready(self) -> None:
        _raised(self._heard(self._actor.trouble.remote()))

    def do(self, task: Any, tell: Tell) -> Any:
        told, message = self._heard(self._actor.do.remote(task))
        for what in told:
            tell(*what)
        return _raised(message)

    def end(self) -> None:
        """It may only have been out of reach."""
        self._ray.kill(self._actor)

    def _heard(self, promise: Any) -> Any:
        try:
            return self._ray.get(promise)
        except self._ray.exceptions.RayError as error:
            raise WorkerDiedError(type(error).__name__) from None


def _raised(message: Any) -> Any:
    if isinstance(message, VastsumError):
        raise message
    return message


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody
    try:
        import ray
    except ImportError as error:
        raise MissingExtraError("ray", "scale") from error
    return ray


@contextmanager
def _keeping_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself, and would print a dump of its stack; the command has its own way to end."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGTERM, before)


def _connect(ray: Any, address: str | None, n_workers: int | None) -> None:
    if address is None:
        # Ray's workers give way to all other programs (nice 15), which on a busy machine leaves them next to nothing.
        os.environ.setdefault("RAY_worker_niceness", "0")
        ray.init(
            address="local",  # Ray would else join whatever cluster it finds on this machine
            num_cpus=n_workers,
            include_dashboard=False,
            object_store_memory=_LOCAL_STORE_BYTES,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
        return
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except ImportError as error:
        raise ConfigError("--address", f"needs more of Ray ({error})", 'run: pip install "ray[client]"') from error
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        problem = f"no Ray cluster answers at {address} ({str(error).splitlines()[0]})"
        remedy = "check the address; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN"
        raise ConfigError("--address", problem, remedy) from error


def _fitting(resources: dict[str, float], cpus: float, gpus: float) -> int:
    """How many workers the cluster has room for, and one at least: it may grow."""
    room = [resources.get("CPU", 0.0) / cpus] if cpus else []
    room += [resources.get("GPU", 0.0) / gpus] if gpus else []
    return max(1, int(min(room, default=1.0)))
