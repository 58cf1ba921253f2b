"""Which videos a folder or a manifest means, and what their results are called."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from vastsum.errors import ConfigError
from vastsum.jobs.inputs import Item, find_items

ROWS = [
    {"source": "a.mp4", "name": ""},
    {"source": "trip/day 1.mp4", "name": ""},
    {"source": "/elsewhere/b.mp4", "name": "best/b"},
    {"source": "/elsewhere/c.v2.mp4", "name": ""},
    {"source": "../up.mp4", "name": ""},
    {"source": "https://host/films/d%20e.mp4?key=1", "name": ""},
    {"source": "memory://bucket/f.mp4", "name": ""},
]
NAMES = ["a", "trip/day 1", "best/b", "c.v2", "up", "d e", "f"]


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["source", "name"])
        writer.writeheader()
        writer.writerows(ROWS)


def write_jsonl(path: Path) -> None:
    path.write_text("\n\n".join(json.dumps(row if row["name"] else row["source"]) for row in ROWS))


def write_parquet(path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.Table.from_pylist([{**row, "name": row["name"] or None} for row in ROWS]), path)


@pytest.mark.parametrize("write", [write_csv, write_jsonl, write_parquet])
def test_manifests_of_all_kinds_say_the_same(tmp_path: Path, write: Callable[[Path], None]) -> None:
    manifest = tmp_path / f"films.{write.__name__.removeprefix('write_')}"
    write(manifest)
    items = find_items([str(manifest)])
    assert [item.name for item in items] == NAMES
    assert items[0].source == str(tmp_path / "a.mp4"), "a relative path is meant from where the manifest lies"
    assert [item.source for item in items[2:4]] == ["/elsewhere/b.mp4", "/elsewhere/c.v2.mp4"]
    assert items[5].source == ROWS[5]["source"]


def test_folders_keep_their_folders_and_nothing_comes_twice(tmp_path: Path) -> None:
    for name in ("a.mp4", "day 1/a.mkv", "day 1/a.summary.mp4", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = find_items([str(tmp_path), str(tmp_path / "a.mp4")])
    assert found == [Item(str(tmp_path / "a.mp4"), "a"), Item(str(tmp_path / "day 1/a.mkv"), "day 1/a")]


def test_folders_elsewhere(tmp_path: Path) -> None:
    for name in ("a.mp4", "day 1/b.mkv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    url = tmp_path.as_uri()
    assert [(item.source, item.name) for item in find_items([url])] == [
        (f"{url}/a.mp4", "a"),
        (f"file://{tmp_path}/day 1/b.mkv", "day 1/b"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "lists no videos"),
        ("a.csv", b"source\n", "lists no videos"),
        ("a.csv", b"film\na.mp4\n", "row 2: names no video"),
        ("a.csv", b"source\n\xff\n", "not UTF-8"),
        ("a.csv", b"source,name\na.mp4,../b\n", "row 2: '../b' is no name"),
        ("a.csv", b"source,name\na.mp4,/b\n", "is no name"),
        ("a.jsonl", b'"a.mp4"\n{"source"\n', "line 2: is no JSON"),
        ("a.jsonl", b"[1]\n", "row 1: is neither an object nor a text"),
        ("a.jsonl", b'{"source": 3}\n', "names no video"),
        ("a.parquet", b"PAR1 not", "no Parquet table"),
        ("a.csv", None, "no such file"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(
    tmp_path: Path, name: str, content: bytes | None, words: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=words) as refused:
        find_items([str(tmp_path / name)])
    assert str(tmp_path / name) in str(refused.value)


@pytest.mark.parametrize(("url", "words"), [("nosuch://a/b/", "no address"), ("memory://empty/", "holds no videos")])
def test_addresses_that_lead_nowhere(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        find_items([url])
