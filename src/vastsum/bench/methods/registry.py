"""The methods of the bench, by name: a line each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from vastsum.bench.data import BenchmarkVideo
from vastsum.bench.methods.a2summ import A2summ
from vastsum.bench.methods.ac_sum_gan import AcSumGan
from vastsum.bench.methods.clip_it import ClipIt
from vastsum.bench.methods.constant import ConstantScorer
from vastsum.bench.methods.csta import Csta, Weights, read_imagenet
from vastsum.bench.methods.dmasum import Dmasum
from vastsum.bench.methods.dsnet import AnchorBased, AnchorFree
from vastsum.bench.methods.kernel_ridge import KernelRidgeScorer
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.bench.methods.maam import Aaam, Maam
from vastsum.bench.methods.pgl_sum import PglSum
from vastsum.bench.methods.recipes import OF_OURS, OF_THE_PAPER, load_config
from vastsum.bench.methods.ridge import choose_ridge
from vastsum.bench.methods.sspvs import Sspvs
from vastsum.bench.methods.sum_gan import SumGan
from vastsum.bench.methods.summdiff import Summdiff
from vastsum.bench.methods.vasnet import Vasnet
from vastsum.bench.methods.vastsum import Config, VastsumMethod
from vastsum.bench.methods.vss_net import VssNet
from vastsum.errors import ConfigError
from vastsum.features.relative import N_CHANNELS
from vastsum.scoring.base import Scorer
from vastsum.types import FloatArray, Kind, Prediction, Segments

Learn = Callable[[Kind], LearnedMethod]
"""A method that learns by gradient descent, set up for one kind of annotation."""

Fit = Callable[[Sequence[BenchmarkVideo]], Scorer]
"""A scorer fitted to training videos at one go: no epochs, no seeds."""


@dataclass(frozen=True)
class Entry:
    """`title` is its name in tables; `missing` says why there is a row without numbers. One that is `relative` is given
    relative channels beside the features."""

    title: str
    learn: Learn | None = None
    fit: Fit | None = None
    note: str = ""
    missing: str = ""
    relative: bool = False


def _vastsum(title: str, ablation: str | None = None, note: str = "") -> Entry:
    relative = load_config(ablation=ablation).network.relative
    return Entry(title, lambda kind: VastsumMethod(load_config(ablation=ablation, kind=kind)), None, note, "", relative)


def _fit_ridge(videos: Sequence[BenchmarkVideo]) -> Scorer:
    return choose_ridge([(video.features, video.annotations) for video in videos])


class _ChannelsAlone:
    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer

    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        return self._scorer.predict(features[:, -N_CHANNELS:], segments)


def _fit_channels(videos: Sequence[BenchmarkVideo]) -> Scorer:
    return _ChannelsAlone(choose_ridge([(video.features[:, -N_CHANNELS:], video.annotations) for video in videos]))


def _fit_kernel_ridge(videos: Sequence[BenchmarkVideo]) -> Scorer:
    return KernelRidgeScorer.fit([(video.features, video.annotations) for video in videos])


METHODS: dict[str, Entry] = {
    "length": Entry("Length only", fit=lambda _: ConstantScorer(), note="the knapsack on constant scores"),
    "ridge": Entry("Ridge", fit=_fit_ridge, note="λ and smoothing chosen on training folds"),
    "channels": Entry(
        "Ridge on the channels alone", fit=_fit_channels, note="no picture: relative channels only", relative=True
    ),
    "kernel-ridge": Entry("Kernel ridge", fit=_fit_kernel_ridge, note="settings found on TVSum's validation videos"),
    "vasnet": Entry("VASNet", lambda _: Vasnet()),
    "pgl-sum": Entry("PGL-SUM", lambda _: PglSum()),
    "dsnet-ab": Entry("DSNet-AB", lambda _: AnchorBased()),
    "dsnet-af": Entry("DSNet-AF", lambda _: AnchorFree()),
    "csta": Entry("CSTA", lambda _: Csta(), note="without ImageNet weights"),
    "summdiff": Entry("SummDiff", Summdiff),
    "a2summ": Entry("A2Summ", A2summ, note="visual only: the benchmark has no text"),
    "maam": Entry("MAAM", lambda _: Maam(), note="from what it is cited for: its full text was not at hand"),
    "aaam": Entry("AAAM", lambda _: Aaam(), note="from what it is cited for: its full text was not at hand"),
    "sspvs": Entry("SSPVS", Sspvs, note="without its text and its pretraining"),
    "dmasum": Entry("DMASum", lambda _: Dmasum(), note="from its abstract, and without its meta learning"),
    "vss-net": Entry("VSS-Net", lambda _: VssNet(), note="from its abstract: its full text was not at hand"),
    "sum-gan": Entry("SUM-GAN", lambda _: SumGan(), note="unsupervised"),
    "ac-sum-gan": Entry("AC-SUM-GAN", lambda _: AcSumGan(), note="unsupervised"),
    "clip-it": Entry(
        "CLIP-It", missing="it reads text, which benchmark files lack; clip-it:text runs on features with text"
    ),
    "iptnet": Entry("iPTNet", missing="it learns to find moments told in words beside it, from data that is not here"),
    "vastsum-paper": _vastsum("VASTSum, as in the paper", "paper"),
    "vastsum": _vastsum("VASTSum", note="under tvt, its epoch is chosen among the last ones"),
}


def configured(config: Config) -> Entry:
    """VASTSum by settings of one's own."""
    return Entry("VASTSum", lambda _: VastsumMethod(config), relative=config.network.relative)


ABLATED: dict[str, Entry] = {
    f"vastsum:{name}": _vastsum(f"{of}, {name.replace('-', ' ')}", name)
    for of, names in (("VASTSum (paper)", OF_THE_PAPER), ("VASTSum", OF_OURS))
    for name in names
    if name != "paper"
}

GIVEN: dict[str, Entry] = {
    "clip-it:text": Entry("CLIP-It", lambda _: ClipIt(), note="features hold each frame's embedding and its caption's"),
}
"""For files that hold more than frames: run only where asked for by name."""

IMAGENET = "csta:imagenet"
RELATIVE = ":relative"


def from_imagenet(path: Path) -> dict[str, Entry]:
    """CSTA as its authors start it, for whoever has the weights."""
    return {
        IMAGENET: Entry(
            "CSTA, from ImageNet", partial(_csta, read_imagenet(path)), note="starts from the weights given"
        )
    }


def _csta(weights: Weights, _: Kind) -> Csta:
    return Csta(weights)


def entry_of(name: str) -> Entry:
    """`NAME:relative` is a method of the bench that is given relative channels."""
    known = METHODS | ABLATED | GIVEN
    base = known.get(name.removesuffix(RELATIVE))
    if name.endswith(RELATIVE) and base is not None and not (base.relative or base.missing):
        return replace(base, title=f"{base.title} + channels", relative=True)
    if name == IMAGENET:
        raise ConfigError("--methods", f"'{name}' starts from weights that were not given", "name them by --imagenet")
    if name not in known:
        raise ConfigError("--methods", f"'{name}' is not known", f"choose among {', '.join(METHODS)}")
    return known[name]
