"""One benchmark file with the features of several, side by side: what would two backbones see together?

    python studies/side_by_side.py tvsum.googlenet.h5 tvsum.efficientnet_lite0.h5 -o tvsum.both.h5

The files must hold the same videos at the same picks; all but the features is the first one's.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import h5py
import numpy as np


def side_by_side(files: list[Path], output: Path) -> None:
    temporary = output.with_name(f"{output.name}.part")
    shutil.copyfile(files[0], temporary)
    with h5py.File(temporary, "r+") as whole:
        for path in files[1:]:
            with h5py.File(path, "r") as other:
                if set(other) != set(whole):
                    raise SystemExit(f"{path}: holds other videos than {files[0]}")
                for name, video in whole.items():
                    if not np.array_equal(video["picks"][:], other[name]["picks"][:]):
                        raise SystemExit(f"{path}: {name} was sampled at other frames than in {files[0]}")
                    joined = np.concatenate([video["features"][:], other[name]["features"][:]], axis=1)
                    del video["features"]
                    video["features"] = joined
    temporary.replace(output)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    side_by_side(arguments.data, arguments.output)


if __name__ == "__main__":
    main()
