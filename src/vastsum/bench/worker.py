"""What a worker process begins with. It loads torch only once it has been handed its plan: whoever starts many workers
waits for each to take what it is given."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vastsum.bench.plan import Plan


def start(plan: Plan, device: str) -> Callable[[Any], Any]:
    import torch

    from vastsum.bench.work import train_group

    torch.set_num_threads(1)  # the same bits whatever the machine; parallelism comes from the crew
    return partial(train_group, plan, device)
