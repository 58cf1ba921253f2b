"""A video in, a summary out: the rooms in the order data walks through them."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from numbers import Real
from pathlib import Path
from threading import Event

import numpy as np

from vastsum.errors import ConfigError
from vastsum.export import read_budget
from vastsum.features import DEFAULT_BACKBONE, load_backbone
from vastsum.features.watching import Watched, watch
from vastsum.scoring.onnx_scorer import DEFAULT_SCORER, load_scorer
from vastsum.segmentation import DEFAULT_SEGMENTER, LONGEST_S, at_good_places, max_segment_s, segment, snap
from vastsum.selection.decode import DECODERS, DEFAULT_BUDGET
from vastsum.selection.fill import PAUSE_REACH_S
from vastsum.selection.spread import even_sample, fade_repeats, stands_out
from vastsum.sound import Speech, find_speech
from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import PAPER_DECODER, Marks, Prediction, Progress, Stretch
from vastsum.video import Shots, Timeline, probe

DEFAULT_FPS = 2.0
STILL_FROM_S, PICTURE_S = 0.5, 10.0  # a picture stands still from where it comes on, and not for longer
SILENCE = Speech(np.zeros(0, np.uint8), np.zeros(0, np.uint8))


class Summarizer:
    """Keeps the models loaded, for many videos.

    `backbone` and `model` are names or, for the model, the path of an .onnx file; `weights` is the path of a backbone's
    weights where they are not embedded. `fast` looks at key frames only. `keyframe_cuts` lets segments start at key
    frames alone, so that a summary can be copied out of the video without encoding; `fast` implies it. `threads` is how
    many cores watching may use; 0 means all. `decoder` says how segments are valued: 'default', or 'paper' by their
    mean importance. With `speech`, cuts move to where nobody is in the middle of a word. `device` is cpu, auto
    (CUDA where it is available), or another execution provider of ONNX Runtime by name; one that cannot be used here is
    replaced by the CPU, with a warning in the log.
    """

    def __init__(
        self,
        *,
        backbone: str = DEFAULT_BACKBONE,
        weights: str | os.PathLike[str] | None = None,
        model: str | os.PathLike[str] = DEFAULT_SCORER,
        segmenter: str = DEFAULT_SEGMENTER,
        decoder: str = "default",
        speech: bool = True,
        fps: float = DEFAULT_FPS,
        fast: bool = False,
        keyframe_cuts: bool = False,
        device: str = "cpu",
        threads: int = 0,
    ) -> None:
        if not 0 < fps < float("inf"):
            raise ConfigError("fps", f"{fps} is not a sampling rate", "give a number above 0, such as 2")
        if decoder not in DECODERS:
            raise ConfigError("decoder", f"'{decoder}' is not known", f"choose from {', '.join(DECODERS)}")
        self.backbone = load_backbone(
            backbone, Path(weights) if weights else None, device=device, threads=threads or None
        )
        scorer = model if isinstance(model, str) else Path(model)
        self.scorer = load_scorer(scorer, device=device, threads=threads)
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
        self.speech = speech

    def summarize(
        self,
        video: str | os.PathLike[str],
        budget: float | str = DEFAULT_BUDGET,
        *,
        progress: Progress | None = None,
    ) -> Summary:
        """Summarise one video. `budget` is a share of it (0.15, "15%") or a length ("90s", "1:30").

        A video shorter than the length is kept whole, and the timeline's warnings say so.
        """
        if not isinstance(budget, str | Real):
            problem = f"{budget!r} is neither a share of the video nor a length"
            raise ConfigError("budget", problem, 'give a number such as 0.15, or a text such as "15%" or "90s"')
        # Positional, since str(0.00001) would be "1e-05".
        asked = read_budget(budget if isinstance(budget, str) else np.format_float_positional(float(budget), trim="-"))
        report = progress or (lambda *_: None)
        info = probe(video)
        watched, speech = self._watch_and_listen(video, report)
        features, picks, timeline, shots = watched
        share, of_budget = asked.fraction_of(timeline.duration_s), asked.warnings(timeline.duration_s)
        timeline = replace(timeline, warnings=(*info.warnings, *timeline.warnings, *speech.warnings, *of_budget))
        marks = marks_of(shots, speech, timeline)

        report("segmenting", 0, None)
        longest_s = min(max_segment_s(timeline.duration_s, share), LONGEST_S)
        max_s = longest_s if self.keyframe_cuts else None
        segments = segment(features, picks, timeline.n_frames, timeline.fps, segmenter=self.segmenter, max_s=max_s)
        if self.keyframe_cuts:
            segments = snap(segments, timeline.keyframes)
        else:
            pause_near = partial(pause_frame, speech, timeline) if marks.speech else None
            segments = at_good_places(segments, marks, fades=shots.fades, pause_near=pause_near, max_s=longest_s)

        report("scoring", 0, None)
        prediction = self.scorer.predict(features, segments)
        stands = stands_out(prediction.mean, features)
        if self.decoder == PAPER_DECODER:
            prediction = _above_zero(prediction)
        else:
            scores = fade_repeats(prediction.mean, features, timeline.times_s[picks])
            prediction = replace(prediction, mean=scores if stands else even_sample(segments))
        return Summary.choose(
            SourceVideo.of(info, timeline),
            self.model,
            prediction,
            segments,
            share,
            decoder=self.decoder,
            timeline=timeline,
            marks=marks,
            nothing_stands_out=not stands and self.decoder != PAPER_DECODER,
        )

    def _watch_and_listen(self, video: str | os.PathLike[str], report: Progress) -> tuple[Watched, Speech]:
        """Both at the same time. At key frames there is no room to move a cut, so nobody listens."""
        stop = Event()
        with ThreadPoolExecutor(1) as pool:
            listens = self.speech and not self.keyframe_cuts
            heard = pool.submit(find_speech, video, stop=stop) if listens else None
            try:
                watched = watch(
                    video,
                    self.backbone,
                    self.fps,
                    keyframes_only=self.fast,
                    threads=self.threads,
                    progress=partial(report, "watching"),
                )
                return watched, heard.result() if heard else SILENCE
            finally:
                stop.set()  # whatever happened: the pool waits for its thread


def pause_frame(speech: Speech, timeline: Timeline, frame: int) -> int | None:
    pause_s = speech.pause_near(float(timeline.times_s[frame]), PAUSE_REACH_S)
    return None if pause_s is None else timeline.frame_at(pause_s)


def marks_of(shots: Shots, speech: Speech, timeline: Timeline) -> Marks:
    """Seconds of sound become frames of the picture."""
    spoken: list[Stretch] = []
    for start_s, end_s in speech.spans:
        free = spoken[-1].last_frame + 1 if spoken else 0  # at few frames a second, spans may meet in one
        first, last = max(timeline.frame_at(start_s), free), timeline.frame_at(end_s)
        spoken += [Stretch(first, last)] if first <= last else []
    pauses = {
        pause_frame(speech, timeline, frame)
        for one in spoken
        for frame in range(one.first_frame, one.last_frame + 1, max(round(PAUSE_REACH_S * timeline.fps), 1))
    }
    rests = {timeline.frame_at(rest_s) for rest_s in speech.rests}
    empty = tuple(one for one in shots.dead if not _is_picture(one, shots, timeline))
    places = sorted(frame for frame in pauses | rests if frame)
    return Marks(tuple(shots.cuts.tolist()), tuple(places), tuple(spoken), empty)


def _is_picture(still: Stretch, shots: Shots, timeline: Timeline) -> bool:
    """Whether a frozen stretch is a picture that is shown, as in a slide show: still from where its shot begins."""
    begins = [0, *shots.cuts.tolist(), *(fade.last_frame + 1 for fade in shots.fades)]
    lasts_s = (still.last_frame + 1 - still.first_frame) / timeline.fps
    comes_on = any(abs(still.first_frame - begin) <= STILL_FROM_S * timeline.fps for begin in begins)
    return still.kind == "frozen" and lasts_s < PICTURE_S and comes_on


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
