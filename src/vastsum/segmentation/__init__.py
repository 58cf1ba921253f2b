"""Vectors in, segments out: kernel temporal segmentation and what may stand in its place."""

from vastsum.segmentation.kts import kernel_cuts
from vastsum.segmentation.places import LONGEST_S, at_good_places
from vastsum.segmentation.segmenters import (
    DEFAULT_SEGMENTER,
    DEFAULT_STRENGTH,
    SEGMENTERS,
    KernelSegmenter,
    Segmenter,
    UniformSegmenter,
)
from vastsum.segmentation.timeline import MIN_SEGMENT_S, max_segment_s, segment, snap

__all__ = [
    "DEFAULT_SEGMENTER",
    "DEFAULT_STRENGTH",
    "LONGEST_S",
    "MIN_SEGMENT_S",
    "SEGMENTERS",
    "KernelSegmenter",
    "Segmenter",
    "UniformSegmenter",
    "at_good_places",
    "kernel_cuts",
    "max_segment_s",
    "segment",
    "snap",
]
