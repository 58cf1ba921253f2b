"""Lists of videos for the command that takes many: CSV, and one JSON value a line."""

from __future__ import annotations

from pathlib import Path

from fuzz.mutation import text_mutator
from fuzz.target import Target
from vastsum.jobs.inputs import find_items

_WORDS = ("source", "video", "path", "url", "name", ",", '"', "\n", "\r", "..", "/", "s3://b/", "http://h/a.mp4", "{",
          "}", '{"source": "a.mp4"}', ":", "null", "[]", "NaN", "\0", "\ufeff", "a.mp4", "\\", "[" * 3000)  # fmt: skip


def seeds(_: Path) -> list[bytes]:
    return [
        b"source,name\na.mp4,first\nhttp://host/b.mp4,\n",
        b'{"source": "a.mp4", "name": "x/y"}\n"b.mp4"\n{"url": "s3://bucket/c.mp4"}\n',
    ]


def use(path: Path) -> None:
    data = path.read_bytes()
    ending = ".jsonl" if data.lstrip().startswith((b"{", b'"', b"[")) else ".csv"
    renamed = path.with_suffix(ending)
    renamed.write_bytes(data)
    for item in find_items([str(renamed)]):
        assert ".." not in Path(item.name).parts, item
        assert not Path(item.name).is_absolute(), item


TARGET = Target("manifest.txt", seeds, use, text_mutator(_WORDS))
