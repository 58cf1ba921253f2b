"""One video: fetched, summarised, its files put in place, and last of all the record that it is done."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from vastsum.export.writing import targets_of, write_all
from vastsum.scale.crew import Attempt
from vastsum.scale.inputs import Item
from vastsum.scale.outcome import Ledger, Outcome
from vastsum.scale.places import Place, at_hand, sweep
from vastsum.summarizer import Summarizer
from vastsum.video import probe


@dataclass(frozen=True)
class Settings:
    """How every video of a run is summarised."""

    budget: str
    formats: tuple[str, ...]
    fps: float
    backbone: str
    model: str
    weights: str | None = None
    copy: bool = False
    fast: bool = False
    device: str = "cpu"

    def asked(self) -> dict[str, Any]:
        """What results depend on."""
        asked = {**asdict(self), "formats": list(self.formats)}
        del asked["device"]  # which gives the same numbers as any other
        return asked


class Worker:
    """Keeps the models loaded, and does one video after another."""

    def __init__(self, settings: Settings, place: Place, *, overwrite: bool, threads: int, folder: str) -> None:
        with contextlib.suppress(OSError):  # on another machine relative paths mean nothing, and URLs everything
            os.chdir(folder)
        sweep()
        self._settings, self._place, self._ledger = settings, place, Ledger(place)
        self._overwrite, self._threads = overwrite, threads
        self._summarizer = Summarizer(
            backbone=settings.backbone,
            weights=settings.weights,
            model=settings.model,
            fps=settings.fps,
            fast=settings.fast,
            keyframe_cuts=settings.copy,
            device=settings.device,
            threads=threads,
        )
        self._ledger.begin(settings.asked())

    def __call__(self, attempt: Attempt[Item]) -> Outcome:
        item = attempt.task
        earlier = self._ledger.read(item.name)
        ours = earlier is not None and earlier.source == item.source
        if earlier is not None and ours and earlier.status == "done":
            return earlier
        began = Outcome(
            item.source, item.name, "started", attempt.number, datetime.now(UTC).isoformat(timespec="seconds"),
            worker=f"{socket.gethostname()}:{os.getpid()}",
        )  # fmt: skip
        may_replace = self._overwrite or (earlier is not None and ours and earlier.claimed)
        clock = _Clock()
        with at_hand(item.source) as video:
            fetch_s = clock.lap_s()
            probe(video)  # what is no video needs no place for its results
            name = PurePosixPath(item.name)
            targets = targets_of(
                video, Path(name.parent), self._settings.formats, copy=self._settings.copy, stem=name.name
            )
            for target in targets.values():
                self._place.check(target.as_posix(), replace=may_replace)
            self._ledger.record(began)
            summary = self._summarizer.summarize(video, self._settings.budget)
            watch_s = clock.lap_s()
            with self._place.staged() as folder:
                own = {format: folder / target for format, target in targets.items()}
                notes = list(summary.timeline.warnings if summary.timeline else ())
                notes += write_all(
                    summary, own, copy=self._settings.copy, fast=self._settings.fast, threads=self._threads
                )
                bytes_out = sum(path.stat().st_size for path in own.values())
            bytes_in = video.stat().st_size
        done = replace(
            began,
            status="done",
            seconds=clock.total_s(),
            fetch_s=fetch_s,
            watch_s=watch_s,
            write_s=clock.lap_s(),
            video_s=summary.video.duration_s,
            summary_s=summary.duration_s,
            n_frames=summary.video.n_frames,
            n_segments=len(summary.segments),
            n_selected=len(summary.selected),
            bytes_in=bytes_in,
            bytes_out=bytes_out,
            files=tuple(target.as_posix() for target in targets.values()),
            notes=tuple(notes),
        )
        self._ledger.record(done)
        return done


class _Clock:
    def __init__(self) -> None:
        self._start_s = self._lap_s = time.perf_counter()

    def lap_s(self) -> float:
        """Since this was asked last."""
        before, self._lap_s = self._lap_s, time.perf_counter()
        return round(self._lap_s - before, 4)

    def total_s(self) -> float:
        return round(time.perf_counter() - self._start_s, 4)
