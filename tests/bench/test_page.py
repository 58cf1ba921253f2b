"""Rows become a page: what is in it is what was measured."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vastsum.bench.data import Dataset
from vastsum.bench.page.evaluation import MASSES, Quoted, Section, write_page
from vastsum.bench.report import Row, VideoResult, reference_rows


@pytest.fixture(scope="module", params=["tvsum", "summe"])
def measured(request: pytest.FixtureRequest) -> Section:
    """Reference rows and a ridge, which predicts, on five of ten videos."""
    dataset: Dataset = request.getfixturevalue(request.param)
    names = list(dataset.videos)
    rows = reference_rows(dataset, [names[:5]], [names[5:]])
    return Section("Synthetic", dataset.kind, rows, dataset.videos, notes=["a note"])


def page_data(section: Section, folder: Path) -> Any:
    path = folder / "page.html"
    write_page([section], path, title="</title><b>a title")
    text = path.read_text(encoding="utf-8")
    assert "<b>a title" not in text
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    (content,) = json.loads(found[1])["sections"]
    return content


def test_tables_hold_the_rows_and_their_means(measured: Section, tmp_path: Path) -> None:
    agreement, trust = page_data(measured, tmp_path)["tables"]
    assert [row["method"] for row in agreement["rows"]] == [
        "Ridge, λ fixed", "Random", "Length only", "Uniform clips", "Human", "Mean annotator",
    ]  # fmt: skip
    assert [row["kind"] for row in agreement["rows"]] == ["measured", *["reference"] * 5]
    assert [row["method"] for row in trust["rows"]] == ["Ridge, λ fixed"]  # the others have no uncertainty
    tau = next(n for n, column in enumerate(agreement["columns"]) if column["metric"] == "tau")
    ridge = measured.rows[0].summary()
    assert agreement["rows"][0]["cells"][tau] == ridge["tau"]
    assert [column["name"] for column in agreement["columns"]] == ["τ", "ρ", "F1", "score τ", "score ρ", "caught"]


def test_curves_are_predictions_and_annotations(measured: Section, tmp_path: Path) -> None:
    videos = page_data(measured, tmp_path)["videos"]
    assert [video["name"] for video in videos] == list(measured.videos)[:5]
    results = {result.video: result for result in measured.rows[0].results}
    for shown in videos:
        video, result = measured.videos[shown["name"]], results[shown["name"]]
        assert result.prediction is not None
        prediction = shown["predictions"]["Ridge, λ fixed · last"]
        assert np.allclose(prediction["mean"], result.prediction.mean, atol=1e-4)
        assert np.allclose(prediction["std"], result.prediction.std, atol=1e-4)
        annotations = np.frombuffer(b64decode(shown["annotations"]), np.uint8).reshape(shown["n_annotators"], -1) / 255
        assert np.abs(annotations - video.annotations).max() <= 0.5 / 255 + 1e-6
        length = sum(last - first + 1 for first, last in prediction["chosen"])
        assert 0 < length <= 0.15 * video.segments.n_frames


def test_calibration_is_what_calibration_measures(measured: Section, tmp_path: Path) -> None:
    (curve,) = page_data(measured, tmp_path)["calibration"]["curves"]
    points = np.array(curve["points"])
    if measured.kind == "tvsum":
        at_90 = points[np.isclose(MASSES, 0.9), 1].item()
        assert at_90 == pytest.approx(np.mean([r.metrics["coverage_90"] for r in measured.rows[0].results]), abs=1e-4)
        assert (np.diff(points[:, 1]) >= 0).all()  # wider intervals hold more
    else:
        assert (np.diff(points[:, 0]) >= 0).all()
        people = np.concatenate([measured.videos[r.video].annotations.mean(axis=0) for r in measured.rows[0].results])
        assert points[:, 1].mean() == pytest.approx(people.mean(), abs=0.02)


def test_rows_without_predictions_and_published_numbers_stand_in_the_table_alone(tmp_path: Path) -> None:
    result = VideoResult("a", 0, 0, {"tau": 0.2, "rho": 0.3, "jaccard": 0.9})
    section = Section(
        "TVSum", "tvsum", [Row("VASNet", "5fcv", "as published", [result])],
        quoted=[Quoted("VASNet", "5fcv", "Fajtl et al. 2018", {"tau": 0.16})],
    )  # fmt: skip
    content = page_data(section, tmp_path)
    assert content["videos"] == []
    assert content["calibration"]["curves"] == []
    assert [(row["label"], row["values"]) for row in content["stability"]] == [("VASNet · 5fcv", [0.9])]
    assert [row["kind"] for row in content["tables"][0]["rows"]] == ["measured", "quoted"]


def test_the_first_seed_and_split_of_a_video_is_shown_and_stability_is_averaged(tvsum: Dataset, tmp_path: Path) -> None:
    name = next(iter(tvsum.videos))
    (ridge, *_) = reference_rows(tvsum, [[name]], [list(tvsum.videos)[5:]])
    prediction = ridge.results[0].prediction
    results = [
        VideoResult(name, split, seed, {"jaccard": jaccard}, prediction=prediction)
        for split, seed, jaccard in ((1, 1, 0.5), (1, 0, 0.7), (0, 1, 0.9))
    ]
    section = Section("TVSum", "tvsum", [Row("Ours", "last", "", results)], tvsum.videos)
    content = page_data(section, tmp_path)
    assert content["videos"][0]["predictions"]["Ours · last"]["origin"] == "split 1, seed 0"
    assert content["stability"][0]["values"] == [0.7]
