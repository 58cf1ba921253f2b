"""What a GPU's kernels find for an LSTM is what goes step by step anywhere.

Run by `test_lstm_kernels.py` in a process of its own, where Triton interprets them on a CPU.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, stack_module_state, vmap

from vastsum.scorers import lstm_kernels, recurrent
from vastsum.scorers.recurrent import Lstm


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(lstm_kernels, "_recorded", lambda launch: launch)  # launched where it would be replayed
    monkeypatch.setattr(lstm_kernels, "_stretch", lstm_kernels._Stretch)
    monkeypatch.setattr(lstm_kernels, "STRETCH", 4)
    monkeypatch.setattr(lstm_kernels, "BACK", torch.float16)  # the interpreter knows no bfloat16
    return lstm_kernels


@pytest.mark.parametrize(
    ("n_networks", "n_rows", "n_steps", "width"),
    [(2, 3, 6, 64), (1, 20, 4, 128), (1, 70, 2, 64)],
    ids=["a stretch and a half", "two groups of units", "rows for two blocks"],
)
def test_they_find_what_goes_step_by_step(
    kernels: ModuleType, n_networks: int, n_rows: int, n_steps: int, width: int
) -> None:
    torch.manual_seed(0)
    from_input = torch.randn(n_networks, n_rows, n_steps, 4 * width)
    weight, bias = torch.randn(n_networks, 4 * width, width) / width**0.5, torch.randn(n_networks, 4 * width)
    start_hidden, start_cell = torch.randn(2, n_networks, n_rows, width).tanh()
    given = from_input, weight, bias, start_hidden, start_cell

    found = kernels.forth(*given, True)
    expected = recurrent._Plain.forth(*given, True)
    assert max(map(_off, found, expected)) < 1e-3
    hidden, cell, gates = kernels.forth(*given, False)
    torch.testing.assert_close((hidden, cell), found[:2])
    assert not gates.numel()

    of_hidden, of_cell = torch.randn(2, *hidden.shape)
    rest = weight, start_cell, *expected[1:]
    back = kernels.back(of_hidden, of_cell, *rest)
    assert max(map(_off, back, recurrent._Plain.back(of_hidden, of_cell, *rest))) < 2e-3


def test_many_networks_learn_by_them(kernels: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    members = [Lstm(5, 64, 2, both_ways=True) for _ in range(2)]
    x, mask = torch.randn(2, 3, 6, 5), (torch.arange(6) < torch.tensor([[6], [4], [1]])).expand(2, -1, -1)
    weights, _ = stack_module_state(members)

    def outcome() -> tuple[Tensor, ...]:
        run = vmap(lambda own, given, real: functional_call(members[0], own, (given, real))[0])
        told = run(weights, x, mask)[mask]
        return told.detach(), *torch.autograd.grad(told.square().sum(), list(weights.values()))

    expected = outcome()
    monkeypatch.setattr(recurrent, "_made_for", lambda _: kernels)
    assert max(map(_off, outcome(), expected)) < 2e-3


def _off(found: Any, expected: Any) -> float:
    return float((found - expected).norm() / expected.norm())
