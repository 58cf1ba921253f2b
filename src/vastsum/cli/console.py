"""Where the commands print: results to standard output, everything else to standard error."""

from rich.console import Console

results = Console(highlight=False)
errors = Console(stderr=True, highlight=False)
