"""Tasks in worker processes of their own, a few at a time, the rest waiting their turn."""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from vastsum.errors import described
from vastsum.jobs.local import LocalEngine
from vastsum.jobs.pool import Pool, WorkerDiedError
from vastsum.serve import worker
from vastsum.serve.worker import Done, Failed, Failure, Step

log = logging.getLogger("vastsum.serve")

STALLED_S = 900.0  # without a sign of life; segmenting ten hours of video takes a fraction of that
LONGEST_S = 12 * 3600.0  # for one task
MAX_TRIES = 3  # of a task that lacked something once it had begun
FIRST_WAIT_S = 10.0
_LONGEST_WAIT_S = 60.0
_LACKING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}

TaskResult = Done | Failed


@dataclass(frozen=True)
class Ticket:
    """A task that waits. `begin` gives the task when its turn has come, or the reason why there is none."""

    key: str
    begin: Callable[[], dict[str, Any] | Failure]
    follow: Callable[[Step], None]
    end: Callable[[TaskResult], Awaitable[None]]


class TaskQueue:
    """Runs up to `width` tasks at a time, first come, first served. `held` is a file that workers hold open."""

    def __init__(self, width: int, held: int) -> None:
        self._width, self._held = width, held
        self._waiting: dict[str, Ticket] = {}  # in order of arrival
        self._arrived = asyncio.Event()
        self._running: dict[str, asyncio.Task[TaskResult]] = {}
        self._runners: list[asyncio.Task[None]] = []

    def open(self) -> None:
        self._runners = [asyncio.create_task(self._run()) for _ in range(self._width)]

    async def close(self) -> None:
        """End what runs, without a word to whom it concerns: it is begun again when the studio is."""
        tasks = [*self._runners, *self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def n_waiting(self) -> int:
        return len(self._waiting)

    def position(self, key: str) -> int | None:
        """How many come first; None where the task does not wait."""
        return next((place for place, waiting in enumerate(self._waiting) if waiting == key), None)

    def add(self, ticket: Ticket) -> None:
        self._waiting[ticket.key] = ticket
        self._arrived.set()

    async def withdraw(self, key: str) -> None:
        """Take a task out, waiting or running; its `end` is not called. Returns when its process is gone."""
        self._waiting.pop(key, None)
        running = self._running.pop(key, None)
        if running is not None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            while not self._waiting:
                self._arrived.clear()
                await self._arrived.wait()
            key = next(iter(self._waiting))
            ticket = self._waiting.pop(key)
            work = asyncio.create_task(self._outcome(ticket))
            self._running[key] = work
            await asyncio.wait([work])
            if self._running.get(key) is not work:
                continue  # withdrawn
            del self._running[key]
            try:
                await ticket.end(work.result())
            except Exception:  # a full disk, say: this task's trouble alone
                log.exception("the end of task %s could not be noted", key)

    async def _outcome(self, ticket: Ticket) -> TaskResult:
        """Where the machine lacks something, wait and try again: for ever where no process could be started,
        `MAX_TRIES` times where one was, since it may itself need more than there will ever be."""
        n_tries = 0
        wait_s = FIRST_WAIT_S
        while True:
            outcome = await self._attempt(ticket)
            if isinstance(outcome, Done) or not outcome.is_lacking:
                return outcome
            n_tries += outcome.has_begun
            if n_tries >= MAX_TRIES:
                return outcome
            log.warning("a task waits and is tried again: %s", outcome.failure.problem)
            ticket.follow(Step(f"waiting: {outcome.failure.problem}"))
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _attempt(self, ticket: Ticket) -> TaskResult:
        try:
            task = ticket.begin()
            if isinstance(task, Failure):
                return Failed(task)
            return await self._in_a_process(task, ticket.follow)
        except OSError as error:
            failure = Failure(
                f"no worker process could be started ({error.strerror})", "end other programs, then try again"
            )
            return Failed(failure, is_lacking=error.errno in _LACKING, has_begun=False)
        except Exception as error:  # whatever it is, no job is left hanging
            log.exception("a task ended as none should")
            told = described(error, "task", "please report it")
            return Failed(Failure(told.problem, told.remedy), has_crashed=True)

    async def _in_a_process(self, task: dict[str, Any], follow: Callable[[Step], None]) -> TaskResult:
        """A process for this task alone, so that whatever comes of it ends with it."""
        loop = asyncio.get_running_loop()
        begun_s = heard_s = loop.time()

        def hear(progress: Step) -> None:
            nonlocal heard_s
            heard_s = loop.time()
            follow(progress)

        def tell(*progress: Any) -> None:  # called by another thread
            loop.call_soon_threadsafe(hear, Step(*progress))

        pool = Pool(LocalEngine(worker.start, 1, held=self._held))
        work = asyncio.wrap_future(pool.submit(task, tell))
        try:
            while not work.done():
                left_s = begun_s + LONGEST_S - loop.time()
                silence_s = heard_s + STALLED_S - loop.time()
                if left_s <= 0:
                    problem = f"not done within {LONGEST_S / 3600:.0f} hours"
                    return Failed(Failure(problem, "give parts of the video instead"))
                if silence_s <= 0:
                    problem = f"nothing has happened for {STALLED_S / 60:.0f} minutes"
                    return Failed(Failure(problem, "convert the video, then try again"))
                await asyncio.wait([work], timeout=min(left_s, silence_s))
            outcome: TaskResult = work.result()
            return outcome
        except WorkerDiedError as error:
            log.warning("the worker for %s: %s", task["video"], error.problem)
            return Failed(_crash(error.how), has_crashed=True)
        finally:
            work.cancel()
            await asyncio.shield(asyncio.to_thread(pool.close))


def _crash(how: str) -> Failure:
    if how == "killed by SIGKILL":
        problem = "the worker was killed, most likely because memory ran out"
        return Failure(problem, "end other programs or use a smaller video, then try again")
    problem = f"the decoder crashed on this video ({how.removeprefix('killed by ')})"
    return Failure(problem, "convert it with another program, then try again")
