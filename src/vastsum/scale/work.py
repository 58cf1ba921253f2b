"""One video: fetched, summarised, its files put in place, and last of all the record that it is done."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from vastsum.export.writing import targets_of, write_all
from vastsum.scale.crew import Attempt
from vastsum.scale.inputs import Item
from vastsum.scale.outcome import Ledger, Outcome
from vastsum.scale.places import Place, at_hand, is_url, sweep
from vastsum.summarizer import Summarizer
from vastsum.summary import Summary
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
    decoder: str = "default"
    speech: bool = True
    relative_media: bool = False

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
            decoder=settings.decoder,
            speech=settings.speech,
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
            summary = self._summarizer.summarize(video, self._settings.budget)
            if is_url(item.source):  # where it is now says nothing
                summary = replace(summary, video=replace(summary.video, path=video))
            begun = replace(begun, watch_s=clock.lap_s())
            notes, bytes_out = self._write(summary, targets)
        done = replace(
            begun,
            status="done",
            write_s=clock.lap_s(),
            seconds=clock.total_s(),
            video_s=summary.video.duration_s,
            summary_s=summary.duration_s,
            n_frames=summary.video.n_frames,
            n_segments=len(summary.segments),
            n_selected=len(summary.pieces),
            bytes_out=bytes_out,
            files=tuple(target.as_posix() for target in targets.values()),
            notes=tuple(notes),
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

    def _write(self, summary: Summary, targets: Mapping[str, Path]) -> tuple[list[str], int]:
        """Put all files in place; gives what is to be noted, and how many bytes they have."""
        settings = self._settings
        notes = list(summary.timeline.warnings if summary.timeline else ())
        with self._place.staged() as folder:
            own = {format: folder / target for format, target in targets.items()}
            notes += write_all(
                summary,
                own,
                copy=settings.copy,
                fast=settings.fast,
                relative_media=settings.relative_media,
                threads=self._threads,
            )
            return notes, sum(_size(path) for path in own.values())


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
