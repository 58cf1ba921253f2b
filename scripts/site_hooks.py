"""What mkdocs is told beside mkdocs.yml: the pages that lie at the top of the repository are pages of the site too."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    for name, page in TOP.items():
        files.append(File.generated(config, page, content=relinked((ROOT / name).read_text(encoding="utf-8"))))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Documents name the pages at the top as they lie on disk."""
    for name, page in TOP.items():
        markdown = markdown.replace(f"](../{name}", f"]({page}")
    return markdown


def relinked(text: str) -> str:
    """Links as they are from within docs/, where these pages seem to lie."""
    text = re.sub(r'(\]\(|src="|srcset=")docs/', r"\1", text)
    for name, page in TOP.items():
        text = text.replace(f"]({name})", f"]({page})")
    return text
