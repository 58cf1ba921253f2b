"""Spoiled files for everything that reads one. `python scripts/fuzz.py --help` tells how it is run."""
