"""One video: fetched, summarised, its files put in place, and last of all the record that it is done."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from vastsum.export.writing import targets_of
from vastsum.jobs.inputs import Item
from vastsum.jobs.ledger import Ledger, Outcome
from vastsum.jobs.one import Settings, load_models, summarize_one
from vastsum.jobs.places import Place, at_hand, is_url, sweep
from vastsum.jobs.pool import Attempt, Tell
from vastsum.video import probe


class ItemWorker:
    """Keeps the models loaded, and does one video after another."""

    def __init__(self, settings: Settings, place: Place, *, overwrite: bool, threads: int, folder: str) -> None:
        with contextlib.suppress(OSError):  # on another machine relative paths mean nothing, and URLs everything
            os.chdir(folder)
        sweep()
        self._settings, self._place, self._ledger = settings, place, Ledger(place)
        self._overwrite, self._threads = overwrite, threads
        load_models(settings, threads)
        self._ledger.begin(settings.asked())

    def __call__(self, attempt: Attempt[Item], _: Tell = lambda *_: None) -> Outcome:
        item = attempt.task
        earlier = self._ledger.read(item.name)
        if earlier is not None and earlier.source != item.source:
            earlier = None  # another video's; its files are not ours to replace
        if earlier is not None and earlier.status == "done":
            return earlier
        clock, begun = _Clock(), _begun(attempt)
        with at_hand(item.source) as video:
            begun = replace(begun, fetch_s=clock.lap_s(), bytes_in=_size(video))
            targets = self._targets(item, video)
            self._claim(
                begun, targets.values(), may_replace=self._overwrite or (earlier is not None and earlier.claimed)
            )
            with self._place.staged() as folder:
                own = {format: folder / target for format, target in targets.items()}
                made = summarize_one(video, own, self._settings, threads=self._threads, hide_place=is_url(item.source))
                bytes_out = sum(_size(path) for path in own.values())
        summary, write_s = made.summary, clock.lap_s() - made.watch_s
        done = replace(
            begun,
            status="done",
            watch_s=round(made.watch_s, 4),
            write_s=round(write_s, 4),
            seconds=clock.total_s(),
            video_s=summary.video.duration_s,
            summary_s=summary.duration_s,
            n_frames=summary.video.n_frames,
            n_segments=len(summary.segments),
            n_selected=len(summary.pieces),
            bytes_out=bytes_out,
            files=tuple(target.as_posix() for target in targets.values()),
            notes=made.notes,
        )
        self._ledger.record(done)
        return done

    def _targets(self, item: Item, video: Path) -> dict[str, Path]:
        """Where each format goes, as a path within the place. What is no video needs none."""
        probe(video)
        name, settings = PurePosixPath(item.name), self._settings
        return targets_of(video, Path(name.parent), settings.formats, copy=settings.copy, stem=name.name)

    def _claim(self, begun: Outcome, targets: Iterable[Path], *, may_replace: bool) -> None:
        """From here on, what is written under these names is this video's, and a next attempt may replace it."""
        for target in targets:
            self._place.check(target.as_posix(), replace=may_replace)
        self._ledger.record(begun)


def _begun(attempt: Attempt[Item]) -> Outcome:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    worker = f"{socket.gethostname()}:{os.getpid()}"
    return Outcome(attempt.task.source, attempt.task.name, "started", attempt.number, now, worker=worker)


def _size(path: Path) -> int:
    """0 where it cannot be asked; whoever opens the file says why."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _Clock:
    def __init__(self) -> None:
        self._start_s = self._lap_s = time.perf_counter()

    def lap_s(self) -> float:
        """Since this was asked last."""
        before, self._lap_s = self._lap_s, time.perf_counter()
        return round(self._lap_s - before, 4)

    def total_s(self) -> float:
        return round(time.perf_counter() - self._start_s, 4)
