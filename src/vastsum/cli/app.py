"""The program `vastsum`: its commands, and what a person sees when something goes wrong."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from vastsum import __version__
from vastsum.cli import benchmark, check, evaluate, export, models, prepare, serve, summarize, synth, train
from vastsum.cli.console import errors, shown
from vastsum.errors import VastsumError, described
from vastsum.jobs.environment import heed_environment

app = typer.Typer(
    name="vastsum",
    help="Any video in, a summary out; and a benchmark for researchers.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(summarize.summarize)
app.command()(serve.serve)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(benchmark.benchmark)
app.command()(export.export)
app.command()(check.check)
app.command()(synth.synth)
app.command()(prepare.prepare)
app.command()(models.models)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"vastsum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
) -> None:
    """Options before the command. `--debug` is looked up in `main`, where errors arrive."""


def _for_a_person(error: VastsumError | OSError | MemoryError) -> VastsumError:
    """The world may fail anywhere; where nobody could say more of it, at least this is said."""
    if isinstance(error, OSError):
        problem = f"could not be read or written ({error.strerror or error})"
        return VastsumError(error.filename or "a file", problem, "check the disk, and give the command again")
    if isinstance(error, MemoryError):
        return VastsumError("memory", "there is not enough of it", "close other programs, and give the command again")
    return error


def main() -> None:
    """Run the program; errors meant for a person are printed as one line, and end with exit code 1."""
    debug = "--debug" in sys.argv
    try:
        heed_environment()
        app()
    except (VastsumError, OSError, MemoryError) as error:
        if debug:
            raise
        errors.print(f"[bold red]error:[/] {shown(_for_a_person(error))}", soft_wrap=True)
        sys.exit(1)
    except Exception as error:
        if debug:
            raise
        told = described(error, "", "run 'vastsum --debug …' for the traceback and please report it")
        errors.print(f"[bold red]error:[/] {shown(told.problem)}; {told.remedy}", soft_wrap=True)
        sys.exit(1)
