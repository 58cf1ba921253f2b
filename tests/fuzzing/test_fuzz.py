"""Whatever a file holds, whoever reads it succeeds or says what is wrong; `scripts/fuzz.py` tries for longer."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from fuzz.engine import fuzz
from fuzz.targets import NAMES, find_target

from vastsum.errors import VastsumError

CORPUS = Path(__file__).parents[1] / "corpus"
FOUND = sorted(path for path in CORPUS.glob("*/*") if path.is_file())
NATIVE = [name for name in NAMES if find_target(name).native]


def use(name: str, data: bytes, folder: Path) -> None:
    target = find_target(name)
    path = folder / target.file
    path.write_bytes(data)
    try:
        target.use(path)
    except VastsumError:
        pass
    except Exception as error:
        raise AssertionError(f"{name}: {data[:500]!r}") from error


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_what_broke_once_does_not_break_again(path: Path, tmp_path: Path) -> None:
    use(path.parent.name, path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NATIVE])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are absurd, yet numbers
def test_spoiled_text_does_no_harm(name: str, tmp_path: Path) -> None:
    target, rng = find_target(name), random.Random(0)
    seeds = target.seeds(tmp_path)
    for _ in range(600):
        use(name, target.mutate(rng.choice(seeds), rng, seeds), tmp_path)


@pytest.mark.parametrize("name", NATIVE)
def test_spoiled_files_for_decoders_do_no_harm(name: str, tmp_path: Path) -> None:
    """In a process of its own, which may be killed; within 3 s, or 100 inputs."""
    report = fuzz(name, max_inputs=100, seconds=3, seed=0, keep=tmp_path)
    assert report.n_inputs
    assert not report.findings, str(report)
