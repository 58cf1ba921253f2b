"""Reading the gap off a bench: the maths against what is known, and every finding on a small bench."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from vastsum.data import Dataset, load_splits
from vastsum.errors import ConfigError
from vastsum.evaluation.bench.plan import Benchmark, Plan, open_plan
from vastsum.evaluation.bench.rows import by_video, method_rows
from vastsum.evaluation.bench.work import work
from vastsum.evaluation.references import human_agreement

METHODS = ("vasnet", "ridge")


@pytest.fixture(scope="module")
def gap(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("gap")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, tvsum: Dataset, summe: Dataset) -> Plan:
    benchmarks = tuple(Benchmark(data, load_splits(data)) for data in (tvsum, summe))
    plan = Plan(tmp_path_factory.mktemp("gap") / "bench", benchmarks, METHODS, ("5fcv", "tvt", "last"), 2, 4)
    open_plan(plan, resume=False)
    work(plan, lambda *_: None, workers=1, device="cpu", together=10)
    return plan


def findings_of(gap: ModuleType, bench: Plan, data: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    output = folder / "gap.json"
    arguments = [str(bench.folder), str(data), "-o", str(output), "--methods", *METHODS, "--seeds", "2"]
    monkeypatch.setattr(sys, "argv", ["gap.py", *arguments])
    gap.main()
    return {finding["name"]: finding for finding in json.loads(output.read_text())["findings"]}


def test_tvsum_findings(
    gap: ModuleType, bench: Plan, tvsum: Dataset, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found = findings_of(gap, bench, tvsum.path, tmp_path, monkeypatch)
    assert len(found["videos"]["rows"]) == len(tvsum.videos)
    rows = {row.name: row.rows["tvt"] for row in method_rows(bench, bench.benchmarks[0]) if row.rows}
    network, ridge = (np.mean(list(by_video(rows[method]).values())) for method in METHODS)
    resolved = found["resolution"]["rows"]
    assert [row[1] for row in resolved] == pytest.approx([network, network - ridge])
    assert all(low < mean < high for _, mean, low, high, *_ in resolved)
    shares = [row[-1] for row in found["noise"]["rows"]]
    assert sum(shares[:-1]) == pytest.approx(shares[-1]) == 1
    people = dict(found["people"]["rows"])
    alone = np.mean([human_agreement(video, "tvsum").tau for video in tvsum.videos.values()])
    assert people["1"] == pytest.approx(alone)
    assert people["1"] < people["5"] < people["all 6, judged by themselves"]
    smooth = {row[0]: row[1:] for row in found["rough"]["rows"]}
    assert all(list(taken) == sorted(taken) for taken in smooth.values())
    assert "## What choosing an epoch buys" in capsys.readouterr().out


def test_summe_findings(
    gap: ModuleType, bench: Plan, summe: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = findings_of(gap, bench, summe.path, tmp_path, monkeypatch)
    lengths = found["lengths"]
    best, segments, chosen = (lengths["columns"].index(name) for name in ("best segments", "segments", "chosen"))
    for row in lengths["rows"]:
        assert 0 < row[chosen] < row[segments]
        assert row[best] >= max(row[1:best]) - 0.02  # the best by ranks is the best by τ, but for ties
    _, _, people, flattened = found["contrast"]["rows"]
    assert people[3:] == pytest.approx(flattened[3:])  # less its lowest or its mean, a curve has forgotten its level
    assert "people" not in found


def test_an_unfinished_bench_is_refused(gap: ModuleType, tvsum: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="still to be done"):
        gap.open_study(tmp_path, tvsum.path, METHODS, 2)


def test_components_are_those_the_numbers_were_drawn_with(gap: ModuleType) -> None:
    rng = np.random.default_rng(3)
    wanted = {"split": 0.09, "video": 1.0, "training": 0.25, "training on each video": 0.49}
    drawn = [
        0.3 * rng.standard_normal()
        + rng.standard_normal((20, 1))
        + 0.5 * rng.standard_normal((1, 6))
        + 0.7 * rng.standard_normal((20, 6))
        for _ in range(800)
    ]
    assert gap.components(drawn) == pytest.approx(wanted, rel=0.15)


@pytest.mark.parametrize("n_epochs", [5, 20])
def test_the_best_of_independent_noise(gap: ModuleType, n_epochs: int) -> None:
    """The expected maximum of n normal numbers, by integration."""
    grid = np.linspace(-8, 8, 4001)
    density = n_epochs * stats.norm.pdf(grid) * stats.norm.cdf(grid) ** (n_epochs - 1)
    expected = np.trapezoid(grid * density, grid)
    shrinks = 4 * (n_epochs - 1) / (4 * n_epochs - 3)  # the sd of n numbers is below that they were drawn with
    assert gap.gain_by_chance(n_epochs, 0.0) == pytest.approx(expected / shrinks, rel=0.03)
    assert gap.gain_by_chance(n_epochs, 0.9) < gap.gain_by_chance(n_epochs, 0.0)


def test_a_gain_that_all_share_is_carried_and_one_of_chance_is_not(gap: ModuleType) -> None:
    rng = np.random.default_rng(0)
    shared = np.zeros((5, 5, 30))
    shared[:, :, 10] = 1.0
    luck = 0.1 * rng.standard_normal(shared.shape)
    for curves, carried in ((shared + luck, 1.0), (luck, 0.0)):
        for same_split in (True, False):
            gain = gap.carried_gain(curves, curves[:, :, 15:].mean(axis=2), same_split=same_split)
            assert gain == pytest.approx(carried, abs=0.05)


def test_whose_variance_it_is(gap: ModuleType) -> None:
    rng = np.random.default_rng(1)
    level, agreed, rest = (rng.standard_normal(shape) for shape in ((200, 1), (1, 500), (200, 500)))
    shares = gap.variance_shares(level + np.sqrt(2) * agreed + np.sqrt(7) * rest)
    assert shares == pytest.approx([0.1, 0.2, 0.7], abs=0.02)


def test_what_is_left_of_a_curve_is_not_in_the_other(gap: ModuleType) -> None:
    rng = np.random.default_rng(2)
    shared, own = rng.standard_normal((2, 300))
    one, other = stats.rankdata(shared + own), stats.rankdata(shared)
    left = gap.left_of(one, other)
    assert np.corrcoef(left, other)[0, 1] == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(left, own)[0, 1] > 0.9
