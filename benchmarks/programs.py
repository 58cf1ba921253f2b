"""How trainings of a method are best laid on a device: so many stacked in a program, so many programs side by side.

    python benchmarks/programs.py summe.googlenet.h5 --method csta --setups 1x1 1x8 1x12 --device cuda
    python benchmarks/programs.py summe.googlenet.h5 --method sum-gan --setups 25x1 5x5 13x2 --device cuda

A setup is trainings in a program × programs. Each is warmed up for two epochs, which is when a GPU's programs record
themselves; then all begin at the same time. Printed is how many epochs of one training all of them do in a second, and
the ratio to the first setup. Training only, no evaluation. On a GPU, programs take turns unless NVIDIA's MPS runs.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.synchronize import Barrier
from pathlib import Path

import torch

from vastsum.data import load_dataset, load_splits
from vastsum.training.loop import Member, Trainer
from vastsum.training.methods import entry_of

WARM_UP = 2  # epochs


def epochs_a_second(data: Path, method: str, stack: int, programs: int, device: str, epochs: int) -> float:
    """Of one training, by all programs together."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(programs)  # all are ready before any begins
    with ProcessPoolExecutor(programs, context, initializer=_start, initargs=(barrier,)) as pool:
        started = [pool.submit(_train, data, method, stack, device, epochs) for _ in range(programs)]
        return stack * programs * epochs / max(future.result() for future in started)


_worker: dict[str, Barrier] = {}


def _start(barrier: Barrier) -> None:
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    _worker.update(barrier=barrier)


def _train(data: Path, method: str, stack: int, device: str, epochs: int) -> float:
    learn = entry_of(method).learn
    assert learn is not None, "a closed form has no epochs"
    dataset = load_dataset(data)
    videos = tuple(dataset.videos[name] for name in load_splits(dataset).splits[0].train)
    trainer = Trainer(learn(dataset.kind), [Member(videos, seed) for seed in range(stack)], device)
    for epoch in range(WARM_UP):
        trainer.train_epoch(epoch)
    _worker["barrier"].wait()
    started = time.perf_counter()
    for epoch in range(WARM_UP, WARM_UP + epochs):
        trainer.train_epoch(epoch)  # ends by reading its losses: nothing is still under way
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--method", default="csta")
    parser.add_argument("--setups", nargs="+", default=["1x1", "1x2"], metavar="STACKxPROGRAMS")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--epochs", type=int, default=3)
    arguments = parser.parse_args()

    first = None
    for setup in arguments.setups:
        stack, programs = map(int, setup.split("x"))
        pace = epochs_a_second(arguments.data, arguments.method, stack, programs, arguments.device, arguments.epochs)
        first = first or pace
        print(
            f"{arguments.method}, {stack} × {programs}: {pace:.3g} epochs a second, ratio {pace / first:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
