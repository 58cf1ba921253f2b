"""The bench: all methods under one protocol, resumable, honest about what failed."""

from __future__ import annotations

import csv
import gzip
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from typer.testing import CliRunner

from vastsum.bench import cost
from vastsum.bench.choosing import chance
from vastsum.bench.data import Dataset, load_splits
from vastsum.bench.judges import Judges
from vastsum.bench.methods.clip_it import ClipIt
from vastsum.bench.methods.csta import Csta, GoogLeNet, Weights, read_imagenet
from vastsum.bench.methods.learned import LearnedMethod, Moment, Phase, Recipe
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.registry import GIVEN, IMAGENET, METHODS, Entry, from_imagenet
from vastsum.bench.pace import Pace
from vastsum.bench.page.pictures import curves
from vastsum.bench.plan import Benchmark, Plan, open_plan
from vastsum.bench.records import add, packed, read, unpacked
from vastsum.bench.report import Row, VideoResult
from vastsum.bench.rows import Interval, by_video, difference, interval, method_rows
from vastsum.bench.tables import write_tables
from vastsum.bench.work import waiting_groups, work
from vastsum.cli.app import app
from vastsum.errors import CheckpointError, ConfigError, DataError, OutputError
from vastsum.types import PAPER_DECODER, Kind, Prediction

DOCS = Path(__file__).resolve().parents[2] / "docs"


def plan_of(folder: Path, *datasets: Dataset, methods: tuple[str, ...], **changes: object) -> Plan:
    given = {"protocols": ("5fcv", "tvt", "last"), "n_seeds": 1, "max_epochs": 2} | changes
    return Plan(folder, tuple(Benchmark(data, load_splits(data)) for data in datasets), methods, **given)


def cut_short(dataset: Dataset) -> Dataset:
    """The same file with another content: a video less."""
    *kept, _ = dataset.videos.items()
    return replace(dataset, videos=dict(kept))


def run(plan: Plan, *, resume: bool = False, together: int = 5) -> None:
    open_plan(plan, resume=resume)
    work(plan, lambda *_: None, workers=1, device="cpu", together=together)


class Mean(LearnedMethod):
    """The quickest thing that learns: one linear layer."""

    recipe = Recipe(epochs=3, batch_size=2, learning_rate=1e-2)
    MARGIN = 0.0

    def build(self, feature_width: int) -> nn.Module:
        return Linear(feature_width)

    def losses(self, output: Tensor, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        return {"total": ((output - batch.targets) ** 2 * batch.mask).sum(dim=1)}

    def importance(self, output: Tensor, batch: Batch) -> Tensor:
        return output


class Linear(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.score = nn.Linear(width, 1)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        return self.score(features).squeeze(-1)


class Broken(Mean):
    def build(self, feature_width: int) -> nn.Module:
        raise ArithmeticError("this method cannot count")


class Hungry(Mean):
    """More than two trainings of it at once, or a long video, are too much for the memory."""

    longest = 10_000

    def losses(self, output: Tensor, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        if len(batch) > 2 or output.shape[1] > self.longest:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().losses(output, batch, moment)


class Insatiable(Hungry):
    longest = 1


class Flat(Mean):
    """A network that has collapsed: its scores differ in the ninth digit."""

    def importance(self, output: Tensor, batch: Batch) -> Tensor:
        return 1e-9 * output


@pytest.fixture
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mean", Entry("Mean", lambda _: Mean()))
    monkeypatch.setitem(METHODS, "flat", Entry("Flat", lambda _: Flat()))
    monkeypatch.setitem(METHODS, "broken", Entry("Broken", lambda _: Broken()))
    monkeypatch.setitem(METHODS, "hungry", Entry("Hungry", lambda _: Hungry()))
    monkeypatch.setitem(METHODS, "insatiable", Entry("Insatiable", lambda _: Insatiable()))
    monkeypatch.setitem(METHODS, "absent", Entry("Absent", missing="needs what no file has"))


def test_time_left_is_reckoned_by_each_method_s_own_pace(tmp_path: Path, tvsum: Dataset) -> None:
    """Closed forms are done at once, and one method may take a hundred times as long as another."""
    now = 0.0
    plan = plan_of(tmp_path, tvsum, methods=("ridge", "vasnet", "csta"))  # ten trainings each: five splits, two parts
    pace = Pace(plan, lambda: now)
    for _ in range(10):
        pace.count("ridge on tvsum", 1)
    assert pace.seconds_left is None, "nothing is known of those that are trained"
    now += 20
    pace.count("vasnet on tvsum", 2)
    assert pace.seconds_left == pytest.approx(8 * 10 + 10 * 10)
    now += 80
    pace.count("vasnet on tvsum", 8)
    now += 100
    pace.count("csta on tvsum", 0.1)
    assert pace.seconds_left == pytest.approx(9.9 * 1000)
    pace.count("csta on tvsum", -0.1)  # a group that memory did not hold begins anew
    assert pace.seconds_left == pytest.approx(10 * 10)


@pytest.mark.usefixtures("methods")
def test_a_bench_writes_every_training_and_every_table(tmp_path: Path, tvsum: Dataset, summe: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, summe, methods=("length", "ridge", "mean", "absent"), n_seeds=2)
    run(plan)
    assert all(plan.is_done(task) for task in plan.all_tasks())
    assert sum(task.method == "mean" for task in read(plan.folder, "tvsum")) == 2 * 2 * 5  # regimes, seeds, splits
    tables = write_tables(plan)
    assert [table.name for table in tables][:7] == [
        "tvsum.5fcv", "tvsum.tvt", "tvsum.last", "tvsum.splits", "tvsum.differences", "tvsum.uncertainty",
        "tvsum.choosing",
    ]  # fmt: skip
    assert tables[4].columns == (
        "method", "protocol", "over lengths", "over ridge", "over channels", "over VASTSum (paper)", "over VASTSum",
    )  # fmt: skip
    for table in tables:
        with (plan.folder / "tables" / f"{table.name}.csv").open() as file:
            assert [tuple(row) for row in csv.reader(file)] == [table.columns, *table.rows]
        assert r"\toprule" in (plan.folder / "tables" / f"{table.name}.tex").read_text()
    assert (plan.folder / "tables" / "tvsum.last.svg").read_text().startswith("<svg")
    page = (plan.folder / "tables" / "tables.html").read_text()
    assert "<title>tvsum, summe</title>" in page
    assert page.count('"method":"Mean, 2 of 3 epochs","protocol":"5fcv"') == 2 * 2  # files, tables
    assert page.count('"method":"Human"') == 2  # once a file, not once a protocol
    text = (plan.folder / "tables" / "tables.md").read_text()
    assert "Absent: needs what no file has" in text
    assert "| Mean, 2 of 3 epochs |" in text
    assert "published" not in tables[0].markdown().split("\n\n", 1)[1].split("|", 1)[0]


@pytest.mark.usefixtures("methods")
def test_a_table_says_what_choosing_on_test_buys(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("length", "mean"), max_epochs=2)
    run(plan)
    tests = {0: [0.1, 0.3], 1: [0.2, -0.4]}  # by split; the others have both epochs alike
    for task in plan.tasks(plan.benchmarks[0], "mean"):
        found = tests.get(task.split, [0.0, 0.0]) if task.regime == "whole" else [0.9, 0.9]
        add(plan.folder, read(plan.folder, "tvsum")[task] | {"watched_tau": found})
    tables = write_tables(plan)
    table = tables[-1]
    assert table.name == "tvsum.choosing"
    chance_alone = table.rows[0][table.columns.index("best of all")]
    noted = {each.name for each in tables for note in each.notes if note.endswith(f"are at τ {chance_alone}")}
    assert noted == {"tvsum.5fcv"}
    assert "draws chosen on test, are at" in (plan.folder / "tables" / "tables.html").read_text()
    cells = dict(zip(table.columns, table.rows[1], strict=True))
    assert [row[0] for row in table.rows] == ["Random", "Mean, 2 of 3 epochs"]  # a closed form has no epochs
    assert (cells["mean of all"], cells["last"], cells["best of all"], cells["bought"]) == (
        "0.020", "−0.020", "0.100", "0.120",
    )  # fmt: skip
    assert (cells["best of 10"], cells["best epoch"]) == ("—", "1")
    drawn = ElementTree.parse(plan.folder / "tables" / "tvsum.choosing.svg").getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Mean, 2 of 3 epochs", "2 epochs", "best 0.100", "last −0.020"} <= set(texts)
    assert [line.get("class") for line in drawn.iter("{http://www.w3.org/2000/svg}line")][-2:] == ["lengths", "chosen"]


@pytest.mark.usefixtures("methods")
def test_each_table_counts_its_own_seeds(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("mean",), protocols=("tvt", "last"), n_seeds=2, max_epochs=3)
    run(replace(plan, protocols=("tvt",), n_seeds=1))
    run(replace(plan, protocols=("last",)), resume=True)
    tvt, last, *_ = write_tables(plan)
    assert (tvt.rows[-1][:2], last.rows[-1][:2]) == (("Mean", "1"), ("Mean", "2"))
    assert "Mean: 5 trainings are still to be done" in tvt.notes


@pytest.mark.parametrize("method", [name for name, entry in METHODS.items() if entry.learn])
def test_every_method_has_a_cost(method: str, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "MINUTES", 1)
    monkeypatch.setattr(cost, "ROUNDS", 1)
    found = cost.measure_cost(METHODS[method], Benchmark(tvsum, load_splits(tvsum)))
    assert found.n_parameters is not None
    assert min(found.n_parameters, found.multiply_adds, found.milliseconds) > 0


@pytest.mark.usefixtures("methods")
def test_the_rows_of_one_bench_are_in_the_order_they_must_be(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("length", "ridge", "mean"))
    run(plan)
    taus = {
        row.name: cells["tau"]["mean"]
        for row in method_rows(plan, plan.benchmarks[0])
        if row.rows and "tau" in (cells := row.rows["last"].summary())
    }
    assert taus["mean-annotator"] == max(taus.values())
    assert taus["length-only"] == 0.0
    assert abs(taus["random"]) < 0.05 < taus["ridge"]


@pytest.mark.usefixtures("methods")
def test_a_failed_method_is_a_row_and_is_tried_again(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("broken", "ridge"), protocols=("last",))
    run(plan)
    rows = {row.name: row for row in method_rows(plan, plan.benchmarks[0])}
    assert rows["broken"].missing == "failed: ArithmeticError: this method cannot count"
    assert rows["ridge"].rows
    assert not write_tables(plan)[0].rows[-2][2].strip("—")
    monkeypatch.setitem(METHODS, "broken", Entry("Mended", lambda _: Mean()))
    run(plan, resume=True)
    assert not {row.name: row for row in method_rows(plan, plan.benchmarks[0])}["broken"].missing


@pytest.mark.usefixtures("methods")
def test_trainings_that_memory_does_not_hold_together_are_done_apart(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("mean", "hungry", "insatiable"), protocols=("last",), n_seeds=2)
    open_plan(plan, resume=False)
    done: list[float] = []
    work(plan, lambda _, more: done.append(more), workers=1, device="cpu", together=10)
    assert sum(done) == pytest.approx(3 * 2 * 5)  # methods, seeds, splits
    rows = {row.name: row for row in method_rows(plan, plan.benchmarks[0])}
    assert rows["insatiable"].missing == "failed: OutOfMemoryError: CUDA out of memory"
    mean, hungry = (rows[name].rows["last"].summary()["tau"] for name in ("mean", "hungry"))
    assert hungry["mean"] == pytest.approx(mean["mean"], abs=1e-6)


@pytest.mark.usefixtures("methods")
def test_what_is_done_is_never_done_again(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("mean",))
    run(plan)
    written = dict(read(plan.folder, "tvsum"))
    more = plan_of(tmp_path / "bench", tvsum, methods=("ridge", "mean"), n_seeds=2)
    run(more, resume=True)
    assert all(more.is_done(task) for task in more.all_tasks())
    assert {task: read(plan.folder, "tvsum")[task] for task in written} == written


@pytest.mark.parametrize(("device", "together", "sizes"), [
    ("cpu", None, {"mean": 1, "vastsum": 4}), ("cuda", None, {"mean": 15, "vastsum": 15}), ("cpu", 3, {"mean": 3}),
    ("cuda", None, {"csta": 1}),
])  # fmt: skip
@pytest.mark.usefixtures("methods")
def test_as_many_train_together_as_suit_the_device(
    tmp_path: Path, tvsum: Dataset, device: str, together: int | None, sizes: dict[str, int]
) -> None:
    plan = plan_of(tmp_path, tvsum, methods=tuple(sizes), protocols=("last",), n_seeds=3)
    groups = list(waiting_groups(plan, device, together))
    for method, size in sizes.items():
        assert max(len(group.tasks) for group in groups if group.tasks[0].method == method) == size
    assert sum(len(group.tasks) for group in groups) == 15 * len(sizes)


@pytest.mark.usefixtures("methods")
def test_together_or_apart_the_numbers_are_the_same(tmp_path: Path, tvsum: Dataset) -> None:
    plans = [plan_of(tmp_path / name, tvsum, methods=("mean",), n_seeds=2) for name in ("together", "apart")]
    for plan, together in zip(plans, (50, 1), strict=True):
        run(plan, together=together)
    for task in plans[0].all_tasks():
        one, other = (plan.result(task)["videos"] for plan in plans)
        for protocol, videos in one.items():
            for video, found in videos.items():
                assert found["tau"] == pytest.approx(other[protocol][video]["tau"], abs=1e-4)


def test_worker_processes_judge_as_this_one_does(summe: Dataset) -> None:
    videos = list(summe.videos.values())
    rng = np.random.default_rng(0)
    predicted = [(Prediction.certain(rng.random(len(video.segments.picks))), video) for video in videos]
    with Judges("summe", videos) as alone, Judges("summe", videos, 2) as many:
        assert list(many.judge(predicted)) == list(alone.judge(predicted))
        assert many.measure(predicted[:1]) == alone.measure(predicted[:1])
        assert list(many.judge([])) == []


def test_a_bench_of_other_data_is_refused(tmp_path: Path, tvsum: Dataset, summe: Dataset) -> None:
    folder = tmp_path / "bench"
    run(plan_of(folder, tvsum, methods=("length",)))
    with pytest.raises(OutputError, match="exists already"):
        open_plan(plan_of(folder, tvsum, methods=("length",)), resume=False)
    with pytest.raises(ConfigError, match="another max_epochs"):
        open_plan(plan_of(folder, tvsum, methods=("length",), max_epochs=9), resume=True)
    open_plan(plan_of(folder, summe, methods=("length",)), resume=True)  # another file may join
    with pytest.raises(ConfigError, match="another data"):  # the first one is still known
        open_plan(plan_of(folder, cut_short(tvsum), methods=("length",)), resume=True)
    open_plan(plan_of(folder, tvsum, summe, methods=("length",)), resume=True)
    with pytest.raises(ConfigError, match="is not known"):
        plan_of(folder, tvsum, methods=("nonsense",))
    with pytest.raises(ConfigError, match="not positive"):
        plan_of(folder, tvsum, methods=("length",), n_seeds=0)
    with pytest.raises(ConfigError, match="two files"):
        plan_of(folder, tvsum, tvsum, methods=("length",))


def test_a_bench_of_an_earlier_format_is_refused(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("length",))
    open_plan(plan, resume=False)
    path = plan.folder / "bench.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))
    with pytest.raises(ConfigError, match="format 1, this version of vastsum reads format 2"):
        open_plan(plan, resume=True)


@pytest.mark.parametrize("damaged", ["tvsum.csv.gz", "tvsum.jsonl.gz"])
def test_damaged_records_are_told(tmp_path: Path, tvsum: Dataset, damaged: str) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("length",), protocols=("last",))
    run(plan)
    path = plan.folder / damaged
    path.write_bytes(path.read_bytes()[:-9])
    read.cache_clear()
    for touch in (
        lambda: plan.result(next(plan.all_tasks())),
        lambda: open_plan(plan, resume=True, retrain=["length"]),
    ):
        with pytest.raises(
            DataError, match=r"tvsum\.jsonl\.gz.* or tvsum\.csv\.gz beside it cannot be read .*restore both"
        ):
            touch()


@pytest.mark.parametrize("width", [1.0, 1e-12, 0.0])
def test_curves_are_kept_to_a_fraction_of_their_own_range(width: float) -> None:
    mean, std = 0.3 + width * np.random.default_rng(0).random((2, 500))
    prediction = Prediction(mean, std, PAPER_DECODER)
    found = unpacked(json.loads(json.dumps(packed(prediction))))
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=width * 1e-5 + 1e-16)
    np.testing.assert_allclose(found.std, std, rtol=0, atol=width * 1e-5 + 1e-16)
    assert found.decoder == prediction.decoder


@pytest.mark.usefixtures("methods")
def test_a_method_that_has_collapsed_is_told(tmp_path: Path, tvsum: Dataset) -> None:
    plan = plan_of(
        tmp_path / "bench", tvsum, methods=("length", "mean", "flat"), protocols=("tvt", "last"), max_epochs=3
    )
    run(plan)
    tables = write_tables(plan)
    told = [note.partition(" trainings")[0] for table in tables[:2] for note in table.notes if "collapsed" in note]
    # neither of what learns, nor of what is constant on purpose
    assert told == ["Flat: under tvt, 5 of 5", "Flat: under last, 5 of 5"]
    assert "have collapsed" in (plan.folder / "tables" / "tables.html").read_text(encoding="utf-8")


def row_of(values: dict[str, float]) -> Row:
    return Row("x", "last", "", [VideoResult(name, 0, 0, {"tau": value}) for name, value in values.items()])


def test_the_bootstrap_sees_what_is_real() -> None:
    rng = np.random.default_rng(0)
    base = {f"v{n}": float(value) for n, value in enumerate(rng.normal(0.2, 0.2, 50))}
    better = {name: value + 0.02 + 0.01 * float(rng.normal()) for name, value in base.items()}
    found = difference(row_of(better), row_of(base))
    assert found is not None
    assert found.is_real  # though single videos vary ten times as much: they are paired
    assert found.mean == pytest.approx(0.02, abs=0.005)
    noisy = {name: value + 0.2 * float(rng.normal()) for name, value in base.items()}
    assert not difference(row_of(noisy), row_of(base)).is_real
    assert difference(row_of({"a": 1.0}), row_of({"b": 1.0})) is None
    assert interval([0.5] * 9) == Interval(0.5, 0.5, 0.5)


def test_seeds_are_averaged_before_videos_are_resampled() -> None:
    row = Row("x", "last", "", [VideoResult("a", 0, seed, {"tau": tau}) for seed, tau in enumerate((0.1, 0.3))])
    assert by_video(row) == {(0, "a"): pytest.approx(0.2)}


def test_the_command_shows_tables_and_names_bad_arguments(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    base = ["benchmark", str(synthetic_files["summe"]), "-o", str(tmp_path / "bench"), "--methods", "length,ridge"]
    done = CliRunner().invoke(app, [*base, "--workers", "1"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "Length only" in done.stdout
    assert "Mean annotator" in done.stdout
    assert "published" not in done.stdout.split("·")[0], "nothing is, for such videos"
    for extra, problem in (
        (["--protocol", "sixfold"], "sixfold"),
        (["--methods", "nope"], "nope"),
        (["--device", "cuda:99"], "cuda:99"),
        (["--methods", "csta:imagenet"], "csta:imagenet.*--imagenet"),
    ):
        with pytest.raises(ConfigError, match=problem):
            CliRunner().invoke(app, [*base, *extra], catch_exceptions=False)


def thin_csta(weights: Weights, _: Kind) -> Csta:
    return Csta(weights, thinner=16)


def test_a_method_that_is_given_weights_has_a_row_of_its_own(tmp_path: Path, tvsum: Dataset) -> None:
    """Trained by worker processes, to which it has to travel."""
    save_file(GoogLeNet(thinner=16).state_dict(), tmp_path / "googlenet.safetensors")
    weights = read_imagenet(tmp_path / "googlenet.safetensors", thinner=16)
    given = {IMAGENET: Entry("CSTA, from ImageNet", partial(thin_csta, weights))}
    plan = plan_of(
        tmp_path / "bench", tvsum, methods=("length", IMAGENET), protocols=("last",), max_epochs=1, given=given
    )
    open_plan(plan, resume=False)
    work(plan, lambda *_: None, workers=2, device="cpu")
    row = method_rows(plan, plan.benchmarks[0])[-1]
    assert (row.title, row.missing) == ("CSTA, from ImageNet, 1 of 100 epochs", "")
    other = {name: weight + 1 for name, weight in weights.items()}
    changed = replace(plan, given={IMAGENET: Entry("CSTA, from ImageNet", partial(thin_csta, other))})
    assert "5 trainings had other settings than today's" in method_rows(changed, plan.benchmarks[0])[-1].note


def test_the_command_takes_weights_by_path(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    weights = tmp_path / "googlenet.safetensors"
    asked = ["benchmark", str(synthetic_files["tvsum"]), "--methods", "length", "--imagenet", str(weights),
             "--protocol", "last", "--seeds", "1", "--workers", "1"]  # fmt: skip
    with pytest.raises(CheckpointError, match=r"googlenet\.safetensors"):
        CliRunner().invoke(app, [*asked, "-o", str(tmp_path / "none")], catch_exceptions=False)
    assert not (tmp_path / "none").exists()
    trained = GoogLeNet()
    save_file(trained.state_dict(), weights)
    entry = from_imagenet(weights)[IMAGENET]
    assert entry.learn is not None
    built = entry.learn("tvsum").build(24)
    torch.testing.assert_close(built.get_submodule("cnn").state_dict(), trained.state_dict())


def test_clip_it_runs_on_a_file_with_text_beside_the_frames(
    tmp_path: Path,
    synthetic_files: dict[str, Path],
    script: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As someone makes it who has CLIP's embeddings of frames and captions, in a benchmark file each."""
    monkeypatch.setitem(GIVEN, "clip-it:text", replace(GIVEN["clip-it:text"], learn=lambda _: ClipIt(width=32)))
    both = tmp_path / "tvsum.clip.h5"
    script("studies/side_by_side").side_by_side([synthetic_files["tvsum"]] * 2, both)
    asked = ["benchmark", str(both), "--methods", "clip-it,clip-it:text", "--protocol", "last", "--seeds", "1",
             "--max-epochs", "1", "--workers", "1", "-o", str(tmp_path / "bench")]  # fmt: skip
    assert CliRunner().invoke(app, asked, catch_exceptions=False).exit_code == 0
    with (tmp_path / "bench" / "tables" / "tvsum.clip.last.csv").open(encoding="utf-8") as file:
        rows = {row["method"]: row for row in csv.DictReader(file)}
    assert rows["CLIP-It"]["τ"] == "—"
    assert rows["CLIP-It, 1 of 20 epochs"]["τ"] != "—"


KILLED_AFTER_THREE = """
import os, signal
from vastsum.bench import records, work
from vastsum.cli import main

add, write, begun = records.add, records._write, []

def count(folder, record):
    begun.append(record)
    add(folder, record)

def write_or_die(path, *content):
    if len(begun) == 4 and path.name == "tvsum.csv.gz":
        os.kill(os.getpid(), signal.SIGKILL)
    write(path, *content)

work.add, records._write = count, write_or_die
main()
"""


def test_a_killed_bench_goes_on_where_it_was(tmp_path: Path, synthetic_files: dict[str, Path]) -> None:
    folder = tmp_path / "bench"
    asked = ["benchmark", str(synthetic_files["tvsum"]), "-o", str(folder), "--methods", "vasnet", "--max-epochs", "2",
             "--seeds", "1", "--together", "1", "--workers", "1", "--protocol", "last"]  # fmt: skip
    quiet = {"stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    killed = subprocess.run([sys.executable, "-c", KILLED_AFTER_THREE, *asked], check=False, **quiet)
    assert killed.returncode == -signal.SIGKILL
    before = dict(read(folder, "tvsum"))
    assert [bool(record["videos"]) for record in before.values()] == [True, True, True, False]
    subprocess.run([sys.executable, "-m", "vastsum", *asked, "--resume"], check=True, **quiet)
    read.cache_clear()
    after = read(folder, "tvsum")
    assert len(after) == 5
    assert all(record["videos"] for record in after.values())
    assert [after[task] for task in before][:3] == [*before.values()][:3]
    with gzip.open(folder / "tvsum.csv.gz", "rt") as file:
        lines = [tuple(row[:5]) for row in csv.reader(file)]
    assert len(set(lines)) == len(lines), "each training once"


@pytest.mark.usefixtures("methods")
def test_a_training_that_was_killed_goes_on_where_it_was(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    told: list[float] = []

    def dies(_: str, done: float) -> None:
        told.append(done)
        if len(told) == 2:
            raise Killed

    monkeypatch.setattr("vastsum.bench.checkpoints.BOOKMARK_EVERY_S", 0.0)
    whole, resumed = (
        plan_of(tmp_path / name, tvsum, methods=("mean",), protocols=("5fcv", "last"), n_seeds=1, max_epochs=3)
        for name in ("whole", "resumed")
    )
    for plan in (whole, resumed):
        open_plan(plan, resume=False)
    work(whole, lambda *_: None, workers=1, device="cpu", together=5)
    with pytest.raises(Killed):
        work(resumed, dies, workers=1, device="cpu", together=5)
    assert len(list(resumed.folder.rglob("*.safetensors"))) == 1
    shares: list[float] = []
    work(resumed, lambda _, done: shares.append(done), workers=1, device="cpu", together=5)
    assert shares[:-1] == pytest.approx([5 / 2] * 2), "after the first of three: the second was not written down"
    for task in whole.all_tasks():
        expected, found = whole.result(task), resumed.result(task)
        assert expected is not None
        assert found is not None
        assert found | {"seconds": 0} == expected | {"seconds": 0}
    assert not (resumed.folder / "bookmarks").exists()


@pytest.mark.parametrize(("setting", "value"), [
    ("recipe", replace(Mean.recipe, learning_rate=1e-3)), ("phases", {"": Phase(slowed=0.1)}), ("MARGIN", 0.1)
])  # fmt: skip
@pytest.mark.usefixtures("methods")
def test_trainings_of_other_settings_are_told_and_replaced(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch, setting: str, value: object
) -> None:
    plan = plan_of(tmp_path / "bench", tvsum, methods=("mean",), protocols=("5fcv", "tvt"))
    run(plan)
    assert not method_rows(plan, plan.benchmarks[0])[-1].note
    monkeypatch.setattr(Mean, setting, value)
    (note,) = method_rows(plan, plan.benchmarks[0])[-1].notes("5fcv")
    assert note == "10 trainings had other settings than today's; --retrain mean replaces them"
    both = replace(plan, methods=("ridge", "mean"))
    run(both, resume=True)
    with pytest.raises(ConfigError, match=r"--retrain.*name them in --methods"):
        open_plan(both, resume=True, retrain=["length"])
    kept = {task: record for task, record in read(plan.folder, "tvsum").items() if task.method == "ridge"}
    open_plan(both, resume=True, retrain=["mean"])
    assert read(plan.folder, "tvsum") == kept
    run(both, resume=True)
    assert not method_rows(both, plan.benchmarks[0])[-1].note


def test_the_example_in_the_docs_is_a_method_that_works(
    tmp_path: Path, tvsum: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (DOCS / "adding-a-method.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "class " in block)
    assert len(code.strip().splitlines()) <= 45
    module = {}
    exec(compile(code, "adding-a-method.md", "exec"), module)
    monkeypatch.setitem(METHODS, "glance", Entry("Glance", lambda _: module["Glance"]()))
    plan = plan_of(tmp_path / "bench", tvsum, methods=("glance",), protocols=("last",), max_epochs=40)
    run(plan)
    (row,) = [row for row in method_rows(plan, plan.benchmarks[0]) if row.name == "glance"]
    assert not row.missing
    assert row.rows["last"].summary()["tau"]["mean"] > 0.2


def test_choosing_among_random_scores_buys_something_too(tmp_path: Path, summe: Dataset) -> None:
    plan = plan_of(tmp_path, summe, methods=("length",))
    few, many = (chance(plan, plan.benchmarks[0], n_epochs) for n_epochs in (3, 8))
    assert many.shape == (3 * 5, 8)  # seeds and splits
    np.testing.assert_array_equal(many[:, :3], few)
    assert len(np.unique(many)) > 8  # each draws anew
    assert many.max(axis=1).mean() > few.max(axis=1).mean() > many.mean()
    kept = (tmp_path / "chance.json").read_bytes()
    np.testing.assert_array_equal(chance(plan, plan.benchmarks[0], 3), few)
    assert (tmp_path / "chance.json").read_bytes() == kept


def test_the_numbers_of_a_strip_do_not_overlap() -> None:
    for worst, best in ((0.0, 0.2), (-0.1, 0.9), (-1.0, 1.0)):
        drawn = ElementTree.fromstring(curves("odd", {"Wide": np.array([[worst, best]])}))
        texts = drawn.iter("{http://www.w3.org/2000/svg}text")
        numbers = [text for text in texts if re.fullmatch(r"-?\d\.\d", text.text or "")]
        heights = sorted(float(text.attrib["y"]) for text in numbers)
        assert len(heights) >= 2
        assert min(np.diff(heights)) >= 13
