"""Five random splits of a benchmark file: a fifth of the videos to test, the rest to train.

    python scripts/random_splits.py tvsum.googlenet.h5 -o studies/splits.tvsum.json

They are drawn, not dealt: a video may be tested in several of them, or in none. `--splits` of train and benchmark takes
the file. Used to ask whether a recipe found on the standard splits holds on others.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from vastsum.data import load_dataset
from vastsum.files import write_json

N_SPLITS, SHARE = 5, 0.2


def random_splits(names: list[str], seed: int) -> list[dict[str, list[str]]]:
    rng = np.random.default_rng(seed)
    n = round(SHARE * len(names))
    orders = [[names[place] for place in rng.permutation(len(names))] for _ in range(N_SPLITS)]
    return [{"train": sorted(order[n:]), "test": sorted(order[:n])} for order in orders]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=2026)
    arguments = parser.parse_args()
    write_json(arguments.output, random_splits(list(load_dataset(arguments.data).videos), arguments.seed))


if __name__ == "__main__":
    main()
