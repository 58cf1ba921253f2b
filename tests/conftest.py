"""What all tests share: small synthetic benchmarks, and the real data where it lies beside the checkout."""

from __future__ import annotations

import gc
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer

from vastsum.bench.data import Dataset, load_dataset, make_synthetic
from vastsum.cli import main

SHARED = Path(__file__).resolve().parents[2] / "shared"
COMMAND_OF = cache(typer.main.get_command)  # made of the same functions every time, and slowly


@pytest.fixture(scope="module", autouse=True)
def _imports_are_no_garbage() -> None:
    """Who collects garbage need not look through all that was imported by now."""
    gc.collect()
    gc.freeze()


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
    """A script such as studies/preferences as a module, to try its parts."""

    def loaded(path: str) -> ModuleType:
        name = Path(path).name
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{path}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture(scope="session")
def untraced() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function called in a thread that coverage does not look at.

    For other people's code that runs for long: being looked at, it would take twice the time.
    """

    def unseen(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            with ThreadPoolExecutor(1, initializer=sys.settrace, initargs=(None,)) as thread:
                return thread.submit(function, *given, **named).result()

        return called

    return unseen


@pytest.fixture
def run_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`vastsum …` in this process, which spares the start of another."""
    monkeypatch.setattr(typer.main, "get_command", COMMAND_OF)

    def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()  # what was said before is not the command's
        with monkeypatch.context() as within:
            within.setattr(sys, "argv", ["vastsum", *map(str, arguments)])
            within.chdir(cwd or Path.cwd())
            with pytest.raises(SystemExit) as end:
                main()
        said = capfd.readouterr()
        return subprocess.CompletedProcess(list(arguments), int(end.value.code or 0), said.out, said.err)

    return run
