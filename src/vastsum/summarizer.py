"""A video in, a summary out: the rooms in the order data walks through them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from vastsum.errors import ConfigError
from vastsum.export import read_budget
from vastsum.features import DEFAULT_BACKBONE, load_backbone
from vastsum.features.watching import watch
from vastsum.scorers.onnx_scorer import DEFAULT_SCORER, load_scorer
from vastsum.segmentation import DEFAULT_SEGMENTER, max_segment_s, segment, snap
from vastsum.selection.decode import DECODERS, DEFAULT_BUDGET
from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import PAPER_DECODER, Prediction
from vastsum.video import probe

Progress = Callable[[str, float, float | None], None]
"""Told as work goes on: the stage, how much of it is done, and of how much in all where that is known."""

DEFAULT_FPS = 2.0


class Summarizer:
    """Keeps the models loaded, for many videos.

    `backbone` and `model` are names or, for the model, the path of an .onnx file; `weights` is the path of a backbone's
    weights where they are not embedded. `fast` looks at key frames only. `keyframe_cuts` lets segments start at key
    frames alone, so that a summary can be copied out of the video without encoding; `fast` implies it. `threads` is how
    many cores watching may use; 0 means all. `decoder` says how segments are valued: 'default', or 'paper' by their
    mean importance. `device` is cpu, cuda, or auto: the GPU where there is one. `runtime` is
    the library to compute with, 'onnxruntime' or 'torch'; by default the first that has the device.
    """

    def __init__(
        self,
        *,
        backbone: str = DEFAULT_BACKBONE,
        weights: str | os.PathLike[str] | None = None,
        model: str | os.PathLike[str] = DEFAULT_SCORER,
        segmenter: str = DEFAULT_SEGMENTER,
        decoder: str = "default",
        fps: float = DEFAULT_FPS,
        fast: bool = False,
        keyframe_cuts: bool = False,
        device: str = "cpu",
        threads: int = 0,
        runtime: str | None = None,
    ) -> None:
        if not 0 < fps < float("inf"):
            raise ConfigError("fps", f"{fps} is not a sampling rate", "give a number above 0, such as 2")
        if decoder not in DECODERS:
            raise ConfigError("decoder", f"'{decoder}' is not known", f"choose from {', '.join(DECODERS)}")
        self.backbone = load_backbone(
            backbone, Path(weights) if weights else None, device=device, threads=threads or None, runtime=runtime
        )
        scorer = model if isinstance(model, str) else Path(model)
        self.scorer = load_scorer(scorer, device=device, threads=threads, runtime=runtime)
        if self.scorer.feature_width != self.backbone.width:
            raise ConfigError(
                f"model {model}",
                f"takes features of width {self.scorer.feature_width}, {backbone} gives {self.backbone.width}",
                "use the backbone it was trained with",
            )
        self.model = ModelNames(scorer=str(model), backbone=backbone)
        self.decoder = DECODERS[decoder]
        self.segmenter, self.fps, self.fast, self.threads = segmenter, fps, fast, threads
        self.keyframe_cuts = keyframe_cuts or fast

    def summarize(
        self,
        video: str | os.PathLike[str],
        budget: float | str = DEFAULT_BUDGET,
        *,
        progress: Progress | None = None,
    ) -> Summary:
        """Summarise one video. `budget` is a share of it (0.15, "15%") or a length ("90s", "1:30")."""
        # Positional, since str(0.00001) would be "1e-05".
        asked = read_budget(budget if isinstance(budget, str) else np.format_float_positional(budget))
        report = progress or (lambda *_: None)
        info = probe(video)
        features, picks, timeline, _ = watch(
            video,
            self.backbone,
            self.fps,
            keyframes_only=self.fast,
            threads=self.threads,
            progress=lambda done_s, total_s: report("watching", done_s, total_s),
        )
        timeline = replace(timeline, warnings=(*info.warnings, *timeline.warnings))
        share = asked.fraction_of(timeline.duration_s)
        report("segmenting", 0, None)
        longest_s = max_segment_s(timeline.duration_s, share)
        segments = segment(features, picks, timeline.n_frames, timeline.fps, segmenter=self.segmenter, max_s=longest_s)
        if self.keyframe_cuts:
            segments = snap(segments, timeline.keyframes)
        report("scoring", 0, None)
        prediction = self.scorer.predict(features, segments)
        if self.decoder == PAPER_DECODER:
            prediction = _above_zero(prediction)
        source = SourceVideo.of(info, timeline)
        return Summary.choose(source, self.model, prediction, segments, share, decoder=self.decoder, timeline=timeline)


def _above_zero(prediction: Prediction) -> Prediction:
    """The same order of frames with every importance positive; above 0.2 nothing changes to speak of.

    A knapsack never takes what has no value, and the paper's decoder values a segment by its mean. But a video that the
    scorer finds dull throughout, below 0 on the scale of people's scores, is to be summarised to its full budget like
    any other.
    """
    softness = 0.05
    return replace(prediction, mean=softness * np.logaddexp(0.0, prediction.mean / softness))


def summarize(
    video: str | os.PathLike[str],
    budget: float | str = DEFAULT_BUDGET,
    *,
    backbone: str = DEFAULT_BACKBONE,
    weights: str | os.PathLike[str] | None = None,
    model: str | os.PathLike[str] = DEFAULT_SCORER,
    fps: float = DEFAULT_FPS,
    fast: bool = False,
    device: str = "cpu",
) -> Summary:
    """Summarise one video: `vastsum.summarize("holiday.mp4").save("holiday.summary.mp4")`."""
    summarizer = Summarizer(backbone=backbone, weights=weights, model=model, fps=fps, fast=fast, device=device)
    return summarizer.summarize(video, budget)
