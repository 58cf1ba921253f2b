"""The synthetic benchmark is what it says: known importance, people who disagree, the same every time."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy import stats

from vastsum.bench.data import Dataset, load_dataset, make_synthetic
from vastsum.bench.references import human_agreement, mean_annotator_agreement
from vastsum.errors import ConfigError, OutputError


def test_the_same_seed_gives_the_same_benchmark(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make_synthetic(tmp_path / f"{name}.h5", n_videos=3, mean_duration_s=20, seed=seed)
    a, b, c = (load_dataset(tmp_path / f"{name}.h5").fingerprint for name in "abc")
    assert a == b != c


def test_people_agree_in_part(tvsum: Dataset, summe: Dataset) -> None:
    for dataset in (tvsum, summe):
        human = np.mean([human_agreement(video, dataset.kind).tau for video in dataset.videos.values()])
        ceiling = np.mean([mean_annotator_agreement(video, dataset.kind).tau for video in dataset.videos.values()])
        assert 0.2 < human < ceiling < 0.95


def test_more_disagreement_means_less_agreement(tmp_path: Path) -> None:
    taus = []
    for disagreement in (0.1, 2.0):
        make_synthetic(tmp_path / "d.h5", n_videos=4, mean_duration_s=30, disagreement=disagreement)
        videos = load_dataset(tmp_path / "d.h5").videos.values()
        taus.append(np.mean([human_agreement(video, "tvsum").tau for video in videos]))
    assert taus[0] > taus[1] + 0.05


def test_the_latent_importance_is_what_people_see(synthetic_files: dict[str, Path]) -> None:
    with h5py.File(synthetic_files["tvsum"]) as file:
        rhos = [
            stats.spearmanr(group["latent_importance"], group["user_scores"][()].mean(0)[group["picks"]]).statistic
            for group in file.values()
        ]
    assert np.mean(rhos) > 0.6


@pytest.mark.parametrize("wrong", [{"n_videos": 0}, {"n_annotators": 0}, {"mean_duration_s": 1}])
def test_impossible_sizes(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError):
        make_synthetic(tmp_path / "x.h5", **wrong)
    assert not list(tmp_path.iterdir())


def test_an_unwritable_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError):
        make_synthetic(tmp_path / "file" / "x.h5", n_videos=1)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
