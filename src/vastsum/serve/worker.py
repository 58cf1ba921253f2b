"""One task in a process of its own: whatever a decoder does to it, the studio goes on.

The task comes as one line of JSON on standard input, which then stays open: when it closes, the studio is gone, and so
is this process. What happens goes out as lines of JSON: {"stage", "done", "total"} as work goes on, and at last
{"finished": …} or {"failed": {"problem", "remedy"}, "is_lacking"}. A process that ends without either has crashed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from vastsum.errors import VastsumError, VideoError
from vastsum.files import flush, make_folder, put_in_place

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

Send = Callable[[dict[str, Any]], None]


class Reporter:
    """Tells of each stage at once, and of progress within it no more than ten times a second."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._stage = ""
        self._told_s = 0.0

    def __call__(self, stage: str, done: float = 0.0, total: float | None = None) -> None:
        now_s = time.monotonic()
        if stage != self._stage or now_s - self._told_s >= _REPORT_EVERY_S:
            self._stage, self._told_s = stage, now_s
            self._send({"stage": stage, "done": done, "total": total})


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


def _described(error: Exception) -> dict[str, str]:
    if isinstance(error, VastsumError):
        return {"problem": f"{Path(error.where).name or error.where}: {error.problem}", "remedy": error.remedy}
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return {"problem": "the studio's disk is full", "remedy": "free some space, then try again"}
    if isinstance(error, MemoryError):
        return {"problem": "there is not enough memory for this video", "remedy": "end other programs, then try again"}
    first_line = f"{type(error).__name__}: {error}".splitlines()[0]
    return {
        "problem": f"something went wrong that should not have ({first_line})",
        "remedy": "the studio's log has the details; please report it",
    }


def _is_lacking(error: BaseException | None) -> bool:
    """Of disk or files to open. Of memory, a video may need more than there will ever be."""
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE):
        return True
    return error is not None and _is_lacking(error.__cause__ or error.__context__)


def _own_output() -> IO[str]:
    """Standard output for messages alone: what libraries print goes to standard error instead."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def _end_with_studio(messages: IO[str]) -> None:
    with contextlib.suppress(OSError, ValueError):
        while messages.readline():
            pass
    os._exit(0)


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


def main() -> None:
    out = _own_output()
    lock = threading.Lock()

    def send(message: dict[str, Any]) -> None:
        with lock:
            out.write(json.dumps(message) + "\n")
            out.flush()

    _give_way()
    _bound_memory()
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_studio, args=(sys.stdin,), daemon=True).start()
    try:
        from vastsum.video import refuse_playlists

        refuse_playlists()  # the files they name were neither uploaded nor opened to the studio
        send({"finished": TASKS[task["kind"]](task, Reporter(send))})
    except Exception as error:
        if not isinstance(error, VastsumError):
            traceback.print_exc()
        send({"failed": _described(error), "is_lacking": _is_lacking(error)})


if __name__ == "__main__":
    main()
