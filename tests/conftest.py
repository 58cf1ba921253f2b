"""What all tests share: small synthetic benchmarks, and the real data where it lies beside the checkout."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from vastsum.data import Dataset, load_dataset, make_synthetic

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not (SHARED / "data").is_dir():
        pytest.skip("the real benchmark files (../shared/data) are not here; they may not be redistributed")
    return SHARED


@pytest.fixture(scope="session")
def synthetic_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("synthetic")
    files = {kind: folder / f"{kind}.h5" for kind in ("tvsum", "summe")}
    for kind, path in files.items():
        make_synthetic(path, kind=kind, n_videos=10, n_annotators=6, feature_width=24, mean_duration_s=40)
    return files


@pytest.fixture(scope="session")
def tvsum(synthetic_files: dict[str, Path]) -> Dataset:
    return load_dataset(synthetic_files["tvsum"])


@pytest.fixture(scope="session")
def summe(synthetic_files: dict[str, Path]) -> Dataset:
    return load_dataset(synthetic_files["summe"])


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """A script of the repository as a module, to try its parts."""

    def loaded(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / "scripts" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return loaded
