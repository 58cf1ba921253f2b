"""The documentation as a site: `python scripts/build_site.py [FOLDER]`, or `make site`.

FOLDER/0.1.0/         the site of this version; those of other versions beside it stay as they are
FOLDER/versions.json  what the switch between versions offers, the newest first
FOLDER/index.html     leads to the newest

The layout is that of `mike`, which could take over where a site is published from a branch.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from vastsum import __version__
from vastsum.files import write_json, write_text

ROOT = Path(__file__).resolve().parents[1]
INDEX = """<!doctype html>
<meta charset="utf-8">
<title>VASTSum</title>
<link rel="icon" href="{newest}/assets/images/favicon.png">
<meta http-equiv="refresh" content="0; url={newest}/index.html">
<a href="{newest}/index.html">VASTSum {newest}</a>
"""


def build_site(folder: Path) -> None:
    # Not --quiet: warnings that are not said are not counted either, and --strict lets them pass.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder / __version__)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, check=True)
    versions = sorted((path.name for path in folder.iterdir() if path.is_dir()), key=_numbers, reverse=True)
    rows = [{"version": version, "title": version, "aliases": []} for version in versions]
    write_json(folder / "versions.json", rows)
    write_text(folder / "index.html", INDEX.format(newest=versions[0]))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


if __name__ == "__main__":
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "site").resolve()
    try:
        build_site(place)
    except subprocess.CalledProcessError:
        sys.exit("the site was not built: see above")
    print(f"{place / 'index.html'}: the documentation of version {__version__}")
