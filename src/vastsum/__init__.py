"""VASTSum: any video in, a summary out, and how sure it is.

summary = vastsum.summarize("holiday.mp4", budget=0.15)
summary.save("holiday.summary.mp4")
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vastsum.summarizer import Summarizer, summarize
    from vastsum.summary import Summary

__version__ = "0.1.0"

__all__ = ["Summarizer", "Summary", "__version__", "summarize"]

_HOMES = {"summarize": "vastsum.summarizer", "Summarizer": "vastsum.summarizer", "Summary": "vastsum.summary"}


def __getattr__(name: str) -> Any:
    # Decoders and ONNX Runtime are loaded when they are first asked for: `vastsum --help` answers at once.
    if name not in _HOMES:
        raise AttributeError(f"module 'vastsum' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)
