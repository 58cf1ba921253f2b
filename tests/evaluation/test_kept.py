"""The tables in docs/results.md say what the trainings that are kept in studies/bench say."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, cast

import pytest

from vastsum.evaluation.published import published
from vastsum.training.methods import METHODS
from vastsum.training.protocols import Protocol, recipe_under
from vastsum.types import Kind

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "studies" / "bench" / "runs"
PROTOCOLS = {"5fcv": "whole", "tvt": "tvt", "last": "whole"}
NOT_KEPT = "°"

Run = dict[str, Any]
Means = list[float]


def kept(folder: Path, regime: str) -> list[Run]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(f"{regime}.*.json"))]


def cell(runs: list[Run], protocol: str) -> str:
    """As a table of the documentation has it: τ ± its deviation over seeds / ρ."""
    tau, rho = (_by_seed(runs, protocol, metric) for metric in ("tau", "rho"))
    spread = f" ± {stdev(tau):.3f}" if len(tau) > 1 else ""
    return f"{fmean(tau):.3f}{spread} / {fmean(rho):.3f}".replace("-", "−")


def _by_seed(runs: list[Run], protocol: str, metric: str) -> Means:
    """The mean over splits of the mean over test videos."""
    found: dict[int, Means] = defaultdict(list)
    for run in runs:
        found[run["seed"]].append(fmean(video["metrics"][metric] for video in run["videos"][protocol].values()))
    return [fmean(splits) for splits in found.values()]


def documented(dataset: str) -> dict[str, dict[str, str]]:
    """{method: {protocol: cell}}; a cell of trainings that were not kept is marked."""
    text = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    table = text.split(f"| {dataset}, τ / ρ | 5fcv | published | tvt | published | last |\n", 1)[1].split("\n\n", 1)[0]
    columns = ("5fcv", "published 5fcv", "tvt", "published tvt", "last")
    rows = {}
    for line in table.splitlines()[1:]:
        title, *said = (part.strip() for part in line.strip("|").split("|"))
        cells = dict(zip(columns, said, strict=True))
        marked = re.match(r"(.*?)(?:; (\w+):)? °$", title)
        if marked:
            title = marked[1]
            cells |= {protocol: NOT_KEPT for protocol in PROTOCOLS if marked[2] in (None, protocol)}
        rows[title] = cells
    return rows


@pytest.mark.parametrize("dataset", ["TVSum", "SumMe"])
def test_the_tables_of_results_are_those_of_the_trainings_that_are_kept(dataset: str) -> None:
    folder = RUNS / f"{dataset.lower()}.googlenet"
    said = documented(dataset)
    for name, entry in METHODS.items():
        for protocol, regime in PROTOCOLS.items():
            runs = kept(folder / name, regime)
            assert len(runs) in ((5,) if entry.fit else (0, 25)), f"{name}: some of its {regime} trainings are missing"
            if entry.missing:
                assert not runs
            else:
                assert said[entry.title][protocol] == (cell(runs, protocol) if runs else NOT_KEPT), (name, protocol)


@pytest.mark.parametrize("dataset", ["TVSum", "SumMe"])
@pytest.mark.parametrize("protocol", ["5fcv", "tvt"])
def test_the_published_number_stands_beside_each(dataset: str, protocol: Protocol) -> None:
    said = documented(dataset)
    for name, entry in METHODS.items():
        quoted = published(name, cast(Kind, dataset.lower()), protocol)
        expected = f"{quoted.tau:.3f} / {quoted.rho:.3f}" if quoted else "—"
        assert said[entry.title][f"published {protocol}"] == expected, name


@pytest.mark.parametrize("dataset", ["tvsum", "summe"])
def test_what_is_kept_was_trained_by_todays_recipes(dataset: str) -> None:
    trained = [path for path in (RUNS / f"{dataset}.googlenet").iterdir() if METHODS[path.name].learn]
    assert trained
    for folder in trained:
        learn = METHODS[folder.name].learn
        assert learn is not None
        for regime, protocol in (("whole", "5fcv"), ("tvt", "tvt")):
            method = learn(cast(Kind, dataset))
            method.recipe = recipe_under(protocol, method.recipe)
            for run in kept(folder, regime):
                now = {name: method.trained_by[name] for name in run["recipe"]}
                assert run["recipe"] == now, (folder.name, regime)
                assert len(run["watched_tau"]) == method.recipe.epochs


@pytest.mark.parametrize("method", ["VASTSum", "VASTSum, as in the paper"])
def test_the_readme_says_the_same(method: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tvsum, summe = (documented(dataset)[method] for dataset in ("TVSum", "SumMe"))
    for protocol in PROTOCOLS:
        pair = " | ".join(re.sub(r" ± [\d.]+", "", cells[protocol]) for cells in (tvsum, summe))
        assert f"| {pair} |" in readme, protocol
