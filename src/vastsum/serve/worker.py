"""One task in a process of its own: whatever a decoder does to it, the studio goes on."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vastsum.errors import VastsumError, VideoError, described
from vastsum.files import flush, make_folder, put_in_place
from vastsum.jobs.pool import Do, Tell

if TYPE_CHECKING:
    from vastsum.summary import Summary

WHOLE = "whole.json"  # the summary with its segments as they were found, for any budget to be chosen from
THUMBNAILS = "thumbnails"
_THUMBNAIL_SIZE = (320, 180)
_MAX_THUMBNAILS = 60
_NICENESS = 15
_REPORT_EVERY_S = 0.1
_MEMORY_SHARE = 0.75
_LEAST_MEMORY_BYTES = 2 * 2**30


@dataclass(frozen=True)
class Failure:
    """For a person: what is wrong, and what to do about it."""

    problem: str
    remedy: str = ""


@dataclass(frozen=True)
class Step:
    """How far a stage is; `total` is None where nobody knows."""

    stage: str
    done: float = 0.0
    total: float | None = None


@dataclass(frozen=True)
class Done:
    content: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """Why, as far as can be told. `has_crashed`: its process ended without a word. `is_lacking`: the machine had too
    few files to open, too little memory or disk, which may change."""

    failure: Failure
    has_crashed: bool = False
    is_lacking: bool = False
    has_begun: bool = True


def start() -> Do:
    _give_way()
    _bound_memory()
    return do


def do(task: dict[str, Any], tell: Tell) -> Done | Failed:
    try:
        from vastsum.video import refuse_playlists

        refuse_playlists()  # the files they name were neither uploaded nor opened to the studio
        return Done(TASKS[task["kind"]](task, Reporter(tell)))
    except Exception as error:
        return _failed(error)


class Reporter:
    """Tells of each stage at once, and of progress within it no more than ten times a second."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._stage = ""
        self._told_s = 0.0

    def __call__(self, stage: str, done: float = 0.0, total: float | None = None) -> None:
        now_s = time.monotonic()
        if stage != self._stage or now_s - self._told_s >= _REPORT_EVERY_S:
            self._stage, self._told_s = stage, now_s
            self._tell(stage, done, total)


def summarize(task: dict[str, Any], report: Reporter) -> dict[str, Any]:
    """Watch a video; leaves `WHOLE` and `THUMBNAILS` in the task's folder."""
    from vastsum.export.json import write_json
    from vastsum.jobs.one import Settings, summarize_one

    report("opening")
    folder, video = Path(task["folder"]), _go_to(Path(task["video"]))
    settings = Settings(task["budget"], (), model=task["model"], fast=task["fast"])
    made = summarize_one(video, {}, settings, hide_place=True, progress=report)
    summary = replace(made.summary, model=replace(made.summary.model, scorer=task["model_name"]))
    report("taking thumbnails")
    times_s = _take_thumbnails(video, summary.video.duration_s, folder / THUMBNAILS)
    write_json(summary.with_budget(1.0), folder / WHOLE)
    return {
        "outline": {
            "duration_s": summary.video.duration_s,
            "width": summary.video.width,
            "height": summary.video.height,
            "fps": summary.video.fps,
            "n_segments": len(summary.with_budget(1.0).segments),
            "budget": summary.budget.fraction,
            "thumbnails_s": times_s,
            "cover": _nearest(times_s, summary),
        },
        "notes": list(made.notes),
    }


def export(task: dict[str, Any], report: Reporter) -> dict[str, Any]:
    """Write one format of a job's kept selection."""
    from vastsum.export import FORMATS
    from vastsum.serve.selection import reselect
    from vastsum.serve.store import edits_from
    from vastsum.summary import Summary

    name = task["format"]
    report(f"writing {name}")
    folder, video = Path(task["folder"]), _go_to(Path(task["video"]))
    summary = reselect(Summary.load(folder / WHOLE), edits_from(task["edits"]))
    destination = FORMATS[name].path_for(video, folder / "exports")
    make_folder(destination.parent)

    def follow(done_s: float, total_s: float | None) -> None:
        report(f"writing {name}", done_s, total_s)

    summary.save(destination, format=name, overwrite=True, progress=follow)
    return {"file": destination.name, "n_bytes": destination.stat().st_size}


TASKS: dict[str, Callable[[dict[str, Any], Reporter], dict[str, Any]]] = {"summarize": summarize, "export": export}


def _go_to(video: Path) -> Path:
    """Work where the video is, and call it by its name alone: results then say nothing of where it is kept."""
    try:
        os.chdir(video.parent)
    except OSError:
        raise VideoError(video.name, "the file is no longer there", "put it back, or submit it again") from None
    return Path(video.name)


def _take_thumbnails(video: Path, duration_s: float, folder: Path) -> list[float]:
    """Pictures of equal parts of the video as 000.jpg, 001.jpg, …; their times, none where they cannot be had."""
    from PIL import Image

    from vastsum.video import grab

    n = int(min(max(duration_s / 2, 12), _MAX_THUMBNAILS))
    times_s = [(k + 0.5) / n * duration_s for k in range(n)]
    try:
        pictures = grab(video, times_s, max_size=_THUMBNAIL_SIZE, nearby_s=duration_s / n / 2)
    except VideoError:
        return []
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    for k, picture in enumerate(pictures):
        file = part / f"{k:03d}.jpg"
        Image.fromarray(picture).save(file, quality=78)
        flush(file)
    shutil.rmtree(folder, ignore_errors=True)
    put_in_place(part, folder)
    return times_s


def _nearest(times_s: list[float], summary: Summary) -> int:
    """The picture nearest to the most important pick."""
    (best_s,) = summary.times_s(summary.picks[[summary.importance.argmax()]])
    return min(range(len(times_s)), key=lambda k: abs(times_s[k] - best_s), default=0)


def _failed(error: Exception) -> Failed:
    """Says nothing of where things are kept."""
    if isinstance(error, VastsumError):
        failure = Failure(f"{Path(error.where).name or error.where}: {error.problem}", error.remedy)
        return Failed(failure, is_lacking=_is_lacking(error))
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        failure = Failure("the studio's disk is full", "free some space, then try again")
    elif isinstance(error, MemoryError):
        failure = Failure("there is not enough memory for this video", "end other programs, then try again")
    else:
        traceback.print_exc()
        told = described(error, "task", "the studio's log has the details; please report it")
        failure = Failure(told.problem, told.remedy)
    return Failed(failure, is_lacking=_is_lacking(error))


def _is_lacking(error: BaseException | None) -> bool:
    """Of disk or files to open. Of memory, a video may need more than there will ever be."""
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
        return True
    return error is not None and _is_lacking(error.__cause__ or error.__context__)


def _give_way() -> None:
    """The studio answers first, and a person's other programs too."""
    with contextlib.suppress(OSError, AttributeError):  # not every system knows these
        os.nice(_NICENESS)
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def _bound_memory() -> None:
    """A video that needs more than the machine has is to fail, and nothing else with it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    machine_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    most = max(int(_MEMORY_SHARE * machine_bytes), _LEAST_MEMORY_BYTES)
    with contextlib.suppress(OSError, ValueError):  # a lower limit is there already
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
