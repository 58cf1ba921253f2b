"""What is deployed gives the numbers of what was trained, for videos of any length, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import pytest
import torch

from vastsum.assets import read_asset
from vastsum.bench.export import export_onnx
from vastsum.bench.methods.vastsum import NetworkConfig, VastsumNetwork, VastsumScorer
from vastsum.errors import CheckpointError
from vastsum.features.relative import N_CHANNELS, with_channels
from vastsum.scoring import windows
from vastsum.scoring.onnx_scorer import OnnxScorer, load_scorer
from vastsum.types import Segments


@pytest.fixture(scope="module")
def network() -> VastsumNetwork:
    torch.manual_seed(0)
    beyond = {"linear_share": 0.2, "nonlocal_sharpness": 3.0}
    network = VastsumNetwork(
        NetworkConfig(
            feature_width=12, width=16, heads=2, layers=1, positions=50, offset=0.5, temperature=0.2, **beyond
        )
    ).eval()
    assert network.linear is not None
    network.linear.weight.normal_()
    return network


@pytest.fixture(scope="module")
def files(
    network: VastsumNetwork,
    tmp_path_factory: pytest.TempPathFactory,
    untraced: Callable[..., Any],
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("onnx")
    paths = {likelihood: folder / f"{likelihood}.onnx" for likelihood in ("gaussian", "bernoulli")}
    with patch.object(torch.onnx, "export", untraced(torch.onnx.export)):
        for likelihood, path in paths.items():
            export_onnx(network, likelihood, path, {"name": likelihood})
    return paths


def video(n_picks: int, n_segments: int, seed: int = 0) -> tuple[np.ndarray, Segments]:
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.choice(np.arange(1, 15 * n_picks), n_segments - 1, replace=False))
    bounds = np.column_stack([np.append(0, cuts), np.append(cuts, 15 * n_picks) - 1])
    features = rng.standard_normal((n_picks, 12)).astype(np.float32)
    return features, Segments(bounds, np.arange(n_picks) * 15, 15 * n_picks)


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
@pytest.mark.parametrize(("n_picks", "n_segments"), [(1, 1), (2, 1), (40, 9), (60, 120), (700, 80)])
def test_torch_and_onnx_agree(
    network: VastsumNetwork, files: dict[str, Path], likelihood: str, n_picks: int, n_segments: int
) -> None:
    features, segments = video(n_picks, n_segments)
    trained = VastsumScorer(network, likelihood).predict(features, segments)
    deployed = load_scorer(files[likelihood]).predict(features, segments)
    assert deployed.mean == pytest.approx(trained.mean, abs=1e-4)
    assert deployed.std == pytest.approx(trained.std, abs=1e-4)


def test_long_videos_are_scored_a_window_at_a_time(
    network: VastsumNetwork, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = load_scorer(files["gaussian"])
    features, segments = video(300, 50)
    monkeypatch.setattr(windows, "MAX_SEGMENTS_AT_ONCE", 20)
    prediction = scorer.predict(features, segments)
    assert prediction.mean.shape == prediction.std.shape == (300,)
    trained = VastsumScorer(network, "gaussian").predict(features, segments)
    assert prediction.mean == pytest.approx(trained.mean, abs=1e-4)
    # A window is scored as if it were a video of its own, up to where the next one begins.
    first = segments.ids < 20
    alone = Segments(segments.bounds[:20], segments.picks[first], int(segments.bounds[19, 1]) + 1)
    next_one = list(windows.windows_of(segments.ids))[1][0]
    assert prediction.mean[:next_one] == pytest.approx(scorer.predict(features[first], alone).mean[:next_one], abs=1e-6)


def test_the_card_travels_with_the_model(files: dict[str, Path]) -> None:
    assert load_scorer(files["bernoulli"]).card == {"name": "bernoulli"}


def test_models_do_not_tell_in_whose_files_they_were_made(files: dict[str, Path]) -> None:
    for content in (*(path.read_bytes() for path in files.values()), read_asset("vastsum.onnx")):
        assert b"stack_trace" not in content
        assert b'File "' not in content


def test_the_embedded_scorer_is_there_and_fits_the_default_backbone() -> None:
    scorer = load_scorer()
    assert scorer.feature_width == 1280
    rng = np.random.default_rng(0)
    features = rng.random((30, 1280)).astype(np.float32)
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    prediction = scorer.predict(features, video(30, 5)[1])
    assert np.isfinite(prediction.mean).all()
    assert (prediction.std > 0).all()
    assert {"trained_on", "command", "cross_validation"} <= set(scorer.card)


def test_relative_channels_are_computed_where_the_model_was_given_them(
    tmp_path: Path, untraced: Callable[..., Any]
) -> None:
    torch.manual_seed(0)
    sizes = {"feature_width": 12 + N_CHANNELS, "width": 16, "heads": 2, "layers": 1, "positions": 50}
    network = VastsumNetwork(NetworkConfig(**sizes, relative=True, linear_share=0.5, nonlocal_sharpness=3.0)).eval()
    assert network.linear is not None
    network.linear.weight.normal_()
    with patch.object(torch.onnx, "export", untraced(torch.onnx.export)):
        export_onnx(network, "gaussian", tmp_path / "relative.onnx", {})
    scorer = load_scorer(tmp_path / "relative.onnx")
    assert scorer.feature_width == 12
    for n_picks, n_segments in ((1, 1), (2, 1), (300, 40)):
        features, segments = video(n_picks, n_segments)
        trained = VastsumScorer(network, "gaussian").predict(with_channels(features, segments.times_s), segments)
        assert scorer.predict(features, segments).mean == pytest.approx(trained.mean, abs=1e-4)


def test_a_model_of_other_channels_is_refused(
    network: VastsumNetwork, tmp_path: Path, untraced: Callable[..., Any]
) -> None:
    with patch.object(torch.onnx, "export", untraced(torch.onnx.export)):
        export_onnx(network, "gaussian", tmp_path / "old.onnx", {"channels": ["loudness"]})
    with pytest.raises(CheckpointError, match=r"old\.onnx: was made for other relative channels .* export it again"):
        load_scorer(tmp_path / "old.onnx")


def test_wrong_models_and_features_are_named(files: dict[str, Path], tmp_path: Path) -> None:
    scorer = load_scorer(files["gaussian"])
    features, segments = video(10, 2)
    with pytest.raises(CheckpointError, match="width 12, these have 5"):
        scorer.predict(features[:, :5], segments)
    with pytest.raises(CheckpointError, match="is not a model"):
        load_scorer("no-such-model")
    with pytest.raises(CheckpointError, match="no such file"):
        load_scorer(tmp_path / "absent.onnx")
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(CheckpointError, match="not an ONNX model"):
        load_scorer(tmp_path / "text.onnx")
    other = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Identity", ["a"], ["b"])],
            "other",
            [onnx.helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [1])],
            [onnx.helper.make_tensor_value_info("b", onnx.TensorProto.FLOAT, [1])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 18)],
        ir_version=9,
    )
    with pytest.raises(CheckpointError, match="not a VASTSum scorer"):
        OnnxScorer(other.SerializeToString(), "other.onnx")


def hostile(
    path: Path, *, axes: tuple[int, ...] = (2,), width: int | str = 12, rank: int = 3, card: str = "{}"
) -> Path:
    """A model with the right names whose scores are a mean over `axes` of the features."""
    real, whole, helper = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.helper
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["features", "axes"], ["mean"], keepdims=0),
            helper.make_node("Abs", ["mean"], ["std"]),
        ],
        "hostile",
        [
            helper.make_tensor_value_info("features", real, [1, "T", width][-rank:]),
            helper.make_tensor_value_info("segment_ids", whole, [1, "T"]),
            helper.make_tensor_value_info("segments", whole, [1, "M"]),
        ],
        [helper.make_tensor_value_info(name, real, None) for name in ("mean", "std")],
        initializer=[helper.make_tensor("axes", whole, [len(axes)], axes)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    helper.set_model_props(model, {"vastsum": card})
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    "trick",
    [
        {"card": "{not json"},
        {"card": "[" * 100_000},
        {"card": "[1]"},
        {"width": "D"},
        {"rank": 2, "axes": (1,)},
        {"rank": 1, "axes": (0,)},
        {"axes": (1,)},
        {"axes": (0, 2)},
        {"axes": (0, 1, 2)},
    ],
    ids=str,
)
def test_models_with_the_right_names_and_the_wrong_insides_are_refused(
    trick: dict[str, object], tmp_path: Path
) -> None:
    path = hostile(tmp_path / "hostile.onnx", **trick)  # type: ignore[arg-type]
    with pytest.raises(CheckpointError, match=r"hostile\.onnx: is not a VASTSum scorer"):
        load_scorer(path).predict(*video(40, 9))


@pytest.mark.parametrize("score", [np.nan, 1e38])
def test_scores_that_nothing_can_be_made_of_are_refused(score: float, tmp_path: Path) -> None:
    scorer = load_scorer(hostile(tmp_path / "wild.onnx"))
    features, segments = video(40, 9)
    with pytest.raises(CheckpointError, match=r"wild\.onnx: gives scores that are no numbers"):
        scorer.predict(np.full_like(features, score / 12), segments)


def test_the_hostile_model_is_refused_for_its_tricks_alone(tmp_path: Path) -> None:
    features, segments = video(40, 9)
    scored = load_scorer(hostile(tmp_path / "tame.onnx")).predict(features, segments)
    assert scored.mean == pytest.approx(features.mean(axis=1), abs=1e-6)
