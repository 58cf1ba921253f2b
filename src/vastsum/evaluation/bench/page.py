"""The bench as a page: every method under every protocol in tables that sort, beside what was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from vastsum.evaluation.bench.plan import Benchmark
from vastsum.evaluation.bench.rows import MethodRow
from vastsum.evaluation.page import Quoted, Section, write_page


def write_bench_page(rows: Mapping[Benchmark, Sequence[MethodRow]], destination: Path) -> None:
    """One section a benchmark file."""
    sections = [_section(benchmark, methods) for benchmark, methods in rows.items()]
    write_page(sections, destination, title=", ".join(benchmark.name for benchmark in rows))


def _section(benchmark: Benchmark, methods: Sequence[MethodRow]) -> Section:
    dataset = benchmark.dataset
    # A reference is the same row under every protocol.
    rows = {id(row): row for method in methods for row in method.rows.values()}
    return Section(
        benchmark.name,
        dataset.kind,
        list(rows.values()),
        dataset.videos,
        facts=[f"{len(dataset.videos)} videos", f"splits: {benchmark.splits.source}"],
        notes=[f"{method.title}: {note}" for method in methods for note in (method.note, method.missing) if note],
        quoted=[
            Quoted(method.title, protocol, "quoted from the paper's tables", {"tau": quoted.tau, "rho": quoted.rho})
            for method in methods
            for protocol, quoted in method.published.items()
        ],
    )
