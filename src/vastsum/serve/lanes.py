"""Tasks in processes of their own, a few at a time, the rest waiting their turn."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from vastsum.serve.store import Failure, Progress

log = logging.getLogger("vastsum.serve")

STALLED_S = 900.0  # without a sign of life; segmenting ten hours of video takes a fraction of that
LONGEST_S = 12 * 3600.0  # for one task
MAX_TRIES = 3  # of a task that lacked something once it had begun
FIRST_WAIT_S = 10.0
_LONGEST_WAIT_S = 60.0
_LACKING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}
_COMMAND = (sys.executable, "-P", "-m", "vastsum.serve.worker")
_LINE_BYTES = 2**24
_LOG_BYTES = 4000


@dataclass(frozen=True)
class Finished:
    content: dict[str, Any]


@dataclass(frozen=True)
class Crashed:
    """The process ended without a word: why, as far as can be told."""

    failure: Failure


@dataclass(frozen=True)
class Lacking:
    """The machine had too few files to open, too little memory or disk. That may change."""

    failure: Failure
    has_begun: bool


Outcome = Finished | Failure | Crashed


@dataclass(frozen=True)
class Ticket:
    """A task waiting in a lane. `begin` gives the task when its turn has come, or the reason why there is none."""

    key: str
    begin: Callable[[], dict[str, Any] | Failure]
    follow: Callable[[Progress], None]
    end: Callable[[Outcome], Awaitable[None]]


class Lane:
    """Runs up to `width` tasks at a time, first come, first served."""

    def __init__(self, width: int, keep_open: Sequence[int] = ()) -> None:
        """`keep_open` are file descriptors that the processes inherit."""
        self._width, self._keep_open = width, keep_open
        self._waiting: dict[str, Ticket] = {}  # in order of arrival
        self._arrived = asyncio.Event()
        self._running: dict[str, asyncio.Task[Outcome]] = {}
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
            work = asyncio.create_task(_outcome(ticket, self._keep_open))
            self._running[key] = work
            await asyncio.wait([work])
            if self._running.get(key) is not work:
                continue  # withdrawn
            del self._running[key]
            try:
                await ticket.end(work.result())
            except Exception:  # a full disk, say: this task's trouble alone
                log.exception("the end of task %s could not be noted", key)


async def _outcome(ticket: Ticket, keep_open: Sequence[int]) -> Outcome:
    """Where the machine lacks something, wait and try again: for ever where no process could be started, `MAX_TRIES`
    times where one was, since it may itself need more than there will ever be."""
    n_tries = 0
    wait_s = FIRST_WAIT_S
    while True:
        outcome = await _attempt(ticket, keep_open)
        if not isinstance(outcome, Lacking):
            return outcome
        n_tries += outcome.has_begun
        if n_tries >= MAX_TRIES:
            return outcome.failure
        log.warning("a task waits and is tried again: %s", outcome.failure.problem)
        ticket.follow(Progress(f"waiting: {outcome.failure.problem}"))
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)


async def _attempt(ticket: Ticket, keep_open: Sequence[int]) -> Outcome | Lacking:
    try:
        task = ticket.begin()
        return task if isinstance(task, Failure) else await _in_a_process(task, ticket.follow, keep_open)
    except OSError as error:
        failure = Failure(
            f"no worker process could be started ({error.strerror})", "end other programs, then try again"
        )
        return Lacking(failure, has_begun=False) if error.errno in _LACKING else failure
    except Exception as error:  # whatever it is, no job is left hanging
        log.exception("a task ended as none should")
        return Crashed(Failure(f"something went wrong that should not have ({error!r})", "please report it"))


async def _in_a_process(
    task: dict[str, Any], follow: Callable[[Progress], None], keep_open: Sequence[int]
) -> Outcome | Lacking:
    process = await asyncio.create_subprocess_exec(
        *_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LINE_BYTES,
        pass_fds=keep_open,
        start_new_session=True,  # Ctrl-C is for the studio, which ends its workers itself
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    last_words = asyncio.create_task(_last_words(process.stderr))
    try:
        process.stdin.write(json.dumps(task).encode() + b"\n")
        async with asyncio.timeout(LONGEST_S):
            outcome = await _heard(process.stdout, follow) or Crashed(_crash(await process.wait()))
    except TimeoutError:
        outcome = Failure(f"not done within {LONGEST_S / 3600:.0f} hours", "give parts of the video instead")
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.shield(process.wait())
    said = await last_words
    if said and not isinstance(outcome, Finished):
        log.warning("the worker for %s: %s; it said: %s", task["video"], outcome, said)
    return outcome


async def _heard(out: asyncio.StreamReader, follow: Callable[[Progress], None]) -> Outcome | Lacking | None:
    """What the process says in the end; None where it falls silent."""
    while True:
        try:
            line = await asyncio.wait_for(out.readline(), STALLED_S)
        except TimeoutError:
            return Failure(
                f"nothing has happened for {STALLED_S / 60:.0f} minutes", "convert the video, then try again"
            )
        if not line:
            return None
        message = json.loads(line)
        if "finished" in message:
            return Finished(message["finished"])
        if "failed" in message:
            failure = Failure(**message["failed"])
            return Lacking(failure, has_begun=True) if message["is_lacking"] else failure
        follow(Progress(**message))


async def _last_words(err: asyncio.StreamReader) -> str:
    kept = b""
    while chunk := await err.read(2**16):
        kept = (kept + chunk)[-_LOG_BYTES:]
    return kept.decode("utf-8", "replace").strip()


def _crash(returncode: int) -> Failure:
    if returncode == -signal.SIGKILL:
        problem = "the worker was killed, most likely for want of memory"
        return Failure(problem, "end other programs or use a smaller video, then try again")
    try:
        how = signal.Signals(-returncode).name if returncode < 0 else f"exit code {returncode}"
    except ValueError:
        how = f"signal {-returncode}"
    return Failure(f"the decoder crashed on this video ({how})", "convert it with another program, then try again")
