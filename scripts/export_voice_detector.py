"""Copy Silero's voice detector from its wheel to src/vastsum/assets/silero_vad.onnx, and try it against the original.

    pip download --no-deps silero-vad==6.2.3
    python scripts/export_voice_detector.py silero_vad-6.2.3-py3-none-any.whl

The file is taken as it is: of those in the wheel, the one for 16 kHz that takes many steps in one call. Ours must give
the probabilities that the package's main model gives when it is run step by step, as the package does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from vastsum.onnx_runtime import open_network, run_network
from vastsum.sound.detector import ASSET, CONTEXT, RATE, STEP, VoiceDetector

ASSETS = Path(__file__).parent.parent / "src" / "vastsum" / "assets"
IN_WHEEL = "silero_vad/data/silero_vad_16k_sequence.onnx"
SHA256 = "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85"
REFERENCE = "silero_vad/data/silero_vad.onnx"
TOLERANCE = 1e-5

VOWELS = [(730, 1090, 2440), (270, 2290, 3010), (300, 870, 2240), (530, 1840, 2480), (570, 840, 2410)]
BANDWIDTHS = (80, 100, 120)

Samples = NDArray[np.float32]


def syllables(n_steps: int, seed: int = 0) -> Samples:
    """A buzz through the resonances of vowels, which the detector is in two minds about: all probabilities occur."""
    rng = np.random.default_rng(seed)
    n_samples = n_steps * STEP
    seconds = np.arange(n_samples) / RATE
    pitch = 120 * (1 + 0.1 * np.sin(2 * np.pi * 0.7 * seconds) + 0.03 * np.sin(2 * np.pi * 5 * seconds))
    buzz = np.diff(np.floor(np.cumsum(pitch) / RATE), prepend=0)
    sound = np.zeros(n_samples)
    start = 0
    while start < n_samples:
        end = min(start + int(RATE * rng.uniform(0.1, 0.25)), n_samples)
        syllable = buzz[start:end]
        for frequency, width in zip(VOWELS[rng.integers(len(VOWELS))], BANDWIDTHS, strict=True):
            radius = np.exp(-np.pi * width / RATE)
            poles = [1, -2 * radius * np.cos(2 * np.pi * frequency / RATE), radius**2]
            syllable = lfilter([1 - radius], poles, syllable)
        syllable = np.diff(syllable, prepend=0) * np.hanning(end - start)
        sound[start:end] = rng.uniform(0.1, 0.3) * syllable / max(np.abs(syllable).max(), 1e-9)
        start = end
    return sound.astype(np.float32)


def step_by_step(model: bytes, samples: Samples) -> Samples:
    """The probabilities of the package's main model, one step a call."""
    network = open_network(model, REFERENCE, threads=1)
    state, before = np.zeros((2, 1, 128), np.float32), np.zeros(CONTEXT, np.float32)
    probabilities = []
    for step in samples.reshape(-1, STEP):
        feed = {"input": np.concatenate([before, step])[None], "state": state, "sr": np.array(RATE)}
        probability, state = run_network(network, REFERENCE, ["output", "stateN"], feed)
        probabilities.append(probability.item())
        before = step[-CONTEXT:]
    return np.array(probabilities, np.float32)


def write(wheel: zipfile.ZipFile, folder: Path) -> None:
    """The model, its licence, and its checksum beside those of the other assets."""
    data = wheel.read(IN_WHEEL)
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{wheel.filename}: {IN_WHEEL} has the checksum {found}; take silero-vad 6.2.3")
    (folder / ASSET).write_bytes(data)
    (licence,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
    (folder / "LICENSE.silero_vad.txt").write_bytes(wheel.read(licence))
    ledger = folder / "checksums.json"
    checksums = json.loads(ledger.read_text()) if ledger.exists() else {}
    ledger.write_text(json.dumps(checksums | {ASSET: found}, indent=1, sort_keys=True) + "\n")
    print(f"{folder / ASSET}: {len(data) / 1e6:.2f} MB, sha256 {found}")


def compare(wheel: zipfile.ZipFile) -> None:
    """What the package embeds, given sound in pieces, against the wheel's main model."""
    samples = syllables(n_steps=2000)
    detector = VoiceDetector()
    ours = np.concatenate([detector.hear(piece) for piece in samples.reshape(8, -1)])
    theirs = step_by_step(wheel.read(REFERENCE), samples)
    furthest = float(np.abs(ours - theirs).max())
    print(
        f"{len(ours)} steps, probabilities {theirs.min():.3f} to {theirs.max():.3f}: differ by {furthest:.1e} at most"
    )
    if not furthest <= TOLERANCE:
        raise SystemExit(f"the embedded detector differs from {REFERENCE} by more than {TOLERANCE:.0e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path, help="the wheel of silero-vad 6.2.3")
    parser.add_argument("-o", "--output", type=Path, default=ASSETS, help="folder to write to (default: the package's)")
    arguments = parser.parse_args()
    with zipfile.ZipFile(arguments.wheel) as wheel:
        write(wheel, arguments.output)
        compare(wheel)


if __name__ == "__main__":
    main()
