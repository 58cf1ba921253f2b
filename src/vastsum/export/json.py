"""summary.json: everything about a summary, to be read by programs and, at a pinch, by people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vastsum.export.schema import to_dict
from vastsum.files import write_text
from vastsum.summary import Summary


def write_json(summary: Summary, destination: Path) -> None:
    content = to_dict(summary, destination)
    text = _laid_out(content, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a file name that is not Unicode survives in escaped form only
        text = _laid_out(content, ensure_ascii=True)
    write_text(destination, text)


def _laid_out(content: dict[str, Any], ensure_ascii: bool) -> str:
    """One line a key and one a segment: lists of numbers would otherwise run over thousands of lines."""

    def line(value: object) -> str:
        return json.dumps(value, ensure_ascii=ensure_ascii, allow_nan=False)

    def block(key: str, value: Any) -> str:
        if key != "segments":
            return f" {line(key)}: {line(value)}"
        return f" {line(key)}: [\n" + ",\n".join(f"  {line(row)}" for row in value) + "\n ]"

    return "{\n" + ",\n".join(block(key, value) for key, value in content.items()) + "\n}\n"
