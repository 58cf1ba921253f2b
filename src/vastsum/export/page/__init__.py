"""The static files of the pages, and how they become one file that opens from disk.

`timeline.js` tells how a page uses the timeline. The scripts are plain ones: the report inlines them, a server may hand
them out as they are.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from vastsum.errors import VastsumError

STATIC = Path(__file__).parent
TIMELINE_STYLES = ("theme.css", "timeline.css")
TIMELINE_SCRIPTS = ("theme.js", "common.js", "knapsack.js", "draft.js", "painter.js", "timeline.js")


def self_contained(
    *, title: str, body: str | Path, styles: Sequence[str | Path], scripts: Sequence[str | Path], data: Any
) -> str:
    """A page in one file: styles and scripts inlined, `data` for the scripts to read, nothing else allowed to run.

    `body` names a file of HTML; files of this folder are given by name, others by their path. `title` and `data` may
    hold anything, as both are escaped. The page's policy names its one script and its one style by their hashes, lets
    pictures be embedded, and reaches out for nothing but the video.
    """
    style, script = ("\n".join(read(name) for name in names) for names in (styles, scripts))
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {_source(script)}",
            f"style-src {_source(style)}",
            "img-src data:",
            "media-src 'self' file: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
{read(body)}
<script type="application/json" id="data">{_embedded(data)}</script>
<script>{script}</script>
</body>
</html>
"""


def read(name: str | Path) -> str:
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except OSError as error:
        problem = f"this part of the program cannot be read ({error.strerror})"
        raise VastsumError(STATIC / name, problem, "check the disk, or reinstall vastsum") from error


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _embedded(data: Any) -> str:
    """JSON that cannot end the element it stands in, whatever texts it holds."""
    return json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
