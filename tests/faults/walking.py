"""A walk over every call that a command makes to the world, with a fault at each in turn."""

from __future__ import annotations

import gc
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from injection import Site, counted, fault, natural_error
from scenarios import EARLIER_DIGEST, Ended, Files, Stage

FaultName = Literal["error", "no memory", "slow"]
Outcome = Literal["same result", "result with a note", "result with another picture", "clear error"]
SLOW_S = 0.05
OFTEN = 10  # calls; of such a site the middle one is of interest too


@dataclass(frozen=True)
class Step:
    """One fault and what came of it. Without violations there is an outcome."""

    scenario: str
    site: Site
    nth: int
    fault: FaultName
    outcome: Outcome | None
    said: str
    violations: tuple[str, ...]


class Walk:
    """Runs a command cleanly once, then with faults; every run is compared with the clean one."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        stage.clear()
        stage.run()  # what is imported on the way is imported by now
        stage.clear()
        with counted() as calls:
            clean = stage.run()
        assert clean.code == 0, clean.errors
        self.calls: Counter[Site] = calls
        self._clean, self._clean_files = clean, stage.files()
        self._n_threads, self._n_handles = threading.active_count(), _n_handles()

    def own_sites(self) -> list[Site]:
        return sorted(site for site in self.calls if site.file.startswith(self._stage.scenario.about))

    def positions(self, site: Site) -> list[int]:
        """The first call and the last; of many calls also one in the middle."""
        n = self.calls[site]
        return sorted({0, n // 2 if n >= OFTEN else 0, n - 1})

    def step(self, site: Site, nth: int = 0, name: FaultName = "error") -> Step:
        self._stage.clear()
        gc.freeze()  # so that only what this run leaves is looked through for garbage, not all that was imported
        try:
            with fault(site, nth, _happening(site, name)) as struck:
                ended = self._stage.run()
            left = self._stage.files()
            violations = [*self._wrong_ending(ended, name), *self._wrong_files(left, ended), *self._wrong_leftovers()]
        finally:
            gc.unfreeze()
        if not struck:
            violations = [f"the call was not made this time (it was made {self.calls[site]} times before)"]
        elif ended.code != 0:
            violations += self._wrong_rerun()
        outcome = None if violations else self._outcome(ended, left)
        return Step(self._stage.scenario.name, site, nth, name, outcome, _first_line(ended), tuple(violations))

    def _outcome(self, ended: Ended, left: Files) -> Outcome:
        if ended.code != 0:
            return "clear error"
        if left == self._clean_files:
            return "same result"
        return "result with a note" if "note:" in ended.errors else "result with another picture"

    def _wrong_ending(self, ended: Ended, name: FaultName) -> Iterator[str]:
        if ended.code not in (0, 1):
            yield f"exit code {ended.code}"
        if name == "slow" and ended.code != 0:
            yield f"slowness is no failure: {ended.errors.strip()}"
        if ended.code == 1:
            lines = [line for line in ended.errors.splitlines() if line.strip()]
            told = self._stage.scenario.answers and ended.said
            if not told and len([line for line in lines if line.startswith(("error: ", "left out: "))]) != 1:
                yield f"not one line of error: {ended.errors.strip()!r}"
            if "error: a file:" in ended.errors:
                yield f"an error that does not say where: {ended.errors.strip()}"
            if "should not have" in ended.errors or "Traceback" in ended.errors:
                yield f"an error that is nobody's: {ended.errors.strip()}"

    def _wrong_files(self, left: Files, ended: Ended) -> Iterator[str]:
        scenario = self._stage.scenario
        resumes = re.compile(scenario.resumes)
        may_differ = scenario.pictures if ended.code == 0 else scenario.resumes
        if "note:" in ended.errors:
            may_differ = ".*"
        for name, digest in left.items():
            whole = self._clean_files.get(name)
            if name.endswith(".part") or (whole is None and not resumes.fullmatch(name)):
                yield f"{name} is left behind"
            elif digest not in (whole, EARLIER_DIGEST) and whole is not None and not re.fullmatch(may_differ, name):
                yield f"{name} differs from what it should be, and nothing was said"
        if ended.code == 0 and "note:" not in ended.errors and left != self._clean_files:
            missing = sorted(name for name in self._clean_files if left.get(name) in (None, EARLIER_DIGEST))
            if missing:
                yield f"success without {', '.join(missing)}"

    def _wrong_leftovers(self) -> Iterator[str]:
        for what, count, before in (
            ("threads", threading.active_count, self._n_threads),
            ("file handles", _n_handles, self._n_handles),
        ):
            if not _settles(count, before):
                yield f"{count()} {what} where there were {before}"

    def _wrong_rerun(self) -> Iterator[str]:
        again = self._stage.run()
        if again.code != 0:
            yield f"the next run fails: {again.errors.strip()}"
        elif self._stage.files() != self._clean_files:
            yield "the next run gives another result"


def _happening(site: Site, name: FaultName) -> Callable[[str | None], None]:
    def happen(path: str | None) -> None:
        if name == "slow":
            time.sleep(SLOW_S)
        elif name == "no memory":
            raise MemoryError
        else:
            raise natural_error(site.kind, site.call, path)

    return happen


def _settles(count: Callable[[], int], at_most: int) -> bool:
    """Threads and handles that nobody holds go away by themselves, at the latest when garbage is collected."""
    if count() > at_most:
        gc.collect()
    deadline = time.monotonic() + 5
    while count() > at_most:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def _n_handles() -> int:
    open_files = Path("/proc/self/fd")
    return len(list(open_files.iterdir())) if open_files.is_dir() else 0


def _first_line(ended: Ended) -> str:
    return next((line for line in ended.errors.splitlines() if line.startswith(("error:", "note:", "left out:"))), "")
