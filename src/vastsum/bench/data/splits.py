"""Which videos are trained on and which are tested."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from vastsum.bench.data.benchmark import Dataset
from vastsum.errors import DataError

N_FOLDS = 5
_REMEDY = 'a split file is a JSON list of {"train": [names], "test": [names]}'


@dataclass(frozen=True)
class Split:
    """Names of the videos in each part. `validation` is empty unless the split file states one."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    validation: tuple[str, ...] = ()


@dataclass(frozen=True)
class Splits:
    """The splits of a run, where they come from, and the videos they name that the file does not have."""

    source: str
    splits: tuple[Split, ...]
    absent: tuple[str, ...] = ()


def load_splits(dataset: Dataset, path: Path | None = None) -> Splits:
    """The splits in `path`; else the five standard ones where they fit the file; else five made by taking turns.

    A split file of one's own must name videos that exist. The standard splits may name a few that do not (copies of the
    benchmarks differ by a video or two): those are left out and listed as `absent`.
    """
    if path is not None:
        splits = read_split_file(path)
        absent = absent_videos(splits, dataset)
        if absent:
            more = f" and {len(absent) - 3} more" if len(absent) > 3 else ""
            names = ", ".join(absent[:3]) + more
            raise DataError(path, f"names videos that {dataset.path} does not have: {names}", "correct the names")
        resolved = _resolved(splits, dataset)
        for number, split in enumerate(resolved):
            _refuse_repeats(path, number, split)
        return Splits(str(path), tuple(resolved))
    standard = standard_splits(dataset.kind)
    named = {name for split in standard for name in (*split.train, *split.test)}
    if set(dataset.videos) <= named and len(dataset.videos) >= 0.9 * len(named):
        absent = absent_videos(standard, dataset)
        return Splits(f"standard ({dataset.kind})", tuple(_resolved(standard, dataset)), absent)
    return Splits(f"round-robin ({N_FOLDS} folds)", tuple(_taking_turns(dataset)))


def all_videos(dataset: Dataset) -> Splits:
    """One split that trains on everything; what it is judged on is in another file."""
    return Splits("all videos", (Split(tuple(dataset.videos), ()),))


def standard_splits(kind: str) -> list[Split]:
    """The five splits that every paper in this field uses."""
    file = resources.files("vastsum.bench.data").joinpath("standard_splits", f"{kind}.json")
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        problem = f"this part of the program cannot be read ({error.strerror})"
        raise DataError(f"vastsum/bench/data/standard_splits/{kind}.json", problem, "reinstall vastsum") from error
    return [Split(tuple(split["train"]), tuple(split["test"])) for split in json.loads(text)]


def read_split_file(path: Path) -> list[Split]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(path, f"cannot be read ({error.strerror})", _REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"is not JSON ({error})", _REMEDY) from error
    if not isinstance(content, list) or not content:
        raise DataError(path, "is not a list of splits", _REMEDY)
    return [_parse_split(path, number, entry) for number, entry in enumerate(content)]


def absent_videos(splits: Sequence[Split], dataset: Dataset) -> tuple[str, ...]:
    known = _known_names(dataset)
    named = {name: None for split in splits for name in (*split.train, *split.validation, *split.test)}
    return tuple(name for name in named if name not in known)


def _parse_split(path: Path, number: int, entry: object) -> Split:
    if not isinstance(entry, dict):
        raise DataError(path, f"split {number} is not an object", _REMEDY)
    parts = {part: _parse_names(path, number, entry, part) for part in ("train", "validation", "test")}
    for part in ("train", "test"):
        if not parts[part]:
            raise DataError(path, f"split {number} has no '{part}' videos", _REMEDY)
    return Split(**parts)


def _refuse_repeats(path: Path, number: int, split: Split) -> None:
    """Asked of keys: a video may be named by its title, too."""
    (name, n), *_ = Counter((*split.train, *split.validation, *split.test)).most_common(1)
    if n > 1:
        raise DataError(path, f"split {number} names {name} more than once", "a video belongs to one part, once")


def _parse_names(path: Path, number: int, entry: dict[str, object], part: str) -> tuple[str, ...]:
    short = {"validation": "val"}.get(part, part)
    found = next((entry[key] for key in (part, f"{part}_keys", short, f"{short}_keys") if key in entry), [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise DataError(path, f"split {number}: '{part}' is not a list of names", _REMEDY)
    return tuple(name.rsplit("/", 1)[-1] for name in found)  # some files write ../data/tvsum.h5/video_1


def _known_names(dataset: Dataset) -> dict[str, str]:
    """Each name a split may use, and the key it stands for: the group's own, or the video's title."""
    titles = {video.title: key for key, video in dataset.videos.items() if video.title}
    return titles | {key: key for key in dataset.videos}


def _resolved(splits: Sequence[Split], dataset: Dataset) -> list[Split]:
    known = _known_names(dataset)

    def keys(names: Sequence[str]) -> tuple[str, ...]:
        return tuple(known[name] for name in names if name in known)

    return [Split(keys(split.train), keys(split.test), keys(split.validation)) for split in splits]


def _taking_turns(dataset: Dataset) -> list[Split]:
    names = list(dataset.videos)
    if len(names) < 3:
        raise DataError(
            dataset.path, f"has {len(names)} videos, too few to split", "give at least 3, or a --splits file"
        )
    folds = [names[fold::N_FOLDS] for fold in range(min(N_FOLDS, len(names)))]
    return [Split(train=tuple(name for name in names if name not in fold), test=tuple(fold)) for fold in folds]
