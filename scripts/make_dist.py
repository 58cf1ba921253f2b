"""`make dist`: wheel and source distribution of the last commit in dist/, tried in clean environments.

Each is built twice and must come out the same to the bit. Then each is installed into a fresh environment of every
Python the project names that can be found here, and summarises a film there, without a network where the system lets us
take it away. Give the paths of interpreters to choose them: `python scripts/make_dist.py /opt/python3.14/bin/python`.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from vastsum.cli.demo import render
from vastsum.files import write_text

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
MAX_WHEEL_BYTES = 30_000_000


def main(interpreters: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = export_commit(folder / "source")
        first, second = (build(source, folder / run) for run in ("first", "second"))
        if first != second:
            sys.exit(f"two builds of one commit differ: {first} and {second}")
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(folder / "first", DIST)
        write_text(DIST / "SHA256SUMS", "".join(f"{digest}  {file}\n" for file, digest in first.items()))
        for file in sorted(DIST.iterdir()):
            print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")
        (wheel,) = DIST.glob("*.whl")
        if wheel.stat().st_size > MAX_WHEEL_BYTES:
            sys.exit(f"{wheel.name} is larger than {MAX_WHEEL_BYTES:,} bytes")
        film = folder / "film.mp4"
        render(film)
        try_everywhere(interpreters, film, folder)


def export_commit(folder: Path) -> Path:
    """What is committed, and nothing that merely lies about."""
    folder.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout
    bundle = folder.with_suffix(".tar")
    bundle.write_bytes(archive)
    with tarfile.open(bundle) as tar:
        tar.extractall(folder, filter="data")
    return folder


def build(source: Path, destination: Path) -> dict[str, str]:
    """File names and their checksums. All times in the archives are that of the commit."""
    epoch = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(destination), str(source)],
        env={**os.environ, "SOURCE_DATE_EPOCH": epoch},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(destination.iterdir())}


def try_everywhere(interpreters: Sequence[str], film: Path, folder: Path) -> None:
    found = {version_of(python): python for python in interpreters} if interpreters else dict(named_pythons())
    for version, python in found.items():
        if python is None:
            print(f"Python {version}: not tried, it is not installed here")
            continue
        for archive in sorted([*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")]):
            place = folder / f"{version}-{archive.suffix[1:]}"
            try_archive(python, archive, film, place)
            print(f"Python {version}: {archive.name} installs and summarises a film", flush=True)
            shutil.rmtree(place)
    if not any(found.values()):
        sys.exit("none of the Pythons that the project names is installed here")


def named_pythons() -> Iterator[tuple[str, str | None]]:
    """The versions that pyproject.toml promises, and where each is: on the path, or kept by pyenv."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    prefix = "Programming Language :: Python :: "
    for version in (line.removeprefix(prefix) for line in project["classifiers"] if line.startswith(prefix)):
        kept = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
        candidates = [shutil.which(f"python{version}"), *map(str, reversed(kept))]
        yield version, next((python for python in candidates if python and version_of(python) == version), None)


def version_of(python: str) -> str:
    asked = [python, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip()


def try_archive(python: str, archive: Path, film: Path, place: Path) -> None:
    subprocess.run([python, "-m", "venv", str(place)], check=True)
    scripts = place / "bin"
    subprocess.run([scripts / "pip", "install", "--quiet", "--disable-pip-version-check", str(archive)], check=True)
    shutil.copy(film, place)
    command = [*without_network(), str(scripts / "vastsum"), "summarize", film.name, "--formats=mp4,json,png,html"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(place)}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    wanted = {f"{film.stem}.summary.{ending}" for ending in ("mp4", "json", "png", "html")}
    missing = wanted - {path.name for path in place.iterdir() if path.stat().st_size}
    if not (place / "share" / "man" / "man1" / "vastsum.1").is_file():
        missing.add("the manual page")
    if done.returncode or missing:
        sys.exit(f"{archive.name} does not work under {python}: without {missing}\n{done.stdout}{done.stderr}")


def without_network() -> list[str]:
    """A command that runs another without any network at all, where that is allowed."""
    command = ["unshare", "--net"]
    allowed = shutil.which("unshare") and not subprocess.run([*command, "true"], capture_output=True).returncode
    return command if allowed else []


if __name__ == "__main__":
    main(sys.argv[1:])
