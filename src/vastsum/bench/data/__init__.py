"""Benchmark files, splits, and a generator of synthetic ones."""

from vastsum.bench.data.benchmark import BenchmarkVideo, Dataset, Problem, inspect_file, load_dataset
from vastsum.bench.data.splits import Split, all_videos, load_splits
from vastsum.bench.data.synthetic import make_synthetic
from vastsum.types import Kind

__all__ = [
    "BenchmarkVideo",
    "Dataset",
    "Kind",
    "Problem",
    "Split",
    "all_videos",
    "inspect_file",
    "load_dataset",
    "load_splits",
    "make_synthetic",
]
