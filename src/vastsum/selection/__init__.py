"""Scores and segments in, chosen segments out."""

from vastsum.selection.decode import expand, segment_means, segment_values, select, summary_mask
from vastsum.selection.knapsack import knapsack
from vastsum.selection.stability import perturbed_choices, stability, viewer_values

__all__ = [
    "expand",
    "knapsack",
    "perturbed_choices",
    "segment_means",
    "segment_values",
    "select",
    "stability",
    "summary_mask",
    "viewer_values",
]
