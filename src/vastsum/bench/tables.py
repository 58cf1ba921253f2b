"""The tables of a bench, and the pictures beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from vastsum.bench.choosing import chance_note, choosing_table, every_epoch
from vastsum.bench.columns import AGREEMENT, OURS, TRUST
from vastsum.bench.cost import Cost, costs
from vastsum.bench.page.evaluation import Quoted, Section, write_page
from vastsum.bench.page.pictures import curves, picture
from vastsum.bench.plan import Benchmark, Plan
from vastsum.bench.protocols import MEANING, Protocol
from vastsum.bench.published import PER_SPLIT
from vastsum.bench.rows import MethodRow, by_video, difference, interval, method_rows
from vastsum.bench.table import NOTHING, Table, decimals
from vastsum.files import write_text

ROOF, LENGTHS = "mean-annotator", "length-only"
COST_NOTE = "multiply-adds and time are for a video of ten minutes (1200 picks), on one CPU thread"


def write_tables(plan: Plan, report: Callable[[str], None] = lambda _: None) -> list[Table]:
    """Everything under DIR/tables and the page, made anew from whatever trainings are done. `report` is told what is at
    work: random draws and costs take a while, the first time."""
    folder = plan.folder / "tables"
    tables = []
    sections = []
    for benchmark in plan.benchmarks:
        rows = method_rows(plan, benchmark)
        ranked = [row for row in rows if any(map(by_video, row.rows.values()))]  # uniform clips have no τ on TVSum
        report(f"random draws on {benchmark.name}")
        epochs = every_epoch(plan, benchmark, rows)
        chosen_by_chance = [chance_note(benchmark, epochs)] if epochs and "5fcv" in plan.protocols else []
        sections.append(bench_section(benchmark, rows, chosen_by_chance))
        report(f"costs on {benchmark.name}")
        for protocol in plan.protocols:
            table = main_table(plan, benchmark, protocol, rows)
            if protocol == "5fcv":
                table = replace(table, notes=(*table.notes, *chosen_by_chance))
            tables.append(table)
            write_text(folder / f"{table.name}.svg", _picture(table.title, protocol, ranked))
        tables += [split_table(plan, benchmark, ranked)]
        metrics = ("tau",) if benchmark.dataset.kind == "tvsum" else ("tau", "score_tau")
        tables += [difference_table(plan, benchmark, ranked, metric) for metric in metrics]
        tables.append(uncertainty_table(benchmark, rows))
        if epochs:
            table = choosing_table(benchmark, epochs)
            tables.append(table)
            title = f"{benchmark.name}: τ on test after every epoch"
            write_text(folder / f"{table.name}.svg", curves(title, epochs, _lengths_alone(rows)))
    report("tables")
    for table in tables:
        write_text(folder / f"{table.name}.csv", table.csv())
        write_text(folder / f"{table.name}.tex", table.latex())
    write_text(folder / "tables.md", "\n".join(table.markdown() for table in tables))
    title = ", ".join(benchmark.name for benchmark in plan.benchmarks)
    write_page(sections, folder / "tables.html", title=title)
    return tables


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


def main_table(plan: Plan, benchmark: Benchmark, protocol: Protocol, rows: Sequence[MethodRow]) -> Table:
    """Agreement under one protocol, beside what was published and what each method costs."""
    columns = ("method", "seeds", *(column.name for column in AGREEMENT), "published τ / ρ", "our gap in τ",
               "parameters", "multiply-adds", "ms a video")  # fmt: skip
    price = costs(plan, benchmark)
    lines = [_main_row(row, protocol, price.get(row.name)) for row in rows]
    quoted = any(protocol in row.published for row in rows)
    notes = [
        f"{protocol}: {MEANING[protocol]}; ± is the standard deviation over seeds",
        *map(str, OURS),
        *(["published numbers are quoted from the paper; features and code are not ours"] if quoted else []),
        COST_NOTE,
        *(f"{row.title}: {note}" for row in rows for note in row.notes(protocol)),
    ]
    return Table(f"{benchmark.name}.{protocol}", f"{benchmark.name}, {protocol}", columns, tuple(lines), tuple(notes))


def _main_row(row: MethodRow, protocol: Protocol, price: Cost | None) -> tuple[str, ...]:
    quoted = row.published.get(protocol)
    found = row.rows.get(protocol)
    cells = found.summary() if found else {}
    gap = f"{cells['tau']['mean'] - quoted.tau:+.3f}".replace("-", "−") if quoted and found else NOTHING
    return (
        row.title,
        str(row.n_seeds(protocol) or NOTHING),
        *(_cell(cells.get(column.metric), spread=column.metric != "f1") for column in AGREEMENT),
        f"{quoted.tau:.3f} / {quoted.rho:.3f}" if quoted else NOTHING,
        gap,
        _count(price.n_parameters) if price and price.n_parameters else NOTHING,
        _count(price.multiply_adds) if price and price.multiply_adds else NOTHING,
        f"{price.milliseconds:.1f}" if price else NOTHING,
    )


def _cell(cell: dict[str, float] | None, *, spread: bool) -> str:
    if cell is None:
        return NOTHING
    around = f" ± {cell['std_over_seeds']:.3f}" if spread and cell["std_over_seeds"] else ""
    return f"{cell['mean']:.3f}{around}".replace("-", "−")


def _count(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"


def split_table(plan: Plan, benchmark: Benchmark, rows: Sequence[MethodRow]) -> Table:
    """The paper's Table III for every method: τ split by split."""
    n_splits = len(benchmark.splits.splits)
    lines = []
    for row in rows:
        for protocol, found in row.rows.items():
            if protocol == "transfer" or (row.is_reference and protocol != plan.protocols[0]):
                continue
            values = by_video(found)
            means = [_mean([value for (split, _), value in values.items() if split == k]) for k in range(n_splits)]
            name = NOTHING if row.is_reference else protocol
            lines.append((row.title, name, *map(decimals, means)))
    quoted = PER_SPLIT[benchmark.dataset.kind]
    if benchmark.is_standard:
        lines.append(("VASTSum, published", "5fcv", *(f"{split.tau:.3f}" for split in quoted)))
    columns = ("method", "protocol", *(f"split {k}" for k in range(n_splits)))
    return Table(f"{benchmark.name}.splits", f"{benchmark.name}, τ split by split", columns, tuple(lines))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


AGAINST = {"over lengths": LENGTHS, "over ridge": "ridge", "over channels": "channels",
           "over VASTSum (paper)": "vastsum-paper", "over VASTSum": "vastsum"}  # fmt: skip


def difference_table(plan: Plan, benchmark: Benchmark, rows: Sequence[MethodRow], metric: str) -> Table:
    """Which differences are real: paired bootstrap over videos, against what each method must beat."""
    others = {row.name: row for row in rows}
    (name,) = (column.name for column in AGREEMENT if column.metric == metric)
    lines = []
    for protocol in plan.protocols:
        for row in rows:
            if protocol not in row.rows or row.name == ROOF:
                continue
            cells = [_against(row, others.get(other), protocol, metric) for other in AGAINST.values()]
            lines.append((row.title, protocol, *cells))
    notes = (
        f"Δ{name} with its central 95 % over 2000 resamples of the test videos, paired; * where zero is outside",
        "this says what other videos might change, not other training sets: the five splits are given",
    )
    columns = ("method", "protocol", *AGAINST)
    file = "differences" if metric == "tau" else f"differences.{metric}"
    title = f"{benchmark.name}, differences in {name}"
    return Table(f"{benchmark.name}.{file}", title, columns, tuple(lines), notes)


def _against(row: MethodRow, other: MethodRow | None, protocol: Protocol, metric: str) -> str:
    if other is None or other is row or protocol not in other.rows:
        return NOTHING
    found = difference(row.rows[protocol], other.rows[protocol], metric)
    if found is None:
        return NOTHING
    return f"{found} *" if found.is_real else str(found)


def uncertainty_table(benchmark: Benchmark, rows: Sequence[MethodRow]) -> Table:
    """Is the predicted uncertainty right, and how firm is the choice that is made of the scores?"""
    shown = [column for column in TRUST if column.metric != "nll"]
    lines = []
    for row in rows:
        for protocol, found in row.rows.items():
            if not row.is_reference and protocol != "transfer":  # other people's scale says nothing of these
                cells = found.summary()
                lines.append((row.title, protocol, *(_cell(cells.get(column.metric), spread=True) for column in shown)))
    columns = ("method", "protocol", *(column.name for column in shown))
    notes = tuple(map(str, shown))
    return Table(f"{benchmark.name}.uncertainty", f"{benchmark.name}, uncertainty", columns, tuple(lines), notes)


def _picture(title: str, protocol: Protocol, rows: Sequence[MethodRow]) -> str:
    points = [
        (row.title, interval(list(by_video(row.rows[protocol]).values())), row.is_reference)
        for row in rows
        if protocol in row.rows
    ]
    return picture(f"{title}: τ and its 95 % over videos", points)


def _lengths_alone(rows: Sequence[MethodRow]) -> float | None:
    found = [row for method in rows if method.name == LENGTHS for row in method.rows.values()]
    return float(found[0].summary()["tau"]["mean"]) if found else None
