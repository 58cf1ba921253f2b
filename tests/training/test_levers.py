"""The study of levers: what each makes of a video or a network, and that what is written is gone on with."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from vastsum.data import BenchmarkVideo, Dataset, load_splits
from vastsum.errors import ConfigError
from vastsum.scorers.batch import unannotated
from vastsum.scorers.learned import Moment
from vastsum.scorers.vastsum import losses
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.training import load_config
from vastsum.training.protocols import parts_of
from vastsum.training.vastsum import VastsumMethod
from vastsum.types import Prediction

SCRIPT = Path(__file__).parents[2] / "scripts" / "levers.py"
SMALL = [
    "network.width=16", "network.head_width=16", "network.layers=1", "network.kernel_landmarks=16",
    "training.epochs=1", "loss.rank_pairs=16",
]  # fmt: skip
CONFIG = load_config(None, SMALL)


@pytest.fixture(scope="module")
def levers(script: Callable[[str], ModuleType]) -> ModuleType:
    return script("levers")


@pytest.fixture(params=["tvsum", "summe"])
def dataset(request: pytest.FixtureRequest, tvsum: Dataset, summe: Dataset) -> Dataset:
    return {"tvsum": tvsum, "summe": summe}[request.param]


@pytest.fixture
def video(dataset: Dataset) -> BenchmarkVideo:
    return next(iter(dataset.videos.values()))


def arguments(data: Path, output: Path, *more: str) -> list[str]:
    return [str(data), "-o", str(output), *(f"--set={setting}" for setting in SMALL), *more]


def studied(levers: ModuleType, monkeypatch: pytest.MonkeyPatch, data: Path, output: Path, *more: str) -> Any:
    as_one = "--device=cpu:0"  # not "cpu": all in one process, as on a GPU
    monkeypatch.setattr(sys, "argv", ["levers.py", *arguments(data, output, as_one, *more)])
    levers.main()
    return json.loads(output.read_text())


def assert_is_valid(video: BenchmarkVideo) -> None:
    segments = video.segments
    assert segments.bounds[0, 0] == 0
    assert segments.bounds[-1, 1] == segments.n_frames - 1
    np.testing.assert_array_equal(segments.bounds[1:, 0], segments.bounds[:-1, 1] + 1)
    assert (segments.lengths > 0).all()
    assert (np.diff(segments.picks) > 0).all()
    assert 0 <= segments.picks[0] <= segments.picks[-1] < segments.n_frames
    assert len(video.features) == video.annotations.shape[1] == len(segments.picks)
    said = video.user_summaries if video.user_scores is None else video.user_scores
    assert said is not None
    assert said.shape[1] == segments.n_frames


def test_every_lever_is_trained_and_told(
    levers: ModuleType, dataset: Dataset, synthetic_files: dict[str, Path],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    output = tmp_path / "levers.json"
    other = synthetic_files["summe" if dataset.kind == "tvsum" else "tvsum"]
    study = studied(levers, monkeypatch, dataset.path, output, "--seeds=3", f"--also={other}")
    scores_only = set() if dataset.kind == "tvsum" else {"annotator-norm", "residual"}
    assert set(study["skipped"]) == scores_only
    assert set(study["levers"]) == (set(levers.LEVERS) - scores_only) | {"ensemble-2", "ensemble-3"}
    splits = load_splits(dataset).splits
    places = [f"{n}/{name}" for n in range(len(splits)) for name in parts_of(splits, n, "tvt").watched]
    n_values = {name: 2 if name == "ensemble-2" else 1 if name == "ensemble-3" else 3 for name in study["levers"]}
    for name, row in study["levers"].items():
        assert list(row["taus"]) == places
        taus = np.array(list(row["taus"].values()))
        assert taus.shape == (len(places), n_values[name])
        assert (row["over_recipe"] is None) == (name == "recipe")
        if name != "recipe":
            recipe = np.array(list(study["levers"]["recipe"]["taus"].values()))
            gains = taus.mean(axis=1) - recipe.mean(axis=1)
            assert row["over_recipe"]["mean"] == pytest.approx(gains.mean(), abs=1e-4)
            assert row["over_recipe"]["low"] <= row["over_recipe"]["mean"] <= row["over_recipe"]["high"]
    assert str(tmp_path.parent) not in output.read_text()


def test_a_study_is_gone_on_with(
    levers: ModuleType, synthetic_files: dict[str, Path],
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    data, output = synthetic_files["summe"], tmp_path / "studies" / "levers.json"
    asked = ["--seeds=1", "--only=no-positions"]
    command = [sys.executable, str(SCRIPT), *arguments(data, output, *asked)]  # two processes
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    first = json.loads(output.read_text())
    assert set(first["levers"]) == {"recipe", "no-positions"}

    output.write_text(json.dumps(first | {"levers": {"recipe": first["levers"]["recipe"] | {"tau": 0.75}}}))
    study = studied(levers, monkeypatch, data, output, *asked)
    assert study["levers"]["recipe"]["tau"] == 0.75, "what is there is not trained again"
    assert "recipe:" not in capsys.readouterr().out
    ours, theirs = (np.array(list(found["levers"]["no-positions"]["taus"].values())).mean() for found in (study, first))
    assert ours == pytest.approx(theirs, abs=0.02), "as one program or apart"


def test_another_study_is_not_overwritten(levers: ModuleType, tmp_path: Path) -> None:
    output = tmp_path / "levers.json"
    output.write_text(json.dumps({"command": "--seeds 2", "skipped": {}, "levers": {}}))
    assert levers.opened(output, {"command": "--seeds 2"})["levers"] == {}
    with pytest.raises(ConfigError, match="other data, seeds or settings"):
        levers.opened(output, {"command": "--seeds 3"})


def test_no_job_holds_a_test_video(levers: ModuleType, dataset: Dataset) -> None:
    splits = load_splits(dataset).splits
    for job in levers.jobs_of(dataset, 2):
        held = {video.name for video in (*job.training, *job.watched)}
        assert not held & set(splits[job.split].test)
        assert not {video.name for video in job.training} & {video.name for video in job.watched}


@pytest.mark.parametrize("name", ["mix-up", "drop-segments", "reorder-segments"])
def test_copies_are_valid_and_come_after_the_videos(levers: ModuleType, dataset: Dataset, name: str) -> None:
    job = levers.jobs_of(dataset, 1)[0]
    videos = levers.LEVERS[name].videos(job)
    assert len(videos) == 3 * len(job.training)
    assert videos[: len(job.training)] == job.training
    for copy in videos[len(job.training) :]:
        assert_is_valid(copy)
        assert copy.kind == dataset.kind
        assert copy.annotations.min() >= 0
        assert copy.annotations.max() <= 1
    again = levers.LEVERS[name].videos(job)[-1]
    np.testing.assert_array_equal(again.features, videos[-1].features)


def test_segments_are_dropped_whole(levers: ModuleType, video: BenchmarkVideo) -> None:
    left = levers.with_dropped_segments(video, (), np.random.default_rng(0))
    assert len(left.segments) == len(video.segments) - round(0.2 * len(video.segments))
    rows = iter(map(bytes, video.features))
    assert all(bytes(row) in rows for row in left.features), "what is left is in its old order"
    lengths = iter(video.segments.lengths)
    assert all(length in lengths for length in left.segments.lengths)


def test_reordering_keeps_every_frame_and_what_was_said_of_it(levers: ModuleType, video: BenchmarkVideo) -> None:
    copy = levers.recut(video, order := np.random.default_rng(0).permutation(len(video.segments)))
    np.testing.assert_array_equal(copy.segments.lengths, video.segments.lengths[order])
    together = [np.concatenate([v.features.T, v.annotations]).T for v in (video, copy)]
    for k, old in enumerate(order):
        np.testing.assert_array_equal(
            together[1][copy.segments.ids == k], together[0][video.segments.ids == old], "each segment as it was"
        )
    back = levers.recut(copy, np.argsort(order))
    np.testing.assert_array_equal(back.segments.picks, video.segments.picks)
    np.testing.assert_array_equal(back.features, video.features)


def test_a_mixed_video_lies_between_its_parents(levers: ModuleType, dataset: Dataset) -> None:
    one, other = list(dataset.videos.values())[:2]
    copy = levers.mixed_up(one, (one, other), np.random.default_rng(0))
    near = np.round(np.linspace(0, len(other.features) - 1, len(one.features))).astype(int)
    for mixed, own, theirs in (
        (copy.features, one.features, other.features[near]),
        (copy.annotations, one.annotations, other.annotations[:, near]),
    ):
        assert (mixed >= np.minimum(own, theirs) - 1e-5).all()
        assert (mixed <= np.maximum(own, theirs) + 1e-5).all()
        assert np.abs(mixed - own).sum() <= np.abs(mixed - theirs).sum(), "nearer to the first"
    np.testing.assert_array_equal(copy.segments.bounds, one.segments.bounds)


def test_copies_take_the_steps_of_the_recipe_and_leave_its_ridge_alone(levers: ModuleType, tvsum: Dataset) -> None:
    config = load_config()
    shorter = config.with_settings(levers.fewer_epochs(config), "test")
    assert shorter.training.epochs * 3 == config.training.epochs
    assert (shorter.loss.rank_warmup, shorter.loss.kl_warmup) == (2, 3)
    job = levers.jobs_of(tvsum, 1)[0]
    copied, plain = levers.JoinedMethod(CONFIG), VastsumMethod(CONFIG)
    weights = []
    for method, videos in ((copied, levers.LEVERS["mix-up"].videos(job)), (plain, job.training)):
        network = method.build(tvsum.feature_width)
        method.start(network, [(video.features, video.annotations, video.kind) for video in videos])
        weights.append(network.kernel.weight)
    torch.testing.assert_close(*weights, rtol=0, atol=0)


def test_the_ranking_loss_is_over_all_pairs(levers: ModuleType, video: BenchmarkVideo) -> None:
    batch = unannotated(video.features, video.segments, video.kind)
    pairs = levers.AllPairsMethod(CONFIG)._pairs(batch, Moment(0, [np.random.default_rng(0)]))
    q, r = torch.randn(2, 1, len(video.features), generator=torch.Generator().manual_seed(0))
    r = r.round()  # with ties
    ours = losses.pairwise_hinge(q, r, pairs, margin=0.1)
    ordered = [(i, j) for i, j in itertools.permutations(range(q.shape[1]), 2) if r[0, i] > r[0, j]]
    i, j = torch.tensor(ordered).T
    torch.testing.assert_close(ours, (0.1 - (q[0, i] - q[0, j])).clamp(min=0).mean()[None])


def test_annotators_are_alike_in_mean_and_spread(levers: ModuleType) -> None:
    scores = np.array([[0.0, 0.5, 1.0, 0.5], [0.5, 0.5, 0.75, 0.75], [0.25, 0.25, 0.25, 0.25]])
    ours = levers.alike(scores)
    np.testing.assert_allclose(ours.mean(axis=1), scores.mean())
    np.testing.assert_allclose(ours[:2].std(axis=1), scores.std())
    np.testing.assert_allclose(ours[2], scores.mean())
    assert (np.argsort(ours[0], kind="stable") == np.argsort(scores[0], kind="stable")).all()


def test_the_network_learns_what_the_ridge_leaves(levers: ModuleType, tvsum: Dataset) -> None:
    videos = list(tvsum.videos.values())
    apart = CONFIG.with_settings({"network.kernel_share": 0.0, "network.nonlocal_sharpness": 0.0}, "test")
    method = levers.ResidualMethod(apart)
    network = method.build(tvsum.feature_width)
    method.start(network, [(video.features, video.annotations, video.kind) for video in videos])
    plain = VastsumMethod(apart).build(tvsum.feature_width)
    plain.load_state_dict(network.state_dict(), strict=False)
    batch = unannotated(videos[0].features, videos[0].segments, "tvsum")
    inputs = method.inputs(batch)
    ridge = network.linear(batch.features, batch.mask)
    torch.testing.assert_close(network.eval()(*inputs).mu - ridge, plain.eval()(*inputs).mu)
    torch.testing.assert_close(network.train()(*inputs).mu - ridge, plain.train()(*inputs).mu)
    prediction: Prediction = method.scorer(network, "tvsum").predict(videos[0].features, videos[0].segments)
    np.testing.assert_allclose(prediction.mean, network.eval()(*inputs).mu[0].detach(), atol=1e-6)


def scores_of(network: VastsumNetwork, video: BenchmarkVideo) -> torch.Tensor:
    batch = unannotated(video.features, video.segments, video.kind)
    mu: torch.Tensor = network.eval()(batch.features, batch.segment_ids, batch.mask, batch.n_segments).mu.detach()
    return mu


def test_positions_are_off_or_relative(levers: ModuleType, tvsum: Dataset) -> None:
    video = next(iter(tvsum.videos.values()))
    unplaced, relative = (
        method(CONFIG).build(tvsum.feature_width) for method in (levers.UnplacedMethod, levers.RelativeMethod)
    )
    assert not unplaced.positions.table.any()
    relative.load_state_dict(unplaced.state_dict(), strict=False)
    torch.testing.assert_close(scores_of(relative, video), scores_of(unplaced, video))
    bias = relative.segment_layers[0].bias
    with torch.no_grad():
        bias.copy_(torch.arange(bias.shape[1]).expand_as(bias))
    between = relative.segment_layers[0].distances(40)[0]  # segments that look and segments looked at
    assert between[3, 5] == between[20, 22] == levers.REACH + 2
    assert between[39, 0] == 0
    assert not torch.allclose(scores_of(relative, video), scores_of(unplaced, video))
