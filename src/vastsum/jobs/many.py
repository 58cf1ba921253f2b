"""Many videos: those that are done are skipped, the others shared out, and the outcomes gathered in a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from vastsum.errors import OutputError, VastsumError
from vastsum.export import FORMATS
from vastsum.jobs.inputs import Item
from vastsum.jobs.ledger import Ledger, Outcome, can_make_tables
from vastsum.jobs.one import Settings
from vastsum.jobs.places import Place
from vastsum.jobs.pool import SOMEWHERE, Attempt, Finished, Pool, Start, share_out
from vastsum.jobs.work import ItemWorker

PoolOf = Callable[[Start], Pool]


def summarize_all(
    items: Sequence[Item],
    settings: Settings,
    place: Place,
    pool_of: PoolOf,
    *,
    report: Callable[[Outcome], None],
    overwrite: bool = False,
    retry_failed: bool = False,
    threads: int = 1,
) -> list[Outcome]:
    """The outcome of every item. `report` is told of each as it is known, but for those that were done before."""
    ledger = Ledger(place)
    if overwrite:
        ledger.forget()
    else:
        ledger.check(settings.asked())
    place.tidy()
    known = _settled(ledger.checked_outcomes())
    waiting, outcomes = _sorted_out(items, known, settings, place, retry_failed)
    for outcome in outcomes:
        if outcome.status == "failed":
            report(outcome)
    start = partial(ItemWorker, settings, place, overwrite=overwrite, threads=threads, folder=str(Path.cwd()))
    try:
        if waiting:
            with pool_of(start) as pool:
                for finished in share_out(waiting, pool):
                    outcomes.append(_outcome_of(finished, ledger))
                    report(outcomes[-1])
    finally:
        place.tidy()
        if can_make_tables():
            _write_table(ledger, known, outcomes, is_complete=len(outcomes) == len(items))
    return outcomes


def _settled(outcomes: dict[str, Outcome]) -> dict[str, Outcome]:
    return {name: outcome for name, outcome in outcomes.items() if outcome.status != "started"}


def _write_table(ledger: Ledger, known: dict[str, Outcome], outcomes: Sequence[Outcome], *, is_complete: bool) -> None:
    """All that is recorded, of earlier runs too. When a run is ended, some may be recorded that were not heard of."""
    tried = {outcome.name: outcome for outcome in outcomes if outcome.attempts}
    recorded = known | tried if is_complete else _settled(ledger.outcomes())
    rows = [*recorded.values(), *(outcome for outcome in outcomes if not outcome.attempts)]
    if rows:
        ledger.write_table(sorted(rows, key=lambda outcome: outcome.name))


def _sorted_out(
    items: Sequence[Item], known: dict[str, Outcome], settings: Settings, place: Place, retry_failed: bool
) -> tuple[list[Item], list[Outcome]]:
    """The items that are to be done, and the outcomes of those that are not."""
    waiting: list[Item] = []
    settled: list[Outcome] = []
    sources = {name: outcome.source for name, outcome in known.items()}
    for item in items:
        earlier = known.get(item.name)
        if refusal := item.refusal():
            settled.append(_failed(Attempt(item, 0), refusal, claimed=False))
        elif sources.setdefault(item.name, item.source) != item.source:
            file = place.shown(item.name + FORMATS[settings.formats[0]].suffix)
            remedy = f"rename {item.source}, or name it otherwise in a manifest's column 'name'"
            error = OutputError(file, f"is the summary of {sources[item.name]} too", remedy)
            settled.append(_failed(Attempt(item, 0), error, claimed=False))
        elif earlier is None or (earlier.status == "failed" and retry_failed):
            waiting.append(item)
        else:
            settled.append(earlier)
    return waiting, settled


def _outcome_of(finished: Finished[Item, Outcome], ledger: Ledger) -> Outcome:
    """Of what failed nobody but us can write the record: its worker may be no more."""
    if not isinstance(finished.answer, VastsumError):
        return finished.answer
    begun = ledger.read(finished.attempt.task.name)
    outcome = _failed(finished.attempt, finished.answer, claimed=begun is not None and begun.claimed)
    ledger.record(outcome)
    return outcome


def _failed(attempt: Attempt[Item], error: VastsumError, *, claimed: bool) -> Outcome:
    source = attempt.task.source
    told = VastsumError(source, error.problem, error.remedy) if error.where == SOMEWHERE else error
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Outcome(source, attempt.task.name, "failed", attempt.number, now, error=str(told), claimed=claimed)
