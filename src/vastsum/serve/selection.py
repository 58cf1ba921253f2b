"""What a person changed about a summary, and the summary that comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from vastsum.errors import ConfigError
from vastsum.summary import Summary


@dataclass(frozen=True)
class Edits:
    """`starts` are the first frames of all segments where a boundary was moved. `held` are segments that are in (True)
    or out (False) by hand, by their first frame."""

    budget: float
    starts: tuple[int, ...] | None = None
    held: tuple[tuple[int, bool], ...] = ()


def reselect(whole: Summary, edits: Edits) -> Summary:
    """`whole` has its segments as they were found, none trimmed to a budget."""
    summary = whole if edits.starts is None else whole.with_starts(edits.starts)
    index_of = {segment.start_frame: k for k, segment in enumerate(summary.segments)}
    unknown = [start for start, _ in edits.held if start not in index_of]
    if unknown:
        raise ConfigError(f"held frame {unknown[0]}", "no segment starts there", "name segments by their first frame")
    held = {index_of[start]: wanted for start, wanted in edits.held}
    return summary.with_budget(
        edits.budget,
        keep=[k for k, wanted in held.items() if wanted],
        leave_out=[k for k, wanted in held.items() if not wanted],
    )
