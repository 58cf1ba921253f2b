"""From one's own videos to a benchmark file."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import h5py
import numpy as np
import pytest

from vastsum.bench.data import inspect_file, load_dataset
from vastsum.bench.data.prepare import Prepared, group_names, prepare
from vastsum.errors import ConfigError, DataError, OutputError, VideoError
from vastsum.features import load_backbone
from vastsum.selection import knapsack, segment_means
from vastsum.video import sample

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "annotations.md"


def make_film(path: Path, seed: int = 0, n_frames: int = 80, times_ms: Sequence[int] | None = None) -> Path:
    """A small video of scenes of two seconds, each of its own colours; ten frames a second unless `times_ms` says."""
    rng = np.random.default_rng(seed)
    with av.open(str(path), "w") as out:
        video: Any = out.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        video.codec_context.time_base = Fraction(1, 1000)
        for index in range(n_frames):
            if index % 20 == 0:
                scene = np.kron(rng.integers(0, 255, (3, 4, 3)), np.ones((16, 16, 1))).astype(np.uint8)
            frame = av.VideoFrame.from_ndarray(np.roll(scene, index, axis=1)).reformat(format="yuv420p")
            frame.pts, frame.time_base = (times_ms[index] if times_ms else 100 * index), Fraction(1, 1000)
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
    return path


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """holiday.mp4 and market.mp4, of 8 s each: the videos of the document's examples."""
    folder = tmp_path_factory.mktemp("films")
    for seed, name in enumerate(("holiday.mp4", "market.mp4")):
        make_film(folder / name, seed)
    return folder


def examples() -> dict[str, tuple[str, str]]:
    """Name, kind and text of each example in the document."""
    found = re.findall(r"<!-- example: (\S+) (\w+) -->\n```\w+\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.S)
    return {name: (kind, text) for name, kind, text in found}


def prepared(folder: Path, destination: Path, annotations: str | None = None, **settings: Any) -> Prepared:
    table = destination.with_suffix(".csv")
    if annotations:
        table.write_text(annotations)
    return prepare(sorted(folder.glob("*.mp4")), destination, annotations=table if annotations else None, **settings)


KEEP = "video,annotator,start_s,end_s\nholiday,anna,0,2\nholiday,ben,1,3\nmarket,anna,4,6\n"


def test_the_documents_examples_work(films: Path, tmp_path: Path) -> None:
    """Each becomes a file without a fault, and CSV and JSON say the same."""
    videos = sorted(films.glob("*.mp4"))
    rows: dict[str, list[np.ndarray]] = {}
    for name, (kind, text) in examples().items():
        (tmp_path / name).write_text(text)
        prepare(videos, tmp_path / "mine.h5", annotations=tmp_path / name)
        found = inspect_file(tmp_path / "mine.h5")
        assert (found.kind, found.problems, list(found.videos)) == (kind, [], ["holiday", "market"])
        rows[name] = [video.annotations for video in found.videos.values()]
    assert set(rows) == {"keep.csv", "keep.json", "scores.csv", "scores.json"}
    for kind in ("keep", "scores"):
        for table, tree in zip(rows[f"{kind}.csv"], rows[f"{kind}.json"], strict=True):
            np.testing.assert_array_equal(table, tree)
    holiday, market = rows["keep.csv"]
    assert holiday[0].tolist() == [1] * 5 + [0] * 5 + [1] * 3 + [0] * 3  # two picks a second
    assert market[1].tolist() == [0] * 16


def test_what_a_group_holds(films: Path, tmp_path: Path) -> None:
    table = "video,annotator,start_s,end_s,score\nholiday,anna,0,4,5\nholiday,anna,4,8,2\nmarket,anna,0,8,3\n"
    result = prepared(films, tmp_path / "mine.h5", table)
    assert (result.kind, result.failures, result.parts) == ("tvsum", (), None)
    with h5py.File(tmp_path / "mine.h5") as file:
        assert dict(file.attrs) == {
            "dataset": "tvsum", "backbone": "efficientnet_lite0", "normalised": "l2", "fps": 2.0,
        }  # fmt: skip
        group = {key: value[()] for key, value in file["holiday"].items()}
    assert group["n_frames"] == 80
    assert group["n_steps"] == 16
    assert group["fps"] == pytest.approx(10)
    assert group["video_name"] == b"holiday"
    assert group["picks"].tolist() == list(range(0, 80, 5))
    assert np.linalg.norm(group["features"].astype(np.float32), axis=1) == pytest.approx(1, abs=1e-3)
    backbone = load_backbone()
    with sample(films / "holiday.mp4", 2.0) as samples:
        direct = backbone.extract(np.stack([taken.image for taken in samples]))
    np.testing.assert_allclose(group["features"], direct, atol=1e-3)
    bounds, lengths = group["change_points"], group["n_frame_per_seg"]
    assert lengths.sum() == 80
    assert (lengths == bounds[:, 1] - bounds[:, 0] + 1).all()
    assert lengths.max() <= 0.15 * 80  # or the knapsack could never take it
    scores = group["user_scores"]
    assert scores.tolist() == [[5] * 40 + [2] * 40]
    assert group["gtscore"].tolist() == [1] * 8 + [0.25] * 8
    chosen = knapsack(segment_means(scores[0], bounds), lengths, 12)
    assert group["user_summary"].tolist() == [np.repeat(chosen, lengths).tolist()]
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".csv"] == ["mine.h5"]


def test_variable_frame_rate(tmp_path: Path) -> None:
    """Twenty frames in the first second, then one a second: what is kept from 1 s on is few frames."""
    times_ms = [*range(0, 1000, 50), *range(1000, 11_000, 1000)]
    make_film(tmp_path / "slides.mkv", n_frames=30, times_ms=times_ms)
    table = tmp_path / "people.csv"
    table.write_text("video,annotator,start_s,end_s\nslides,anna,1,4\nslides,ben,0.5,1\n")
    prepare([tmp_path / "slides.mkv"], tmp_path / "mine.h5", annotations=table)
    video = load_dataset(tmp_path / "mine.h5").videos["slides"]
    assert video.user_summaries is not None
    assert [np.flatnonzero(row).tolist() for row in video.user_summaries] == [[20, 21, 22], list(range(10, 20))]
    assert video.segments.picks.tolist() == [0, 10, *range(20, 30)]


def test_a_stopped_run_goes_on_where_it_was(films: Path, tmp_path: Path) -> None:
    output = tmp_path / "mine.h5"
    folder = shutil.copytree(films, tmp_path / "films")

    def stop_at_the_second(path: Path, *_: object) -> None:
        if path.name == "market.mp4":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepared(folder, output, progress=stop_at_the_second)
    assert not output.exists()
    (part,) = (tmp_path / "mine.h5.parts").iterdir()
    part_of_holiday = part.read_bytes()
    assert [video.reused for video in prepared(folder, output, KEEP).videos] == [True, False]
    assert not (tmp_path / "mine.h5.parts").exists()
    prepared(folder, tmp_path / "at_once.h5", KEEP)
    assert load_dataset(output).fingerprint == load_dataset(tmp_path / "at_once.h5").fingerprint

    def goes_on_after(change: str, **settings: Any) -> bool:
        (tmp_path / "mine.h5.parts").mkdir()
        part.write_bytes(b"PK damaged" if change == "damage" else part_of_holiday)
        if change == "a newer video":
            os.utime(folder / "holiday.mp4", ns=(1, 1))
        return prepared(folder, output, **settings).videos[0].reused

    assert goes_on_after("nothing")
    assert not goes_on_after("other settings", fps=1.0)
    assert not goes_on_after("damage")
    assert not goes_on_after("a newer video")


def test_what_cannot_be_used_is_left_out(films: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(films, tmp_path / "films")
    (folder / "broken.mp4").write_bytes(b"not a video")
    output = tmp_path / "mine.h5"
    result = prepared(folder, output, KEEP.replace("4,6", "4,66") + "broken,anna,1,2\n")
    assert {path.name: type(error) for path, error in result.failures} == {
        "broken.mp4": VideoError, "market.mp4": DataError,
    }  # fmt: skip
    assert "line 4: 4 to 66 s is past the end of 'market' (8.00 s)" in str(result.failures[1][1])
    assert list(load_dataset(output).videos) == ["holiday"]
    assert result.parts == tmp_path / "mine.h5.parts"
    (folder / "broken.mp4").unlink()
    again = prepared(folder, output, KEEP)
    assert [video.reused for video in again.videos] == [True, True]
    assert not result.parts.exists()


def test_nothing_is_written_if_nothing_is_left(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        (tmp_path / name).write_bytes(b"not a video")
    with pytest.raises(DataError, match=r"none of the 2 videos can be used.*a\.mp4"):
        prepare([tmp_path / "a.mp4", tmp_path / "b.mp4"], tmp_path / "mine.h5")
    with pytest.raises(VideoError, match=r"a\.mp4"):
        prepare([tmp_path / "a.mp4"], tmp_path / "mine.h5")
    assert {path.name for path in tmp_path.iterdir()} == {"a.mp4", "b.mp4"}


def test_files_of_others_in_the_folder_of_parts_stay(films: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.h5.parts").mkdir()
    (tmp_path / "mine.h5.parts" / "thesis.txt").write_text("years of work")
    prepare([films / "holiday.mp4"], tmp_path / "mine.h5")
    assert [path.name for path in (tmp_path / "mine.h5.parts").iterdir()] == ["thesis.txt"]


def test_names_of_groups() -> None:
    names = ["My holiday", "Café", "..", "a[b]/c d.e.mp4", "x².mp4", "٣.mp4", "\udcff.mp4"]
    assert list(group_names(map(Path, names))) == ["My_holiday", "Café", "video", "c_d.e", "x2", "٣", "_"]
    with pytest.raises(ConfigError, match=r"b/a\.mkv: would have the same name in the file as a\.mp4 \('a'\); rename"):
        group_names([Path("a.mp4"), Path("b/a.mkv")])
    with pytest.raises(ConfigError, match="none were given"):
        group_names([])


@pytest.mark.parametrize("fps", [0, -1, float("nan"), float("inf"), 1e-9])
def test_wrong_rates(films: Path, tmp_path: Path, fps: float) -> None:
    with pytest.raises(ConfigError, match="not a sampling rate"):
        prepared(films, tmp_path / "mine.h5", fps=fps)
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written(films: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is a folder"):
        prepared(films, tmp_path)
    with pytest.raises(OutputError, match="cannot be made"):
        prepared(films, tmp_path / "file" / "mine.h5")
