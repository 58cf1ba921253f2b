"""The bench as a page: every method under every protocol in tables that sort, beside what was published."""

from __future__ import annotations

from collections.abc import Sequence

from vastsum.bench.page.evaluation import Quoted, Section
from vastsum.bench.plan import Benchmark
from vastsum.bench.rows import MethodRow


def bench_section(benchmark: Benchmark, methods: Sequence[MethodRow], notes: Sequence[str]) -> Section:
    """The section of one benchmark file."""
    dataset = benchmark.dataset
    # A reference is the same row under every protocol.
    rows = {id(row): row for method in methods for row in method.rows.values()}
    return Section(
        benchmark.name,
        dataset.kind,
        list(rows.values()),
        dataset.videos,
        facts=[f"{len(dataset.videos)} videos", f"splits: {benchmark.splits.source}"],
        notes=[
            *notes,
            *(f"{method.title}: {note}" for method in methods for note in method.notes(*method.rows)),
        ],
        quoted=[
            Quoted(method.title, protocol, "quoted from the paper's tables", {"tau": quoted.tau, "rho": quoted.rho})
            for method in methods
            for protocol, quoted in method.published.items()
        ],
    )
