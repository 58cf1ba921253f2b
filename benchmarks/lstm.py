"""An LSTM of many networks at once, forth and back: ours against torch's, which takes one network after another.

    python benchmarks/lstm.py --sizes 13x8 13x40 13x180 --device cuda

A size is networks × videos of each; an LSTM is one layer of 512 units over 320 picks, and all learn. Ways are measured
in turn, several rounds of them, and the fastest of each counts. Printed are microseconds a pick, and how many times
longer torch's takes. `step by step` is ours where there are no kernels for it. Products may round as TF32 does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from vastsum.scorers import recurrent
from vastsum.scorers.recurrent import Lstm

WIDTH, PICKS = 512, 320

Learn = Callable[[], object]


def ours(n_networks: int, x: Tensor) -> Learn:
    members = [Lstm(WIDTH, WIDTH, 1).to(x.device) for _ in range(n_networks)]
    weights, _ = stack_module_state(members)
    mask = torch.ones(x.shape[:3], dtype=torch.bool, device=x.device)
    run = vmap(lambda own, given, real: functional_call(members[0], own, (given, real))[0])

    def learn() -> object:
        return torch.autograd.grad(run(weights, x, mask).square().sum(), list(weights.values()))

    return learn


def torchs(n_networks: int, x: Tensor) -> Learn:
    members = [nn.LSTM(WIDTH, WIDTH, batch_first=True).to(x.device) for _ in range(n_networks)]

    def learn() -> object:
        return [
            torch.autograd.grad(member(own)[0].square().sum(), list(member.parameters()))
            for member, own in zip(members, x, strict=True)
        ]

    return learn


@contextmanager
def step_by_step() -> Iterator[None]:
    with patch.object(recurrent, "_made_for", lambda _: recurrent._Plain):
        yield


def seconds(learn: Learn, device: str) -> float:
    started = time.perf_counter()
    learn()
    if device != "cpu":
        torch.cuda.synchronize()
    return time.perf_counter() - started


def measured(n_networks: int, n_videos: int, device: str, rounds: int) -> dict[str, float]:
    """Seconds of each way."""
    x = torch.randn(n_networks, n_videos, PICKS, WIDTH, device=device)
    together, one_by_one = ours(n_networks, x), torchs(n_networks, x)
    found: dict[str, list[float]] = {"ours": [], "step by step": [], "torch's": []}
    for _ in range(1 + rounds):  # the first one warms up
        found["ours"].append(seconds(together, device))
        with step_by_step():
            found["step by step"].append(seconds(together, device))
        found["torch's"].append(seconds(one_by_one, device))
    return {way: min(times[1:]) for way, times in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["1x8", "4x8"], metavar="NETWORKSxVIDEOS")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()

    torch.set_float32_matmul_precision("high")
    for size in arguments.sizes:
        n_networks, n_videos = map(int, size.split("x"))
        times = measured(n_networks, n_videos, arguments.device, arguments.rounds)
        reference = times["torch's"]
        ways = (f"{way} {1e6 * took / PICKS:.1f} µs ({reference / took:.2f})" for way, took in times.items())
        print(f"{n_networks} × {n_videos}: {', '.join(ways)}", flush=True)


if __name__ == "__main__":
    main()
