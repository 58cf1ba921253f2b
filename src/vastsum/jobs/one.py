"""One video: how it is to be summarised, and the one function that makes its files."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from vastsum.export.writing import write_all
from vastsum.features import DEFAULT_BACKBONE
from vastsum.scoring.onnx_scorer import DEFAULT_SCORER
from vastsum.summarizer import DEFAULT_FPS, Summarizer
from vastsum.summary import Summary
from vastsum.types import Progress


@dataclass(frozen=True)
class Settings:
    """How a video is summarised, and what is made of it."""

    budget: str
    formats: tuple[str, ...]
    fps: float = DEFAULT_FPS
    backbone: str = DEFAULT_BACKBONE
    model: str = DEFAULT_SCORER
    weights: str | None = None
    copy: bool = False
    fast: bool = False
    device: str = "cpu"
    decoder: str = "default"
    speech: bool = True
    relative_media: bool = False

    def asked(self) -> dict[str, Any]:
        """What results depend on."""
        asked = {**asdict(self), "formats": list(self.formats)}
        del asked["device"]  # which gives the same numbers as any other
        return asked


@dataclass(frozen=True)
class Made:
    """`notes` say what a person should know of it, such as damage in the video; `watch_s` is how long watching took."""

    summary: Summary
    notes: tuple[str, ...]
    watch_s: float


@lru_cache(maxsize=1)
def load_models(settings: Settings, threads: int = 0) -> Summarizer:
    """They stay loaded for the next video. `threads` is how many cores may be used, 0 means all."""
    return Summarizer(
        backbone=settings.backbone,
        weights=settings.weights,
        model=settings.model,
        decoder=settings.decoder,
        speech=settings.speech,
        fps=settings.fps,
        fast=settings.fast,
        keyframe_cuts=settings.copy,
        device=settings.device,
        threads=threads,
    )


def summarize_one(
    source: Path,
    targets: Mapping[str, Path],
    settings: Settings,
    *,
    threads: int = 0,
    hide_place: bool = False,
    progress: Progress | None = None,
) -> Made:
    """Summarise a video and write the file of each format in `targets`.

    With `hide_place`, what is written names the video as `source` does and not by its absolute path.
    """
    report = progress or (lambda *_: None)
    report("loading models", 0.0, None)
    summarizer = load_models(settings, threads)
    start_s = time.perf_counter()
    summary = summarizer.summarize(source, settings.budget, progress=report)
    watch_s = time.perf_counter() - start_s
    if hide_place:
        summary = replace(summary, video=replace(summary.video, path=source))
    notes = summary.timeline.warnings if summary.timeline else ()
    written = write_all(
        summary,
        targets,
        copy=settings.copy,
        fast=settings.fast,
        relative_media=settings.relative_media,
        threads=threads,
        report=report,
    )
    return Made(summary, (*notes, *written), watch_s)
