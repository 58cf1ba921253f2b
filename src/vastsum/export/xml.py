"""What all formats of XML share."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from vastsum.files import write_text


def child(parent: Element, tag: str, text: object = None, /, **attributes: object) -> Element:
    """A new last child; a trailing underscore of an attribute's name (in_) is dropped."""
    made = ElementTree.SubElement(parent, tag, {name.rstrip("_"): str(value) for name, value in attributes.items()})
    if text is not None:
        made.text = str(text)
    return made


def write_xml(root: Element, destination: Path, doctype: str = "") -> None:
    ElementTree.indent(root)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n' + (f"<!DOCTYPE {doctype}>\n" if doctype else "")
    write_text(destination, f"{head}{ElementTree.tostring(root, encoding='unicode')}\n")
