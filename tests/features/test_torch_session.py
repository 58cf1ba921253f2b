"""Networks run by torch give ONNX Runtime's numbers: operator by operator, whole, and up to what is selected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray

from vastsum import assets
from vastsum.errors import CheckpointError, ConfigError
from vastsum.features import load_backbone
from vastsum.features.onnx_model import open_session
from vastsum.features.ort_session import OrtSession
from vastsum.features.session import NotHereError
from vastsum.features.torch_ops import OPERATORS
from vastsum.features.torch_session import TorchSession
from vastsum.onnx_runtime import ort
from vastsum.scorers.onnx_scorer import load_scorer
from vastsum.scorers.vastsum import NetworkConfig
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.training.export import export_onnx
from vastsum.types import Segments
from vastsum.video import sample

SHARED = Path(__file__).parents[3] / "shared"
VIDEO = SHARED / "videos" / "Jumps.webm"
GOOGLENET = SHARED / "weights" / "bvlc_googlenet.onnx"
EMBEDDED = Path(assets.__file__).parent
RNG = np.random.default_rng(0)


class Case(NamedTuple):
    operator: str
    inputs: tuple[Any, ...]  # None where one is left out
    attributes: dict[str, Any]


def case(operator: str, *inputs: Any, **attributes: Any) -> Case:
    return Case(operator, tuple(None if value is None else np.asarray(value) for value in inputs), attributes)


def reals(*shape: int) -> NDArray[np.float32]:
    return RNG.standard_normal(shape).astype(np.float32)


ZERO, TRUE = np.array([7], np.int64), np.array([True])
CASES = [
    *(case(name, reals(2, 3), reals(3)) for name in ("Add", "Sub", "Mul", "Div", "Greater", "Less", "Min")),
    *(case(name, np.arange(4), np.array([2])) for name in ("Add", "Sub", "Mul", "Div", "Greater", "Less", "Min")),
    *(case(name, reals(2, 3)) for name in ("Exp", "Floor", "Gelu", "Neg", "Relu", "Sigmoid", "Softmax")),
    *(case(name, abs(reals(2, 3)) + 1) for name in ("Reciprocal", "Sqrt")),
    case("Cast", reals(4) * 3, to=onnx.TensorProto.INT64),
    case("Cast", np.array([0, 1, 255], np.uint8), to=onnx.TensorProto.FLOAT),
    case("Cast", np.array([0, 1, 2]), to=onnx.TensorProto.BOOL),
    case("Clip", reals(9), np.float32(-0.5), np.float32(0.5)),
    case("Clip", reals(9), np.float32(-0.5)),
    case("Clip", np.arange(9), None, np.int64(5)),
    case("Clip", reals(9)),
    case("Concat", reals(2, 3), reals(2, 1), axis=-1),
    case("Concat", np.arange(2), np.arange(3), axis=0),
    case("ConstantOfShape", [2, 3]),
    case("ConstantOfShape", [2, 3], value=onnx.numpy_helper.from_array(ZERO)),
    case("ConstantOfShape", [4], value=onnx.numpy_helper.from_array(TRUE)),
    case("Conv", reals(2, 4, 9, 8), reals(6, 4, 3, 3), reals(6), pads=[1, 1, 1, 1], strides=[2, 2]),
    case("Conv", reals(2, 4, 9, 8), reals(6, 4, 3, 3), pads=[0, 1, 1, 2], dilations=[2, 1], kernel_shape=[3, 3]),
    case("Conv", reals(2, 4, 9), reals(4, 1, 5), reals(4), group=4, pads=[2, 2], auto_pad="NOTSET"),
    case("Conv", reals(1, 4, 9), reals(4, 4, 3), pads=[0, 2]),
    case("Expand", reals(2, 1), [3, 1, 4]),
    case("Expand", reals(2, 3), [1]),
    case("Flatten", reals(2, 3, 4)),
    case("Flatten", reals(2, 3, 4), axis=0),
    case("Flatten", reals(2, 3, 4), axis=-1),
    case("GatherElements", reals(3, 4), np.array([[0, -1], [2, 1]]), axis=1),
    case("GatherND", reals(3, 4), np.array([[[0], [-1]], [[2], [1]]])),
    case("GatherND", reals(3, 4, 2), np.array([[0, -1], [2, 1]]), batch_dims=0),
    case("Gelu", reals(9), approximate="tanh"),
    case("Gemm", reals(2, 3), reals(4, 3), reals(4), transB=1),
    case("Gemm", reals(3, 2), reals(3, 4), transA=1, alpha=0.5),
    case("Gemm", reals(2, 3), reals(3, 4), reals(1, 4), beta=2.0),
    case("GlobalAveragePool", reals(2, 3, 4, 5)),
    case("LayerNormalization", reals(2, 3, 4), reals(4), reals(4)),
    case("LayerNormalization", reals(2, 3, 4), reals(3, 4), axis=1, epsilon=0.1, stash_type=1),
    case("MatMul", reals(2, 3, 4), reals(4, 5)),
    case("MatMul", reals(3), reals(3)),
    case("MaxPool", reals(2, 3, 13, 14), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    case("MaxPool", reals(2, 3, 13, 14), kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1], ceil_mode=1),
    case("MaxPool", reals(2, 3, 13, 14) - 9, kernel_shape=[3, 2], pads=[1, 0, 0, 1], storage_order=0),
    case("MaxPool", reals(2, 3, 13, 14), kernel_shape=[2, 2], dilations=[2, 3]),
    case("Min", reals(3), reals(2, 3), reals(2, 1)),
    case("Not", np.array([True, False])),
    case("Pow", abs(reals(2, 3)), np.float32(1.5)),
    case("Range", np.int64(0), np.int64(7), np.int64(2)),
    case("Range", np.float32(0), np.float32(1), np.float32(0.25)),
    case("ReduceSum", reals(2, 3, 4), [-1], keepdims=0),
    case("ReduceSum", reals(2, 3, 4), [0, 2]),
    case("ReduceSum", np.arange(6, dtype=np.int32).reshape(2, 3)),
    case("ReduceSum", reals(2, 3), noop_with_empty_axes=1),
    case("Reshape", reals(2, 3, 4), [0, -1]),
    case("Reshape", reals(2, 3, 4), [3, 8], allowzero=1),
    case("Reshape", reals(0, 3), [3, 0], allowzero=1),
    case("ScatterElements", reals(3, 4), np.array([[0, -1, 0]]), reals(1, 3), axis=1, reduction="add"),
    case("ScatterElements", reals(3, 4), np.array([[0, -1]]), reals(1, 2), axis=1),
    case("ScatterElements", reals(3, 4), np.array([[0, 1, 0]]), reals(1, 3), axis=1, reduction="mul"),
    case("ScatterElements", reals(3, 4), np.array([[0, 1, 0]]), reals(1, 3), axis=1, reduction="max"),
    case("Shape", reals(2, 3, 4)),
    case("Shape", reals(2, 3, 4), start=1, end=-1),
    case("Slice", reals(5, 6), [1, -3], [-1, 2**31]),
    case("Slice", reals(5, 6), [1], [100], [-1], [2]),
    case("Softmax", reals(2, 3, 4), axis=1),
    case("Squeeze", reals(1, 3, 1)),
    case("Squeeze", reals(1, 3, 1), [-1]),
    case("Transpose", reals(2, 3, 4)),
    case("Transpose", reals(2, 3, 4), perm=[1, 0, 2]),
    case("Unsqueeze", reals(2, 3), [-1, 0]),
    case("Where", np.array([[True], [False]]), reals(3), reals(2, 1)),
]


def port(name: str, value: NDArray[Any]) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
    )


def model_of(
    tried: Case, output: NDArray[Any] | None = None, *, constant: bool = False, domain: str = "", opset: int = 20
) -> bytes:
    """The operator alone. Its inputs after the first can be constants of the graph."""
    names = [f"input{place}" if value is not None else "" for place, value in enumerate(tried.inputs)]
    values = {name: value for name, value in zip(names, tried.inputs, strict=True) if name}
    constants = list(values)[1:] if constant else []
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node(tried.operator, names, ["output"], domain=domain, **tried.attributes)],
        tried.operator,
        [port(name, value) for name, value in values.items() if name not in constants],
        [onnx.ValueInfoProto(name="output") if output is None else port("output", output)],
        initializer=[onnx.numpy_helper.from_array(values[name], name) for name in constants],
    )
    opsets = [onnx.helper.make_opsetid(name, opset) for name in {"", domain}]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return model.SerializeToString()


@pytest.mark.parametrize("constant", [False, True], ids=["given", "constant"])
@pytest.mark.parametrize("tried", CASES, ids=lambda tried: f"{tried.operator}-{list(tried.attributes.values())}"[:60])
def test_an_operator_gives_what_onnx_runtime_gives(tried: Case, constant: bool) -> None:
    expected = OrtSession(model_of(tried, constant=constant), "a.onnx", "cpu", threads=1)
    feed = {name: tried.inputs[int(name.removeprefix("input"))] for name in expected.inputs}
    (wanted,) = expected.run(["output"], feed)
    ours = TorchSession(model_of(tried, wanted, constant=constant), "a.onnx", "cpu")
    assert ours.inputs == expected.inputs
    (given,) = ours.run(["output"], feed)
    assert (given.dtype, given.shape) == (wanted.dtype, wanted.shape)
    assert given == pytest.approx(wanted, abs=1e-5)


def test_every_operator_is_tried() -> None:
    assert {tried.operator for tried in CASES} == set(OPERATORS)


@pytest.mark.parametrize(
    ("tried", "options", "words"),
    [
        (case("Tan", reals(3)), {}, "no operator 'Tan' here, which a.onnx uses"),
        (case("Tan", reals(3)), {"domain": "com.example"}, "no operator 'com.example.Tan'"),
        (case("GatherND", reals(2, 3), np.array([[0], [1]]), batch_dims=1), {}, "'GatherND' with batch_dims = 1"),
        (case("Conv", reals(1, 1, 9), reals(1, 1, 3), auto_pad="SAME_UPPER"), {}, "auto_pad = 'SAME_UPPER'"),
        (case("Cast", reals(3), to=onnx.TensorProto.STRING), {}, "'Cast' with to = 8"),
        (case("Relu", reals(3)), {"opset": 12}, "from opset 13 on, and a.onnx is of opset 12"),
    ],
)
def test_what_it_does_not_know_is_named_before_any_work(tried: Case, options: dict[str, Any], words: str) -> None:
    with pytest.raises(NotHereError, match=words):
        TorchSession(model_of(tried, reals(3), **options), "a.onnx", "cpu")


def test_what_it_does_not_know_reaches_the_user_as_an_error_and_auto_as_the_cpu() -> None:
    data = model_of(case("Tan", reals(3)), reals(3))
    with pytest.raises(ConfigError, match=r"device 'cpu': torch has no operator 'Tan' here, which a\.onnx uses; "):
        open_session(data, "a.onnx", "cpu", runtime="torch")
    assert isinstance(open_session(data, "a.onnx", "auto"), OrtSession)


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" * 50])
def test_what_is_no_model_is_refused(content: bytes) -> None:
    with pytest.raises(CheckpointError, match=r"a\.onnx: not an ONNX model"):
        TorchSession(content, "a.onnx", "cpu")


def both(data: bytes) -> tuple[OrtSession, TorchSession]:
    expected, ours = OrtSession(data, "a.onnx", "cpu", threads=1), TorchSession(data, "a.onnx", "cpu")
    assert (ours.inputs, ours.outputs, ours.metadata) == (expected.inputs, expected.outputs, expected.metadata)
    return expected, ours


def test_the_embedded_backbone_gives_the_same_vectors() -> None:
    expected, ours = both((EMBEDDED / "efficientnet_lite0.onnx").read_bytes())
    frames = RNG.integers(0, 256, (3, 224, 224, 3)).astype(np.uint8)
    wanted, given = (session.run(["features"], {"frames": frames})[0] for session in (expected, ours))
    assert np.abs(given - wanted).max() < 1e-4  # of values up to 6


@pytest.mark.skipif(not GOOGLENET.is_file(), reason="GoogLeNet's weights (../shared) are not here")
def test_googlenet_gives_the_same_vectors() -> None:
    expected, ours = both(GOOGLENET.read_bytes())
    images = RNG.normal(0, 50, (2, 3, 224, 224)).astype(np.float32)
    for name in ("pool5", "prob"):
        wanted, given = (session.run([name], {"data": images})[0] for session in (expected, ours))
        assert np.abs(given - wanted).max() < 1e-4


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, untraced: Callable[..., Any]) -> list[Path]:
    """What 'vastsum export' writes, with every ablation and path; and the scorer that is embedded."""
    folder = tmp_path_factory.mktemp("exported")
    torch.manual_seed(0)
    sizes = {"feature_width": 12, "width": 16, "heads": 2, "layers": 2, "positions": 50, "conv_layers": 2}
    paths = {
        "linear_share": 0.2,
        "smoothing": 1.0,
        "nonlocal_sharpness": 3.0,
    }
    network = VastsumNetwork(NetworkConfig(**sizes, **paths, gated_residual=True, cnn_attention=True)).eval()
    with patch.object(torch.onnx, "export", untraced(torch.onnx.export)):
        export_onnx(network, "bernoulli", folder / "ablation.onnx", {"name": "ablation"})
    return [folder / "ablation.onnx", EMBEDDED / "vastsum.onnx"]


@pytest.mark.parametrize(("n_picks", "n_segments"), [(1, 1), (40, 9), (700, 80)])
def test_scorers_give_the_same_importance(exported: list[Path], n_picks: int, n_segments: int) -> None:
    bounds = np.linspace(0, 15 * n_picks, n_segments + 1).astype(int)
    segments = Segments(np.column_stack([bounds[:-1], bounds[1:] - 1]), np.arange(n_picks) * 15, 15 * n_picks)
    for path in exported:
        expected, ours = load_scorer(path), load_scorer(path, runtime="torch")
        features = reals(n_picks, expected.feature_width)
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        wanted, given = (scorer.predict(features, segments) for scorer in (expected, ours))
        assert np.abs(given.mean - wanted.mean).max() < 1e-5
        assert np.abs(given.std - wanted.std).max() < 1e-5
        assert ours.card == expected.card


def test_all_is_computed_on_the_device_and_nothing_read_back_before_the_end(exported: list[Path]) -> None:
    """Tried on torch's device 'meta', which is not the host, and has no numbers that could be read."""
    frames = {"frames": np.zeros((2, 224, 224, 3), np.uint8)}
    backbone = TorchSession((EMBEDDED / "efficientnet_lite0.onnx").read_bytes(), "a.onnx", "meta")
    assert [output.is_meta for output in backbone._outputs(("features",), frames)] == [True]
    for path in exported:
        scorer = TorchSession(path.read_bytes(), path, "meta")
        feed = {
            "features": np.zeros((1, 50, scorer.inputs["features"].shape[2]), np.float32),
            "segment_ids": np.zeros((1, 50), np.int64),
            "segments": np.zeros((1, 7), np.int64),
        }
        assert [output.is_meta for output in scorer._outputs(("mean", "std"), feed)] == [True, True]


def test_only_what_an_output_needs_is_computed_and_nothing_is_kept_longer_than_needed() -> None:
    session = TorchSession((EMBEDDED / "efficientnet_lite0.onnx").read_bytes(), "a.onnx", "cpu")
    plan = session._plan(("features",))
    alive, most = {"frames"}, 0
    for planned in plan:
        alive |= {planned.step.output}
        most = max(most, len(alive))
        alive -= set(planned.last_used)
    assert alive == {"features"}
    assert most <= 3  # an operator's input and output, and a way around them


def test_precision_is_full_while_it_runs_and_as_before_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    def precision() -> tuple[str, str]:
        return torch.backends.cudnn.conv.fp32_precision, torch.backends.cuda.matmul.fp32_precision

    seen = []
    relu, before = OPERATORS["Relu"], precision()

    def looking(x: torch.Tensor) -> torch.Tensor:
        seen.append(precision())
        return relu.run(x)

    monkeypatch.setitem(OPERATORS, "Relu", relu._replace(run=looking))
    TorchSession(model_of(case("Relu", reals(3)), reals(3)), "a.onnx", "cpu").run(["output"], {"input0": reals(3)})
    assert seen == [("ieee", "ieee")] != [before]
    assert precision() == before


@pytest.mark.skipif(not VIDEO.is_file(), reason="the benchmark's video (../shared) is not here")
def test_real_frames_have_the_same_features() -> None:
    frames = np.stack([picked.image for picked in sample(VIDEO, every=60, size=(224, 224))])
    expected, ours = load_backbone(threads=1), load_backbone(runtime="torch", threads=2)
    assert np.abs(ours.extract(frames) - expected.extract(frames)).max() < 1e-5


@pytest.mark.skipif(
    torch.cuda.is_available() or "CUDAExecutionProvider" in ort.get_available_providers(), reason="CUDA is here"
)
def test_without_a_gpu_auto_is_the_cpu_and_cuda_says_what_was_tried() -> None:
    assert load_scorer(device="auto")._session.device == "cpu"
    with pytest.raises(ConfigError, match="no CUDA provider, and torch finds no GPU; check the NVIDIA driver"):
        load_scorer(device="cuda")
