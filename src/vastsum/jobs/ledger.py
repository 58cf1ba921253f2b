"""How it went with each video, written down where the results are.

DIR/.vastsum/run.json      what was asked for; another run into the same folder must ask for the same
DIR/.vastsum/videos/….json one video: written when its work begins, and again, last of all, when it is done or given up
DIR/results.parquet        all of them as one table, made at the end of a run, also of one that was interrupted
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from importlib.util import find_spec
from typing import Any, Literal

from vastsum.errors import ConfigError
from vastsum.jobs.places import Place

_RUN = ".vastsum/run.json"
_VIDEOS = ".vastsum/videos"
TABLE = "results.parquet"

Status = Literal["started", "done", "failed"]


@dataclass(frozen=True)
class Outcome:
    """One row of the table. `claimed` says that files under this name are of this run, and may be replaced by it."""

    source: str
    name: str
    status: Status
    attempts: int
    started_at: str
    seconds: float = 0.0
    fetch_s: float = 0.0
    watch_s: float = 0.0
    write_s: float = 0.0
    video_s: float = 0.0
    summary_s: float = 0.0
    n_frames: int = 0
    n_segments: int = 0
    n_selected: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    error: str = ""
    worker: str = ""
    claimed: bool = True


class Ledger:
    """The outcomes in a place. Records are small files of their own: no worker waits for another, and none is lost."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def check(self, asked: dict[str, Any]) -> None:
        """Refuse to mix results of different makings in one place."""
        earlier = self._place.read(_RUN)
        before = asked if earlier is None else _parsed(earlier)
        for key, value in asked.items():
            began = before.get(key, False)  # an option that is newer than the run was off
            if began != value:
                raise ConfigError(
                    self._place.shown(""),
                    f"was begun with another {key} ({began!r}, not {value!r})",
                    "ask for the same, choose another -o, or do all of it anew with --overwrite",
                )

    def begin(self, asked: dict[str, Any]) -> None:
        """Said by each worker when it is ready, and all say the same: a run that cannot start leaves nothing behind."""
        self._place.write(_RUN, _laid_out(asked))

    def forget(self) -> None:
        self._place.remove_folder(_VIDEOS)

    def read(self, name: str) -> Outcome | None:
        content = self._place.read(_path(name))
        return None if content is None else _restored(content)

    def record(self, outcome: Outcome) -> None:
        self._place.write(_path(outcome.name), _laid_out(asdict(outcome)))

    def outcomes(self) -> dict[str, Outcome]:
        """What is recorded, by name. A record that cannot be read is as good as none: its video is done again."""
        found = (_restored(content) for content in self._place.read_all(_VIDEOS))
        return {outcome.name: outcome for outcome in found if outcome is not None}

    def checked_outcomes(self) -> dict[str, Outcome]:
        """What is recorded. Where a file of it is gone, or is not what was written, its video counts as just begun."""
        outcomes = self.outcomes()
        names = {file for outcome in outcomes.values() for file in outcome.files}
        sizes = self._place.sizes(names) if names else {}
        for name, outcome in outcomes.items():
            if not _is_whole(outcome, sizes):
                outcomes[name] = replace(outcome, status="started", files=(), bytes_out=0)
                self.record(outcomes[name])
        return outcomes

    def write_table(self, outcomes: Iterable[Outcome]) -> None:
        import pyarrow
        from pyarrow import parquet

        columns = [field.name for field in fields(Outcome) if field.name != "claimed"]
        rows = [{name: _as_text(getattr(outcome, name)) for name in columns} for outcome in outcomes]
        schema = pyarrow.schema([(name, _arrow_type(pyarrow, name)) for name in columns])
        buffer = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema), buffer)
        self._place.write(TABLE, buffer.getvalue())


def can_make_tables() -> bool:
    """Records need nothing; the table is Parquet, which `vastsum[scale]` brings."""
    return find_spec("pyarrow") is not None


def _is_whole(outcome: Outcome, sizes: Mapping[str, int]) -> bool:
    """What a power cut spoils is empty or shorter, so the sum tells. A record without one (0) tells of no more."""
    found = [sizes.get(file, 0) for file in outcome.files]
    return all(found) and outcome.bytes_out in (0, sum(found))


def _path(name: str) -> str:
    """Names may hold anything; a digest is a file name everywhere."""
    return f"{_VIDEOS}/{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:32]}.json"


def _laid_out(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=1) + "\n").encode()


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(content)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _restored(content: bytes) -> Outcome | None:
    known = {field.name for field in fields(Outcome)}
    values: dict[str, Any] = {
        key: tuple(v) if isinstance(v, list) else v for key, v in _parsed(content).items() if key in known
    }
    files = values.get("files", ())
    if not isinstance(files, tuple) or not all(isinstance(file, str) for file in files):
        return None
    try:
        return Outcome(**values)
    except TypeError:
        return None


def _as_text(value: Any) -> Any:
    """File names that are no Unicode cannot be stored as text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return [_as_text(each) for each in value] if isinstance(value, tuple) else value


def _arrow_type(pyarrow: Any, name: str) -> Any:
    kinds = {"int": pyarrow.int64(), "float": pyarrow.float64(), "tuple[str, ...]": pyarrow.list_(pyarrow.string())}
    kind = next(field.type for field in fields(Outcome) if field.name == name)
    return kinds.get(str(kind), pyarrow.string())
