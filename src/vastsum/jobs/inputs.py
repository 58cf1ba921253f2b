"""Which videos are meant: files, folders, and manifests that list them.

A manifest is a CSV file, a JSONL file or a Parquet table with a column `source` (or `video`, `path`, `url`) of paths
and URLs, and where wanted a column `name`: what the results are called, with / for folders.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from vastsum.errors import ConfigError, MissingExtraError, VastsumError
from vastsum.jobs.places import base_name, check_packages, is_url, read_bytes, videos_at
from vastsum.video.suffixes import looks_like_a_video, videos_in

_SOURCE_COLUMNS = ("source", "video", "path", "url")
_MANIFESTS = {".csv", ".jsonl", ".ndjson", ".parquet"}


@dataclass(frozen=True)
class Item:
    """One video, and what its results are called: a path below the folder of results, without an ending."""

    source: str
    name: str

    def refusal(self) -> VastsumError | None:
        """Why nobody need try: a manifest may hold what no file can be called."""
        for text in (self.source, self.name):
            try:
                if "\0" not in text and os.fsencode(text):
                    continue
            except UnicodeEncodeError:
                pass
            return VastsumError(self.source, f"{text!r} cannot be the name of a file", "correct it in the manifest")
        return None


def is_manifest(named: str) -> bool:
    return PurePosixPath(base_name(named)).suffix.lower() in _MANIFESTS


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # what is wrong with it is said when it is opened
        return False


def find_videos(named: Iterable[Path]) -> list[Path]:
    """Files as they are named; of folders, the videos in and below them, less the summaries made of them earlier."""
    found: dict[Path, None] = {}
    for path in named:
        found |= dict.fromkeys(videos_in(path) if is_folder(path) else [path])
    return list(found)


def find_items(named: Iterable[str]) -> list[Item]:
    """In the order they are named, each once. Of a folder all videos in and below it, with its folders."""
    found: dict[Item, None] = {}
    for each in named:
        found |= dict.fromkeys(_items_of(each))
    # What is missing for a whole store is said once, and not of every video in it.
    for url in {item.source.partition("://")[0]: item.source for item in found if is_url(item.source)}.values():
        check_packages(url)
    return list(found)


def _items_of(named: str) -> Sequence[Item]:
    if is_manifest(named):
        return _listed(named)
    if is_url(named):
        return [Item(named, _stem(named))] if looks_like_a_video(PurePosixPath(base_name(named))) else _below(named)
    path = Path(named)
    if not is_folder(path):
        return [Item(named, _stem(named))]
    return [Item(str(video), _after(PurePosixPath(video.relative_to(path)))) for video in videos_in(path)]


def _below(url: str) -> list[Item]:
    base = url.rstrip("/") + "/"
    found = videos_at(url, looks_like_a_video)
    if not found:
        raise ConfigError(url, "holds no videos", "name the files themselves, or list them in a manifest")
    return [
        Item(video, _after(PurePosixPath(video.removeprefix(base))))
        if video.startswith(base)
        else Item(video, _stem(video))
        for video in found
    ]


def _listed(manifest: str) -> list[Item]:
    items = []
    for where, row in _rows(manifest):
        source = next((row[column] for column in _SOURCE_COLUMNS if row.get(column)), None)
        if not isinstance(source, str):
            columns = ", ".join(_SOURCE_COLUMNS)
            raise ConfigError(where, "names no video", f"give its path or URL in a column called one of: {columns}")
        items.append(Item(_from(manifest, source), _name(where, source, row.get("name"))))
    if not items:
        raise ConfigError(manifest, "lists no videos", "give one a line, below a line that names the columns")
    return items


def _rows(manifest: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row with words for where it stands."""
    content, ending = read_bytes(manifest), PurePosixPath(base_name(manifest)).suffix.lower()
    if ending == ".parquet":
        rows: Iterable[Any] = _parquet_rows(manifest, content)
        first = 1
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(manifest, f"is not UTF-8 text ({error.reason})", "save it as UTF-8") from error
        rows = csv.DictReader(io.StringIO(text, newline="")) if ending == ".csv" else _json_rows(manifest, text)
        first = 2 if ending == ".csv" else 1
    try:
        for n, row in enumerate(rows, first):
            where = f"{manifest}, row {n}"
            if isinstance(row, str):
                row = {"source": row}
            if not isinstance(row, dict):
                raise ConfigError(where, "is neither an object nor a text", 'write {"source": "video.mp4"}')
            yield where, row
    except csv.Error as error:
        raise ConfigError(manifest, f"is no CSV table ({error})", "check its quotes") from error


def _json_rows(manifest: str, text: str) -> Iterator[Any]:
    for n, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ConfigError(f"{manifest}, line {n}", f"is no JSON ({error})", "give one value a line") from error


def _parquet_rows(manifest: str, content: bytes) -> list[dict[str, Any]]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "scale") from error
    try:
        return parquet.read_table(io.BytesIO(content)).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise ConfigError(manifest, "is no Parquet table that can be read", "write it again") from error


def _from(manifest: str, source: str) -> str:
    """A relative path is meant from where the manifest lies."""
    if is_url(source) or Path(source).is_absolute():
        return source
    if is_url(manifest):
        return f"{manifest.rpartition('/')[0]}/{source}"
    return str(Path(manifest).parent / source)


def _name(where: str, source: str, asked: object) -> str:
    """As asked for; else a relative path as it stands, and of any other the last part."""
    if asked:
        if not isinstance(asked, str) or not _stays_below(asked):
            raise ConfigError(where, f"'{asked}' is no name for results", "give a relative path without '..'")
        return asked
    if is_url(source) or not _stays_below(source):
        return _stem(source)
    return _after(PurePosixPath(source))


def _stays_below(path: str) -> bool:
    """Whether a name, as the name of a result, leads nowhere but below the folder of results."""
    return not Path(path).is_absolute() and ".." not in PurePosixPath(path).parts and PurePosixPath(path).name != ""


def _stem(source: str) -> str:
    return _after(PurePosixPath(base_name(source) or "video"))


def _after(video: PurePosixPath) -> str:
    """The video's path without its ending. One called "...mp4" must not lead to the folder above."""
    return (video.with_name("video") if video.stem == ".." else video.with_suffix("")).as_posix()
