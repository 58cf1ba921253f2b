"""The protocols: what is trained on, which videos the epoch is chosen by, and what is tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vastsum.bench.data import Split
from vastsum.bench.methods.learned import LearnedMethod
from vastsum.errors import DataError

Protocol = Literal["5fcv", "tvt", "last", "transfer"]

MEANING: dict[Protocol, str] = {
    "5fcv": "epoch chosen on the test videos (as published; optimistic)",
    "tvt": "epoch chosen on validation videos",
    "last": "final epoch, nothing chosen",
    "transfer": "trained on other data, tested on all videos of this file; final epoch, nothing chosen",
}


@dataclass(frozen=True)
class Parts:
    """`watched` videos are scored after every epoch, and the best is kept; none are under `last` and `transfer`."""

    train: tuple[str, ...]
    watched: tuple[str, ...]
    test: tuple[str, ...]


def parts_of(splits: Sequence[Split], index: int, protocol: Protocol) -> Parts:
    """Under `tvt` the validation videos are the split file's, or else the test videos of the next split."""
    split = splits[index]
    if protocol in ("last", "transfer"):
        return Parts(split.train, (), split.test)
    if protocol == "5fcv":
        return Parts(split.train, split.test, split.test)
    following = splits[(index + 1) % len(splits)].test
    validation = split.validation or tuple(name for name in following if name not in split.test)
    train = tuple(name for name in split.train if name not in validation)
    if not validation or not train:
        raise DataError(
            f"split {index}",
            "leaves no videos to train or validate on under tvt",
            "give a --splits file with 'train', 'validation' and 'test'",
        )
    return Parts(train, validation, split.test)


def method_under(protocol: Protocol, method: LearnedMethod) -> LearnedMethod:
    """`5fcv` takes the best of all epochs, as published: a recipe's own say is in what validation videos choose."""
    return method.with_recipe(chosen_after=0.0) if protocol == "5fcv" else method
