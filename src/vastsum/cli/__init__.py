"""The command line. Each command parses its arguments, calls one function and prints; heavy imports wait until then."""

from vastsum.cli.app import main

__all__ = ["main"]
