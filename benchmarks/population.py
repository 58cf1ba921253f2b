"""Many trainings as one program against one after another: five splits × eight seeds of VASTSum, in one run.

    python benchmarks/population.py tvsum.googlenet.h5 [--device cuda] [--epochs 1] [--alone 40]

Training only, no evaluation. "One after another" trains members by themselves on the same device, with all threads;
`--alone` says how many of the forty are timed (their mean stands for all). Together, a GPU has all in one stack. A
CPU has a process a core, each with stacks of four, as `vastsum benchmark` trains there: larger ones leave the caches.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch

from vastsum.bench.data import load_dataset, load_splits
from vastsum.bench.methods.recipes import load_config
from vastsum.bench.methods.vastsum import VastsumMethod
from vastsum.bench.training import Member, Trainer

N_SEEDS = 8
PAST_WARM_UP = 20


def seconds_an_epoch(method: VastsumMethod, members: list[Member], device: str, epochs: int) -> float:
    trainer = Trainer(method, members, device)
    if device != "cpu":
        trainer.train_epoch(PAST_WARM_UP)  # allocations and kernels
        torch.cuda.synchronize()
    started = time.perf_counter()
    for epoch in range(epochs):
        trainer.train_epoch(PAST_WARM_UP + 1 + epoch)
    if device != "cpu":
        torch.cuda.synchronize()
    return (time.perf_counter() - started) / epochs


def seconds_an_epoch_side_by_side(method: VastsumMethod, members: Sequence[Member], epochs: int) -> float:
    n_workers = os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(n_workers)  # all are ready before any begins
    with ProcessPoolExecutor(n_workers, context, initializer=_start, initargs=(barrier,)) as pool:
        shares = [members[worker::n_workers] for worker in range(n_workers)]
        futures = [pool.submit(_train_stacks, method, share, epochs) for share in shares]
        return max(future.result() for future in futures) / epochs


def _start(barrier: Barrier) -> None:
    torch.set_num_threads(1)
    _worker.update(barrier=barrier)


_worker: dict[str, Barrier] = {}


def _train_stacks(method: VastsumMethod, members: Sequence[Member], epochs: int) -> float:
    stacks = [members[first : first + method.stack] for first in range(0, len(members), method.stack)]
    trainers = [Trainer(method, stack) for stack in stacks]
    _worker["barrier"].wait()
    started = time.perf_counter()
    for epoch in range(epochs):
        for trainer in trainers:
            trainer.train_epoch(PAST_WARM_UP + 1 + epoch)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--alone", type=int, default=40)
    arguments = parser.parse_args()

    dataset = load_dataset(arguments.data)
    method = VastsumMethod(load_config(kind=dataset.kind))
    members = [
        Member(tuple(dataset.videos[name] for name in split.train), seed)
        for seed in range(N_SEEDS)
        for split in load_splits(dataset).splits
    ]
    if arguments.device == "cpu":
        together = seconds_an_epoch_side_by_side(method, members, arguments.epochs)
    else:
        together = seconds_an_epoch(method, members, arguments.device, arguments.epochs)
    alone = [
        seconds_an_epoch(method, [member], arguments.device, arguments.epochs) for member in members[: arguments.alone]
    ]
    one_after_another = len(members) * sum(alone) / len(alone)
    print(f"{dataset.path.name}, {len(members)} trainings on {arguments.device}, {torch.get_num_threads()} threads")
    print(
        f"one after another {one_after_another:.2f} s an epoch of all (timed: {len(alone)}), together {together:.2f} s"
    )
    print(f"ratio {one_after_another / together:.1f}")


if __name__ == "__main__":
    main()
