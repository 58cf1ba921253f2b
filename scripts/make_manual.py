"""The manual page, from what the program says of itself: `python scripts/make_manual.py`, or `make manual`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
import typer.main

from vastsum import __version__
from vastsum.cli.app import app
from vastsum.files import write_text

PAGE = Path(__file__).resolve().parents[1] / "share" / "man" / "man1" / "vastsum.1"
CLOSING = r"""
.SH EXIT STATUS
.TP
.B 0
Everything went well.
.TP
.B 1
Something could not be done; one line on the standard error says what, where, and what to do.
.TP
.B 2
The command line makes no sense.
.TP
.B 130
Interrupted.
.SH ENVIRONMENT
.TP
.B VASTSUM_TOKEN
The studio\(aqs token, where other users would see it on the command line.
.SH FILES
.TP
.I \(ti/.vastsum
The studio\(aqs uploads, jobs and results, unless \-\-data says otherwise.
.SH EXAMPLES
.TP
.B vastsum summarize holiday.mp4
Writes holiday.summary.mp4 beside the video.
.TP
.B vastsum summarize talks/ \-o summaries/ \-\-budget 1:30
A folder; a minute and a half each.
""".strip()


def manual() -> str:
    program: Any = typer.main.get_command(app)
    lines = [
        '.\\" Made by scripts/make_manual.py; do not edit.',
        f'.TH VASTSUM 1 "" "vastsum {__version__}" "User Commands"',
        ".SH NAME",
        "vastsum \\- any video in, a summary out",
        ".SH SYNOPSIS",
        ".B vastsum",
        '.RI [ options ] " command " [ arguments ]',
        ".SH DESCRIPTION",
        escaped(program.help),
        ".SH OPTIONS",
        *parameters(program, "vastsum"),
        ".SH COMMANDS",
    ]
    for name, command in program.commands.items():
        lines += described(name, command)
    lines.append(CLOSING)
    return "\n".join(lines) + "\n"


def described(name: str, command: Any) -> list[str]:
    context = typer.Context(command, info_name=f"vastsum {name}")
    usage = " ".join(command.collect_usage_pieces(context))
    paragraphs = [escaped(" ".join(text.split())) for text in command.help.split("\n\n")]
    told = [line for text in paragraphs for line in (".PP", text)]
    return [f".SS vastsum {name} {escaped(usage)}", *told[1:], *parameters(command, f"vastsum {name}")]


def parameters(command: Any, called: str) -> Iterator[str]:
    context = typer.Context(command, info_name=called)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record:
            names, told = record
            yield from (".TP", f".B {escaped(names)}", escaped(re.sub(r"\s+", " ", told)) or "\\&")


def escaped(text: str) -> str:
    """As troff takes it: signs that it would read otherwise, and no line that begins like a macro."""
    for sign, written in (("\\", "\\e"), ("-", "\\-"), ("'", "\\(aq"), ("~", "\\(ti"), ("^", "\\(ha"), ("`", "\\(ga")):
        text = text.replace(sign, written)
    text = "".join(sign if ord(sign) < 128 else f"\\[u{ord(sign):04X}]" for sign in text)
    return f"\\&{text}" if text.startswith((".", "\\(aq")) else text


if __name__ == "__main__":
    write_text(PAGE, manual())
    print(f"{PAGE}: the manual of version {__version__}")
