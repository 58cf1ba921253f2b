"""The tables in docs/results.md say what the trainings that are kept in studies/bench say."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections import defaultdict
from dataclasses import asdict
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, cast

import pytest

from vastsum.bench.methods.registry import METHODS
from vastsum.bench.protocols import Protocol, method_under
from vastsum.bench.published import published
from vastsum.types import Kind

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "studies" / "bench"
PROTOCOLS = ("5fcv", "tvt", "last")
NOT_KEPT = "°"

Means = list[float]


@cache
def kept(dataset: str) -> list[dict[str, str]]:
    """A row a method, protocol, split, seed and video."""
    with gzip.open(BENCH / f"{dataset.lower()}.googlenet.csv.gz", "rt", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@cache
def trainings(dataset: str) -> list[dict[str, Any]]:
    with gzip.open(BENCH / f"{dataset}.googlenet.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def cell(rows: list[dict[str, str]]) -> str:
    """As a table of the documentation has it: τ ± its deviation over seeds / ρ."""
    tau, rho = (_by_seed(rows, metric) for metric in ("tau", "rho"))
    spread = f" ± {stdev(tau):.3f}" if len(tau) > 1 else ""
    return f"{fmean(tau):.3f}{spread} / {fmean(rho):.3f}".replace("-", "−")


def _by_seed(rows: list[dict[str, str]], metric: str) -> Means:
    """The mean over splits of the mean over test videos."""
    found: dict[str, dict[str, Means]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["seed"]][row["split"]].append(float(row[metric]))
    return [fmean(map(fmean, splits.values())) for splits in found.values()]


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
    said = documented(dataset)
    for name, entry in METHODS.items():
        for protocol in PROTOCOLS:
            rows = [row for row in kept(dataset) if (row["method"], row["protocol"]) == (name, protocol)]
            n_trainings = len({(row["split"], row["seed"]) for row in rows})
            assert n_trainings in ((5,) if entry.fit else (0, 25)), f"{name}: some of its {protocol} are missing"
            if entry.missing:
                assert not rows
            else:
                assert said[entry.title][protocol] == (cell(rows) if rows else NOT_KEPT), (name, protocol)


@pytest.mark.parametrize("dataset", ["TVSum", "SumMe"])
@pytest.mark.parametrize("protocol", ["5fcv", "tvt"])
def test_the_published_number_stands_beside_each(dataset: str, protocol: Protocol) -> None:
    said = documented(dataset)
    for name, entry in METHODS.items():
        quoted = published(name, cast(Kind, dataset.lower()), protocol)
        expected = f"{quoted.tau:.3f} / {quoted.rho:.3f}" if quoted else "—"
        assert said[entry.title][f"published {protocol}"] == expected, name


@pytest.mark.parametrize("dataset", ["tvsum", "summe"])
def test_what_is_kept_was_trained_by_todays_settings(dataset: str) -> None:
    learned = [training for training in trainings(dataset) if METHODS[training["method"]].learn]
    assert learned
    for training in learned:
        name, regime = training["method"], training["regime"]
        learn = METHODS[name].learn
        assert learn is not None
        # Transfer trains on the other file.
        kind = {"tvsum": "summe", "summe": "tvsum"}[dataset] if regime == "transfer" else dataset
        method = learn(cast(Kind, kind))
        method = method_under("5fcv" if regime == "whole" else regime, method)
        then, now = training["settings"], method.trained_by
        assert {setting for setting in now if setting.startswith(("network.", "loss."))} <= then.keys()
        assert asdict(method.recipe).keys() <= then.keys()
        # Constants that are called otherwise since are not other settings.
        assert {each: then[each] for each in then.keys() & now} == {each: now[each] for each in then.keys() & now}
        assert len(training["watched_tau"]) == (0 if regime == "transfer" else method.recipe.epochs)


def test_what_studies_hold_is_small() -> None:
    held = [*BENCH.glob("*.gz"), *BENCH.parent.glob("*.*")]
    assert len(held) > 4
    assert sum(path.stat().st_size for path in held) < 3e6


@pytest.mark.parametrize("method", ["VASTSum", "VASTSum, as in the paper"])
def test_the_readme_says_the_same(method: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tvsum, summe = (documented(dataset)[method] for dataset in ("TVSum", "SumMe"))
    for protocol in PROTOCOLS:
        pair = " | ".join(re.sub(r" ± [\d.]+", "", cells[protocol]) for cells in (tvsum, summe))
        assert f"| {pair} |" in readme, protocol
