"""Where the commands print: results to standard output, everything else to standard error."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

results = Console(highlight=False)
errors = Console(stderr=True, highlight=False)


def shown(text: object) -> str:
    """As it can be printed on one line: file names may hold line breaks, markup, and bytes that are no Unicode."""
    return escape("".join(c if c.isprintable() else "?" for c in str(text)))
