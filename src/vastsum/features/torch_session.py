"""A network on torch, for GPUs where ONNX Runtime has no CUDA: its graph operator by operator, in full precision."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto
from torch import Tensor

from vastsum.errors import CheckpointError, ConfigError
from vastsum.features.session import NotHereError, Port
from vastsum.features.torch_ops import DTYPES, OPERATORS

OLDEST_OPSET = 13  # before it, axes were attributes and Softmax flattened what came after its axis


@dataclass(frozen=True)
class Step:
    """One operator of the graph, its attributes bound. An input without a name is left out."""

    operator: functools.partial[Tensor]
    inputs: tuple[str, ...]
    plain: Collection[int]
    output: str


@dataclass(frozen=True)
class PlannedStep:
    step: Step
    last_used: tuple[str, ...]  # values that nobody needs after it


class TorchSession:
    """Weights are on `device` once and for all; only what a run computes comes and goes."""

    def __init__(self, data: bytes, where: object, device: str) -> None:
        if device == "cuda" and not torch.cuda.is_available():
            raise NotHereError("torch finds no GPU")
        model = _parse(data, where)
        self.device = device
        self._steps = [_step(node, where) for node in model.graph.node]
        self._weights, self._numbers = self._place(model.graph, where)
        given = {constant.name for constant in model.graph.initializer}
        self.inputs = {value.name: _port(value) for value in model.graph.input if value.name not in given}
        self.outputs = {value.name: _port(value) for value in model.graph.output}
        self.metadata = {entry.key: entry.value for entry in model.metadata_props}
        self._plans: dict[tuple[str, ...], list[PlannedStep]] = {}
        self._thread = threading.local()
        if device == "cuda":
            torch.cuda.synchronize()  # the weights are there, whichever stream will read them

    def run(self, names: Sequence[str], feed: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
        try:
            with torch.inference_mode(), _full_precision, self._own_stream():
                return [output.cpu().numpy() for output in self._outputs(tuple(names), feed)]
        except torch.cuda.OutOfMemoryError:
            remedy = "end other programs that use it, or use the device 'cpu'"
            raise ConfigError(f"device {self.device!r}", "its memory is full", remedy) from None

    def _outputs(self, names: tuple[str, ...], feed: Mapping[str, NDArray[Any]]) -> list[Tensor]:
        values = self._weights | {name: torch.from_numpy(array).to(self.device) for name, array in feed.items()}
        for planned in self._plan(names):
            values[planned.step.output] = self._compute(planned.step, values)
            for name in planned.last_used:
                del values[name]
        return [values[name] for name in names]

    def _compute(self, step: Step, values: Mapping[str, Tensor]) -> Tensor:
        """Shapes are worked out on the host; they go to the device where they meet what is there."""
        arguments = [self._argument(name, place in step.plain, values) for place, name in enumerate(step.inputs)]
        if any(isinstance(argument, Tensor) and not argument.is_cpu for argument in arguments):
            arguments = [a.to(self.device) if isinstance(a, Tensor) else a for a in arguments]
        return step.operator(*arguments)

    def _argument(self, name: str, is_plain: bool, values: Mapping[str, Tensor]) -> Any:
        if not name:
            return None
        if is_plain:
            return self._numbers[name] if name in self._numbers else values[name].tolist()
        return values[name]

    def _place(self, graph: GraphProto, where: object) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The graph's constants: those it computes with, on the device, and those that are plain numbers.

        Integers in a row are taken for parts of a shape and stay on the host.
        """
        plain = {name for step in self._steps for place, name in enumerate(step.inputs) if place in step.plain}
        others = {name for step in self._steps for place, name in enumerate(step.inputs) if place not in step.plain}
        weights, numbers = {}, {}
        for constant in graph.initializer:
            tensor = _tensor(constant, where)
            if constant.name in plain:
                numbers[constant.name] = tensor.tolist()
            if constant.name in others:
                is_shape = tensor.ndim < 2 and tensor.dtype == torch.int64
                weights[constant.name] = tensor if is_shape else tensor.to(self.device)
        return weights, numbers

    def _plan(self, names: tuple[str, ...]) -> list[PlannedStep]:
        if names not in self._plans:
            self._plans[names] = self._made_plan(names)
        return self._plans[names]

    def _made_plan(self, names: tuple[str, ...]) -> list[PlannedStep]:
        """The steps that `names` depend on, and when each value has served."""
        needed, planned = set(names), []
        for step in reversed(self._steps):
            if step.output in needed:
                computed = {name for name in step.inputs if name and name not in self._numbers}
                planned.append(PlannedStep(step, tuple(computed - needed)))
                needed |= computed
        return planned[::-1]

    @contextmanager
    def _own_stream(self) -> Iterator[None]:
        """Each thread has a queue of its own on the GPU, so that one's upload goes beside another's computing."""
        if self.device != "cuda":
            yield
            return
        if not hasattr(self._thread, "stream"):
            self._thread.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        with torch.cuda.stream(self._thread.stream):
            yield


class _FullPrecision:
    """While any run is under way TF32, which keeps 10 bits of 23, is off; torch has one switch for all threads."""

    def __init__(self) -> None:
        self._lock, self._n_runs = threading.Lock(), 0
        self._before = ("none", "none")

    def __enter__(self) -> None:
        with self._lock:
            if not self._n_runs:
                self._before = _backends.cudnn.conv.fp32_precision, _backends.cuda.matmul.fp32_precision
                self._set("ieee", "ieee")
            self._n_runs += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_runs -= 1
            if not self._n_runs:
                self._set(*self._before)

    @staticmethod
    def _set(convolutions: str, products: str) -> None:
        _backends.cudnn.conv.fp32_precision, _backends.cuda.matmul.fp32_precision = convolutions, products


_backends: Any = torch.backends  # its types leave the precision of convolutions out
_full_precision = _FullPrecision()


def _parse(data: bytes, where: object) -> ModelProto:
    try:
        model = onnx.load_from_string(data)
        onnx.checker.check_model(model)
    except Exception as error:  # protobuf's and onnx's own share no base
        raise CheckpointError(where, "not an ONNX model that can be run here", "give an intact .onnx file") from error
    opset = next((entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")), 0)
    if opset < OLDEST_OPSET:
        raise NotHereError(f"torch runs ONNX from opset {OLDEST_OPSET} on, and {where} is of opset {opset}")
    return model


def _step(node: NodeProto, where: object) -> Step:
    """The function that stands for a node; one that is not known, or not in this form, is named now and not mid-run."""
    name = f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type
    if name not in OPERATORS or len(node.output) != 1:
        raise NotHereError(f"torch has no operator {name!r} here, which {where} uses")
    function, plain, values = OPERATORS[name]
    attributes = {attribute.name: _attribute(attribute, where) for attribute in node.attribute}
    for key, value in attributes.items():
        understood = values.get(key)
        if key not in values.keys() | _keywords(function) or (understood is not None and value not in understood):
            raise NotHereError(f"torch has no operator {name!r} with {key} = {value!r} here, which {where} uses")
    taken = {key: value for key, value in attributes.items() if key in _keywords(function)}
    return Step(functools.partial(function, **taken), tuple(node.input), plain, node.output[0])


@functools.cache
def _keywords(function: Callable[..., Tensor]) -> set[str]:
    if inspect.isbuiltin(function):  # torch's own, for operators without attributes
        return set()
    return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}


def _attribute(attribute: AttributeProto, where: object) -> Any:
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, TensorProto):
        return _tensor(value, where)
    return value.decode() if isinstance(value, bytes) else value


def _tensor(constant: TensorProto, where: object) -> Tensor:
    if constant.data_type not in DTYPES:
        kind = TensorProto.DataType.Name(constant.data_type)
        raise NotHereError(f"torch has no numbers of kind {kind} here, which {where} uses")
    return torch.from_numpy(np.array(onnx.numpy_helper.to_array(constant)))


def _port(value: ValueInfoProto) -> Port:
    tensor = value.type.tensor_type
    shape = [side.dim_value if side.HasField("dim_value") else side.dim_param or None for side in tensor.shape.dim]
    return Port(f"tensor({TensorProto.DataType.Name(tensor.elem_type).lower()})", shape)
