"""The command line. Each command parses its arguments, calls one function and prints; heavy imports wait until then."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the program. Ctrl-C ends it without a traceback even while it is loaded."""
    try:
        from vastsum.cli.app import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
