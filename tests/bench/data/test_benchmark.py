"""Benchmark files: every variant in the wild is read, and every broken one is named for what it is."""

from __future__ import annotations

import os
from pathlib import Path

import h5py
import numpy as np
import pytest
from broken import BREAKAGES, put, write_good

from vastsum.bench.data import inspect_file, load_dataset
from vastsum.errors import DataError


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write_good(tmp_path / "good.h5")
    return tmp_path / "good.h5"


@pytest.mark.parametrize("name", BREAKAGES)
def test_a_broken_file_is_named_with_video_key_and_remedy(good: Path, name: str) -> None:
    change, key, words = BREAKAGES[name]
    with h5py.File(good, "a") as file:
        change(file["video_2"])
    with pytest.raises(DataError) as caught:
        load_dataset(good)
    message = str(caught.value)
    assert message.startswith(f"{good}: video_2/{key}: ")
    assert words in message
    assert ";" in message, "a remedy follows"
    assert "\n" not in message


@pytest.mark.parametrize("name", BREAKAGES)
def test_the_other_videos_stay_usable(good: Path, name: str) -> None:
    with h5py.File(good, "a") as file:
        BREAKAGES[name][0](file["video_2"])
    found = inspect_file(good)
    assert {"video_1", "video_3"} <= set(found.videos)
    assert {problem.video for problem in found.errors} == {"video_2"}


def test_all_problems_are_listed_not_only_the_first(good: Path) -> None:
    with h5py.File(good, "a") as file:
        put("picks", [5, 3])(file["video_1"])
        put("features", np.full((6, 4), np.nan))(file["video_1"])
        put("change_points", [[0, 10]])(file["video_3"])
    assert {(p.video, p.key) for p in inspect_file(good).errors} == {
        ("video_1", "features"), ("video_1", "picks"), ("video_3", "change_points"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_frames", np.array([90])),
        ("n_frames", 90.0),
        ("picks", np.arange(0, 90, 15).astype(np.float32)),
        ("picks", np.arange(0, 90, 15).astype(np.int32)),
        ("video_name", b"title 2"),
        ("video_name", np.array([b"title 2"])),
        ("user_summary", np.ones((2, 90), dtype=bool)),
        ("features", np.ones((6, 4), dtype=np.float16)),
    ],
)  # fmt: skip
def test_types_that_differ_without_meaning_are_accepted(good: Path, key: str, value: object) -> None:
    with h5py.File(good, "a") as file:
        put(key, value)(file["video_2"])
    dataset = load_dataset(good)
    video = dataset.videos["video_2"]
    assert video.title == "title 2"
    assert video.segments.picks.tolist() == list(range(0, 90, 15))
    assert not dataset.notes


def bounds_of(path: Path) -> list[list[int]]:
    return load_dataset(path).videos["video_2"].segments.bounds.tolist()


def test_change_points_may_end_at_n(good: Path) -> None:
    with h5py.File(good, "a") as file:
        put("change_points", [[0, 29], [30, 59], [60, 90]])(file["video_2"])
    assert bounds_of(good) == [[0, 29], [30, 59], [60, 89]]


def test_change_points_may_have_exclusive_ends(good: Path) -> None:
    with h5py.File(good, "a") as file:
        put("change_points", [[0, 30], [30, 60], [60, 90]])(file["video_2"])
    assert bounds_of(good) == [[0, 29], [30, 59], [60, 89]]


@pytest.mark.parametrize("n_features", [5, 7])
def test_one_vector_more_or_less_than_picks_is_trimmed_and_noted(good: Path, n_features: int) -> None:
    with h5py.File(good, "a") as file:
        put("features", np.ones((n_features, 4)))(file["video_2"])
    dataset = load_dataset(good)
    video = dataset.videos["video_2"]
    assert len(video.features) == len(video.segments.picks) == min(n_features, 6)
    assert any("features" in str(note) for note in dataset.notes)


def test_gtscore_one_step_longer_is_only_noted(good: Path) -> None:
    with h5py.File(good, "a") as file:
        put("gtscore", np.ones(7))(file["video_2"])
    assert [str(note) for note in load_dataset(good).notes] == [
        "video_2/gtscore: says 7 steps where features and picks have 6; it is not used"
    ]


def test_missing_n_frames_is_read_off_the_summaries(good: Path) -> None:
    with h5py.File(good, "a") as file:
        del file["video_2"]["n_frames"]
    assert load_dataset(good).videos["video_2"].segments.n_frames == 90


def test_groups_may_be_keyed_by_name(good: Path) -> None:
    with h5py.File(good, "a") as file:
        file.move("video_2", "Air_Force_One")
    assert "Air_Force_One" in load_dataset(good).videos


def test_scores_are_scaled_to_0_1_and_summaries_kept_binary(good: Path, tmp_path: Path) -> None:
    annotations = load_dataset(good).videos["video_1"].annotations
    with h5py.File(good) as file:
        raw = file["video_1/user_scores"][:, ::15]
    assert annotations.tolist() == ((raw - 1) / 4).tolist()
    write_good(tmp_path / "summe.h5", kind="summe")
    summe = load_dataset(tmp_path / "summe.h5")
    assert summe.kind == "summe"
    assert set(np.unique(summe.videos["video_1"].annotations)) <= {0.0, 1.0}


def write_tsv(path: Path, ids: list[str], rows: int = 3, frames: int = 90) -> np.ndarray:
    scores = np.random.default_rng(1).integers(1, 6, (len(ids), rows, frames))
    lines = [
        f"{name}\tVT\t{','.join(map(str, row))}" for name, person in zip(ids, scores, strict=True) for row in person
    ]
    path.write_text("\n".join(lines) + "\n")
    return scores


@pytest.mark.parametrize("ids", [["x", "y", "z"], ["title 3", "title 1", "title 2"]])
def test_scores_from_the_separate_table(tmp_path: Path, ids: list[str]) -> None:
    """By id where the file states ids, by order (video_1 …) where it does not."""
    data = tmp_path / "eccv16_dataset_tvsum_google_pool5.h5"
    write_good(data, kind="summe")
    if ids[0] == "x":
        with h5py.File(data, "a") as file:
            for name in file:
                del file[name]["video_name"]
    scores = write_tsv(tmp_path / "anno.tsv", ids)
    dataset = load_dataset(data, scores=tmp_path / "anno.tsv")
    assert dataset.kind == "tvsum"
    row = 0 if ids[0] == "x" else 1  # where video_1 stands in the table
    assert dataset.videos["video_1"].annotations.tolist() == ((scores[row][:, ::15] - 1) / 4).tolist()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("x\tVT\n", "columns"),
        ("x\tVT\t1,2,three\n", "not a score"),
        ("title 1\tVT\t1,2\ntitle 1\tVT\t1,2,3\n", "different lengths"),
        ("elsewhere\tVT\t1,2\n", "none of the videos"),
    ],
)
def test_broken_score_tables(good: Path, tmp_path: Path, text: str, words: str) -> None:
    tsv = tmp_path / "anno.tsv"
    tsv.write_text(text)
    with pytest.raises(DataError, match=words) as caught:
        load_dataset(good, scores=tsv)
    assert str(tsv) in str(caught.value)


def test_a_tvsum_file_without_scores_asks_for_them(tmp_path: Path) -> None:
    data = tmp_path / "tvsum_pool5.h5"
    write_good(data, kind="summe")
    with pytest.raises(DataError, match="--scores"):
        load_dataset(data)
    assert load_dataset(data, kind="summe").kind == "summe"


def test_files_that_are_no_benchmark(tmp_path: Path) -> None:
    text = tmp_path / "notes.h5"
    text.write_text("not HDF5")
    empty = tmp_path / "empty.h5"
    h5py.File(empty, "w").close()
    os.mkfifo(tmp_path / "pipe.h5")
    for path, words in (
        (tmp_path / "pipe.h5", "pipe"),
        (tmp_path / "absent.h5", "does not exist"),
        (tmp_path, "folder"),
        (text, "HDF5"),
        (empty, "no videos"),
    ):
        with pytest.raises(DataError, match=words):
            load_dataset(path)


def test_a_truncated_file_is_an_error(good: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.h5"
    cut.write_bytes(good.read_bytes()[:2000])
    with pytest.raises(DataError):
        load_dataset(cut)


def test_the_fingerprint_knows_content_not_place(good: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.h5"
    copy.write_bytes(good.read_bytes())
    assert load_dataset(good).fingerprint == load_dataset(copy).fingerprint
    with h5py.File(copy, "a") as file:
        put("features", np.ones((6, 4)))(file["video_2"])
    assert load_dataset(good).fingerprint != load_dataset(copy).fingerprint


@pytest.mark.parametrize("name", ["summe", "tvsum"])
@pytest.mark.parametrize("backbone", ["googlenet", "efficientnet_lite0"])
def test_the_real_files_are_read_without_a_note(shared: Path, name: str, backbone: str) -> None:
    dataset = load_dataset(shared / "data" / f"{name}.{backbone}.h5")
    assert (dataset.kind, len(dataset.videos)) == (name, {"summe": 24, "tvsum": 50}[name])
    assert not dataset.notes
