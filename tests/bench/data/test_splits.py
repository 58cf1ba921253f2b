"""Splits: the standard ones, one's own, and those made where neither fits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from broken import write_good

from vastsum.bench.data import Dataset, load_dataset, load_splits
from vastsum.bench.data.splits import standard_splits
from vastsum.bench.protocols import parts_of
from vastsum.errors import DataError


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    write_good(tmp_path / "good.h5")
    return load_dataset(tmp_path / "good.h5")


@pytest.mark.parametrize(("kind", "n_videos"), [("summe", 25), ("tvsum", 50)])
def test_the_standard_splits_test_every_video_once(kind: str, n_videos: int) -> None:
    splits = standard_splits(kind)
    tested = [name for split in splits for name in split.test]
    assert len(splits) == 5
    assert sorted(tested) == sorted(f"video_{n}" for n in range(1, n_videos + 1))
    for split in splits:
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == n_videos


def test_the_standard_splits_equal_the_published_ones(shared: Path) -> None:
    for kind in ("summe", "tvsum"):
        published = json.loads((shared / "data" / f"{kind}.splits.json").read_text())
        assert [(list(s.train), list(s.test)) for s in standard_splits(kind)] == [
            (s["train"], s["test"]) for s in published
        ]


def test_a_real_file_with_a_video_missing_uses_the_standard_splits_and_says_so(shared: Path) -> None:
    splits = load_splits(load_dataset(shared / "data" / "summe.googlenet.h5"))
    assert splits.source == "standard (summe)"
    assert splits.absent == ("video_21",)
    assert all("video_21" not in (*split.train, *split.test) for split in splits.splits)


def test_files_of_ones_own_are_split_by_taking_turns(tvsum: Dataset) -> None:
    splits = load_splits(tvsum)
    assert splits.source.startswith("round-robin")
    assert sorted(name for split in splits.splits for name in split.test) == sorted(tvsum.videos)


@pytest.mark.parametrize("keys", [("train", "test"), ("train_keys", "test_keys")])
def test_a_split_file_may_use_either_spelling_paths_and_titles(
    dataset: Dataset, tmp_path: Path, keys: tuple[str, str]
) -> None:
    path = tmp_path / "splits.json"
    path.write_text(json.dumps([{keys[0]: ["../tvsum.h5/video_1", "title 2"], keys[1]: ["video_3"]}]))
    (split,) = load_splits(dataset, path).splits
    assert (split.train, split.test) == (("video_1", "video_2"), ("video_3",))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "not JSON"),
        ("{}", "not a list"),
        ("[]", "not a list"),
        ("[3]", "not an object"),
        ('[{"train": ["video_1"]}]', "no 'test'"),
        ('[{"train": "video_1", "test": ["video_2"]}]', "not a list of names"),
        ('[{"train": [1], "test": ["video_2"]}]', "not a list of names"),
        ('[{"train": ["video_1"], "test": ["video_1"]}]', "more than once"),
        ('[{"train": ["video_1", "video_1"], "test": ["video_2"]}]', "video_1 more than once"),
        ('[{"train": ["video_1"], "test": ["title 1"]}]', "video_1 more than once"),
        ('[{"train": ["video_1"], "test": ["video_9"]}]', "does not have: video_9"),
    ],
)
def test_broken_split_files(dataset: Dataset, tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "splits.json"
    path.write_text(content)
    with pytest.raises(DataError, match=words) as caught:
        load_splits(dataset, path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_split_file(dataset: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        load_splits(dataset, tmp_path / "absent.json")


def test_two_videos_cannot_be_split(tmp_path: Path) -> None:
    write_good(tmp_path / "two.h5", n_videos=2)
    with pytest.raises(DataError, match="too few"):
        load_splits(load_dataset(tmp_path / "two.h5"))


def test_protocols_watch_the_right_videos() -> None:
    splits = standard_splits("tvsum")
    fivefold, tvt, last = (parts_of(splits, 4, protocol) for protocol in ("5fcv", "tvt", "last"))
    assert fivefold.watched == fivefold.test == splits[4].test
    assert last.watched == ()
    assert tvt.watched == splits[0].test
    assert len(tvt.train) == 30
    assert not set(tvt.train) & {*tvt.watched, *tvt.test}


def test_a_split_files_own_validation_videos_are_used(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(json.dumps([{"train": ["video_1"], "val": ["video_2"], "test": ["video_3"]}]))
    parts = parts_of(load_splits(dataset, path).splits, 0, "tvt")
    assert (parts.train, parts.watched, parts.test) == (("video_1",), ("video_2",), ("video_3",))


def test_tvt_needs_something_to_train_on(dataset: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "splits.json"
    path.write_text(json.dumps([{"train": ["video_1"], "test": ["video_2"]}]))
    with pytest.raises(DataError, match="validate"):
        parts_of(load_splits(dataset, path).splits, 0, "tvt")
