"""The manual page and the completions that are packaged."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from rich.text import Text

from vastsum.cli.app import app
from vastsum.export import FORMATS

ROOT = Path(__file__).resolve().parents[2]
SHARE = ROOT / "share"
PAGE = SHARE / "man" / "man1" / "vastsum.1"


def test_the_manual_is_that_of_the_program() -> None:
    made = runpy.run_path(str(ROOT / "scripts" / "make_manual.py"))["manual"]()
    assert PAGE.read_text(encoding="utf-8") == made, "run: make manual"


def test_the_manual_names_every_format() -> None:
    assert f"Any of {','.join(FORMATS)}." in PAGE.read_text(encoding="utf-8")


def test_the_manual_can_be_read() -> None:
    if not shutil.which("groff"):
        pytest.skip("groff, which sets manual pages, is not installed")
    command = ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", str(PAGE)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True)
    assert shown.stderr == ""
    for words in ("NAME", "vastsum - any video in", "vastsum summarize [OPTIONS]", "--budget", "VASTSUM_TOKEN"):
        assert words in shown.stdout


def test_no_help_is_lost_as_markup() -> None:
    """Rich takes what stands in brackets for a colour."""
    commands = typer.main.get_command(app).commands.values()  # type: ignore[attr-defined]
    for command in commands:
        for told in (command.help, *(parameter.help for parameter in command.params if hasattr(parameter, "help"))):
            assert Text.from_markup(told or "").plain == (told or "")


def completed(shell: list[str], script: str) -> set[str]:
    """What a shell offers. `vastsum` is found beside this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [*shell, script], capture_output=True, text=True, env={**os.environ, "PATH": path}, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return {line.split("\t")[0] for line in done.stdout.split("\n")}


def in_bash(line: str) -> set[str]:
    words = line.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"""
        source {SHARE / "bash-completion/completions/vastsum"}
        [[ $(complete -p vastsum) == *"-F _vastsum_completion"* ]]
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}
        _vastsum_completion vastsum
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return completed(["bash", "--norc", "-euc"], script)


def in_fish(line: str) -> set[str]:
    return completed(
        ["fish", "--no-config", "-c"],
        f"source {SHARE / 'fish/vendor_completions.d/vastsum.fish'}; complete -C '{line}'",
    )


def in_zsh(line: str) -> set[str]:
    """As zsh would run the file: as a function that knows the words, and hands what it found to `_arguments`."""
    script = f"""
        _arguments() {{ print -l -- "${{(@)@}}"; }}
        words=({line if not line.endswith(" ") else line + "''"})
        CURRENT=$#words
        source {SHARE / "zsh/site-functions/_vastsum"}
    """
    return completed(["zsh", "-f", "-c"], script)


@pytest.mark.parametrize("ask", [in_bash, in_fish], ids=["bash", "fish"])
def test_shells_complete_commands_and_options(ask: Callable[[str], set[str]]) -> None:
    shell = ask.__name__.removeprefix("in_")
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    assert {"summarize", "serve"} <= ask("vastsum s")
    assert "train" not in ask("vastsum s")
    assert "--formats" in ask("vastsum summarize --form")


def test_zsh_is_given_what_may_follow() -> None:
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    offered = "\n".join(in_zsh("vastsum s"))
    assert "summarize" in offered
    assert "train" not in offered
