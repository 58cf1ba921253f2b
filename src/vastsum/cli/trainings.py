"""What the commands share that train: the devices there are, and how far the trainings of a plan are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vastsum.cli.progress import counting
from vastsum.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from vastsum.bench.plan import Plan


def require_torch(device: str | None = None) -> None:
    """And a device of this machine, where one is named. It takes seconds to load: ask for it last."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("torch", "train") from error
    if device not in (None, "cpu") and (device != "cuda" or not torch.cuda.is_available()):
        raise ConfigError("--device", f"'{device}' is not available here", "use cpu")


@contextmanager
def progress_of(plan: Plan) -> Iterator[tuple[Callable[[str, float], None], Callable[[str], None]]]:
    """Two functions: one to tell what is trained and how much of it was done, one to tell what else is at work."""
    from vastsum.bench.pace import Pace

    pace = Pace(plan)
    with counting() as progress:
        waiting = sum(not plan.is_done(task) for task in plan.all_tasks())
        bar = progress.add_task("training", total=waiting, seconds_left=None)

        def report(name: str, done: float) -> None:
            pace.count(name, done)
            progress.update(bar, advance=done, description=name, seconds_left=pace.seconds_left)

        yield report, lambda what: progress.update(bar, description=what)
