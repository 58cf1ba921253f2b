"""Which execution provider of ONNX Runtime a network runs on."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from vastsum.assets import read_asset
from vastsum.errors import ConfigError
from vastsum.features import ort_session
from vastsum.features.ort_session import OrtSession
from vastsum.onnx_runtime import ort

NETWORK = read_asset("vastsum.onnx")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """CUDA is among what ONNX Runtime was built for. It cannot start here, whichever provider it is asked for."""
    asked: list[Any] = []
    cpu_session = ort.InferenceSession

    def open_on_cpu(data: bytes, options: Any, providers: list[Any]) -> Any:
        asked.extend(providers)
        return cpu_session(data, options, providers=["CPUExecutionProvider"])

    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
    monkeypatch.setattr(ort, "InferenceSession", open_on_cpu)
    ort_session._warn_of_fallback.cache_clear()
    return asked


@pytest.mark.parametrize(("device", "n_warnings"), [("cuda", 1), ("CUDA", 1), ("auto", 0)])
def test_a_gpu_that_does_not_start_is_replaced_by_the_cpu(
    asked: list[Any], caplog: pytest.LogCaptureFixture, device: str, n_warnings: int
) -> None:
    with caplog.at_level(logging.WARNING, logger="vastsum"):
        sessions = [OrtSession(NETWORK, "a.onnx", device) for _ in range(2)]
    assert [session.device for session in sessions] == ["cpu", "cpu"]
    assert asked[0] == ("CUDAExecutionProvider", {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"})
    assert len(caplog.records) == n_warnings
    assert all(f"device '{device}' cannot be used" in record.getMessage() for record in caplog.records)


def test_a_gpu_that_starts_is_used(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    opened_on_cpu = ort.InferenceSession

    def started(*given: Any, providers: list[Any]) -> Any:
        session = opened_on_cpu(*given, providers=providers)
        monkeypatch.setattr(session, "get_providers", lambda: ["CUDAExecutionProvider", "CPUExecutionProvider"])
        return session

    monkeypatch.setattr(ort, "InferenceSession", started)
    assert [OrtSession(NETWORK, "a.onnx", device).device for device in ("auto", "cuda")] == ["cuda", "cuda"]
    assert [name for name, _ in asked] == ["CUDAExecutionProvider"] * 2
    assert not caplog.records


def test_a_provider_it_was_not_built_for_is_not_even_asked_for(
    asked: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert OrtSession(NETWORK, "a.onnx", "coreml").device == "cpu"
    assert [name for name, _ in asked] == ["CPUExecutionProvider"]
    assert "falling back to the CPU" in caplog.text


def test_the_cpu_is_used_without_a_word(asked: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    assert OrtSession(NETWORK, "a.onnx", "cpu").device == "cpu"
    assert asked == [("CPUExecutionProvider", {})]
    assert not caplog.records


def test_an_unknown_device_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"device 'tpu': unknown device; choose one of auto, .*\bcpu\b.*\bcuda\b"):
        OrtSession(NETWORK, "a.onnx", "tpu")
