"""What goes with importance: known where it was made so, and read off a small bench."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vastsum.bench.data import Dataset, load_splits
from vastsum.bench.plan import Benchmark, Plan, open_plan
from vastsum.bench.work import work
from vastsum.errors import ConfigError


@pytest.fixture(scope="module")
def preferences(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("studies/preferences")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, tvsum: Dataset) -> Path:
    folder = tmp_path_factory.mktemp("preferences") / "bench"
    plan = Plan(folder, (Benchmark(tvsum, load_splits(tvsum)),), ("channels", "ridge"), ("last",), 1, None)
    open_plan(plan, resume=False)
    work(plan, lambda *_: None, workers=1, device="cpu")
    return folder


def test_what_is_plain_to_see(preferences: ModuleType) -> None:
    features = np.array([[0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [3.0, 4.0], [0.0, 0.0]])
    np.testing.assert_allclose(preferences.change(features), [0, 0, 5, 0, 5])
    np.testing.assert_allclose(preferences.oddness(features), [2, 2, 3, 3, 2])


def test_a_table_of_a_bench(
    preferences: ModuleType,
    bench: Path,
    tvsum: Dataset,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["preferences.py", str(bench), str(tvsum.path), "--methods", "ridge", "channels"])
    preferences.main()
    cells = [[cell.strip() for cell in line.split("|")] for line in capsys.readouterr().out.splitlines()]
    rows = {cell[1]: cell[2:-1] for cell in cells if len(cell) > 2}
    assert rows["τ with"] == ["people", "change", "oddness", "time"]
    assert float(rows["Ridge"][0].split()[0]) > 0.2
    assert len(rows["Ridge on the channels alone"]) == 4
    assert len(rows["People"]) == 4
    assert not rows["People"][0]


def test_without_curves_it_says_so(preferences: ModuleType, tvsum: Dataset, tmp_path: Path) -> None:
    benchmark = Benchmark(tvsum, load_splits(tvsum))
    with pytest.raises(ConfigError, match="finish the bench first"):
        preferences.curves_of(tmp_path, benchmark, "ridge", "last")
