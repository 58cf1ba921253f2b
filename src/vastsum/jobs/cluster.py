"""A crew of Ray actors, on the machines of a cluster or, where none is named, on this one."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from vastsum.errors import ConfigError, MissingExtraError, VastsumError
from vastsum.jobs.crew import Attempt, Finished, Start, Stillbirths, answer, died, started

_LOCAL_STORE_BYTES = 100 * 2**20  # tasks and outcomes are small; videos never pass through Ray
_PATIENCE_S = 1.0  # how often signals are looked at while nothing happens


class _Actor:
    """What lives on a worker. It is alive when it answers, so whoever asks learns why it could not start."""

    def __init__(self, start: Start) -> None:
        self._do = started(start)

    def trouble(self) -> VastsumError | None:
        return self._do if isinstance(self._do, VastsumError) else None

    def do(self, attempt: Attempt[Any]) -> Any:
        assert not isinstance(self._do, VastsumError)
        return answer(self._do, attempt)


@dataclass
class _Member:
    actor: Any
    is_ready: bool = False
    attempt: Attempt[Any] | None = None


class RayCrew:
    """Actors are replaced here and not by Ray's own `max_restarts`: whoever did half of a task is gone for certain
    before another begins it, and one that cannot start is not tried for ever."""

    def __init__(
        self,
        start: Start,
        n_workers: int | None = None,
        *,
        address: str | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
    ) -> None:
        self._ray = _import_ray()
        self._owns_connection = not self._ray.is_initialized()
        if self._owns_connection:
            with _keeping_signals():
                _connect(self._ray, address, n_workers)
        try:
            wanted = n_workers or _fitting(self._ray.cluster_resources(), cpus, gpus)
            self._actor_class = self._ray.remote(_Actor).options(num_cpus=cpus, num_gpus=gpus)
            self._start = self._ray.put(start)
            self._stillbirths = Stillbirths(2 * wanted)
            self._under_way: dict[Any, _Member] = {}  # what each promised answer is waited for from
            self._idle: list[_Member] = []
            for _ in range(wanted):
                self._hire()
        except BaseException:
            self._disconnect()
            raise

    @property
    def n_idle(self) -> int:
        return len(self._idle)

    @property
    def n_busy(self) -> int:
        return sum(member.attempt is not None for member in self._under_way.values())

    def hand(self, attempt: Attempt[Any]) -> None:
        member = self._idle.pop()
        member.attempt = attempt
        self._under_way[member.actor.do.remote(attempt)] = member

    def news(self) -> list[Finished[Any, Any]]:
        answered: list[Any] = []
        while not answered:
            answered, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_PATIENCE_S)
        finished = [self._hear(promise) for promise in answered]
        return [each for each in finished if each is not None]

    def close(self) -> None:
        for member in [*self._idle, *self._under_way.values()]:
            self._ray.kill(member.actor)
        self._idle.clear()
        self._under_way.clear()
        self._disconnect()

    def _hear(self, promise: Any) -> Finished[Any, Any] | None:
        member = self._under_way.pop(promise)
        try:
            message = self._ray.get(promise)
        except self._ray.exceptions.RayError as error:
            return self._replace(member, type(error).__name__)
        attempt, member.attempt = member.attempt, None
        self._idle.append(member)
        if attempt is not None:
            return Finished(attempt, message)
        if message is not None:  # it cannot start, and neither could another
            raise message
        member.is_ready = True
        self._stillbirths.forget()
        return None

    def _replace(self, member: _Member, how: str) -> Finished[Any, Any] | None:
        self._ray.kill(member.actor)  # it may only have been out of reach
        if not member.is_ready:
            self._stillbirths.add(how)
        self._hire()
        return None if member.attempt is None else Finished(member.attempt, died(how))

    def _hire(self) -> None:
        actor = self._actor_class.remote(self._start)
        self._under_way[actor.trouble.remote()] = _Member(actor)

    def _disconnect(self) -> None:
        if self._owns_connection:
            self._ray.shutdown()


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
