"""The embedded voice detector: what it is, and that hearing in pieces is hearing it all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vastsum import assets
from vastsum.onnx_runtime import open_network, run_network
from vastsum.sound.detector import ASSET, CONTEXT, STEP, VoiceDetector


@pytest.fixture(scope="module")
def syllables(script: Callable[[str], ModuleType]) -> np.ndarray:
    return script("scripts/export_voice_detector").syllables(n_steps=480)


def one_step_a_call(samples: np.ndarray) -> np.ndarray:
    network = open_network(assets.read_asset(ASSET), ASSET, threads=1)
    hidden = cell = np.zeros((1, 1, 128), np.float32)
    padded = np.concatenate([np.zeros(CONTEXT, np.float32), samples])
    probabilities = []
    for start in range(0, len(samples), STEP):
        feed = {"input": padded[None, start : start + CONTEXT + STEP], "h": hidden, "c": cell}
        probability, hidden, cell = run_network(network, ASSET, ["speech_probs", "hn", "cn"], feed)
        probabilities.append(probability.item())
    return np.array(probabilities)


@pytest.mark.parametrize("n_pieces", [1, 3, 480])
def test_pieces_give_the_probabilities_of_a_plain_loop(syllables: np.ndarray, n_pieces: int) -> None:
    expected = one_step_a_call(syllables)
    assert expected.min() < 0.05
    assert expected.max() > 0.8, "the test sound is to be taken for speech in parts"
    detector = VoiceDetector()
    heard = np.concatenate([detector.hear(piece) for piece in np.split(syllables, n_pieces)])
    assert heard == pytest.approx(expected, abs=1e-5)
    detector.forget()
    assert detector.hear(syllables) == pytest.approx(expected, abs=1e-5)


def test_the_embedded_file_is_the_package_s_with_licence_and_notice_beside_it(
    script: Callable[[str], ModuleType],
) -> None:
    folder = Path(assets.__file__).parent
    assert f'"{ASSET}": "{script("scripts/export_voice_detector").SHA256}"' in (folder / assets.CHECKSUMS).read_text()
    assert "MIT License" in (folder / "LICENSE.silero_vad.txt").read_text()
    assert "silero-vad 6.2.3" in (folder / "NOTICE.silero_vad.txt").read_text()
