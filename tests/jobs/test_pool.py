"""Tasks are done once each, whatever becomes of those who do them; the same with processes and with Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import chores
import pytest
from chores import Chore
from runs import records_in, results_in, summarize_into, table_in

import vastsum
from vastsum.bench.data import Dataset, load_splits
from vastsum.bench.data.splits import Splits
from vastsum.errors import ConfigError, VastsumError
from vastsum.jobs.cluster import ray_pool
from vastsum.jobs.many import PoolOf
from vastsum.jobs.pool import Finished, WorkerDiedError, share_out

ALL_SORTS: list[Chore] = [
    ("adds", 1), ("kills", 2), ("adds", 3), ("fails", 4), ("kills once", 5), ("fails once", 6), ("adds", 7),
]  # fmt: skip


def test_every_task_ends_once_and_a_poisonous_one_is_left_after_two_tries(pool_of: PoolOf) -> None:
    with pool_of(chores.start) as pool:
        finished = list(share_out(ALL_SORTS, pool))
    by_task = {each.attempt.task: each for each in finished}
    assert len(finished) == len(by_task) == len(ALL_SORTS)
    for kind, number in ALL_SORTS:
        answer = by_task[kind, number].answer
        if kind in ("kills", "fails"):
            assert by_task[kind, number].attempt.number == 2
            assert isinstance(answer, WorkerDiedError if kind == "kills" else VastsumError)
        else:
            assert answer == (number + 1, 2 if kind.endswith("once") else 1)
    assert "(ZeroDivisionError: one)" in str(by_task["fails", 4].answer)
    assert "its process died" in str(by_task["kills", 2].answer)


def test_tasks_are_taken_as_they_can_be_done(pool_of: PoolOf) -> None:
    """However long the list, only as many are held as there are workers."""
    taken = done = most = 0

    def tasks() -> Iterator[Chore]:
        nonlocal taken, most
        for number in range(50):
            taken += 1
            most = max(most, taken - done)
            yield ("adds", number)

    with pool_of(chores.start) as pool:
        for _ in share_out(tasks(), pool):
            done += 1
    assert done == 50
    assert most <= 3  # two under way, and one that is being handed out


def test_what_workers_tell_is_heard_before_their_task_ends(pool_of: PoolOf) -> None:
    heard: list[tuple[str, int]] = []
    with pool_of(chores.start) as pool:
        for finished in share_out([("tells", 3)], pool, told=lambda *what: heard.append(what)):
            assert finished.answer == (4, 1)
            assert heard == [("part", 0), ("part", 1), ("part", 2)]


def test_workers_that_cannot_start_say_why(pool_of: PoolOf) -> None:
    with (
        pytest.raises(ConfigError, match="model: is not there; find it"),
        pool_of(chores.start_in_vain) as pool,
    ):
        list(share_out([("adds", 1)], pool))


def test_workers_that_die_as_they_start_are_given_up(pool_of: PoolOf) -> None:
    with pytest.raises(VastsumError, match="die as they start"), pool_of(chores.start_dying) as pool:
        list(share_out([("adds", 1)], pool))


def test_one_that_dies_as_it_starts_is_replaced(pool_of: PoolOf, tmp_path: Path) -> None:
    with pool_of(partial(chores.start_only_once, tmp_path / "died")) as pool:
        finished: list[Finished[Chore, tuple[int, int]]] = list(share_out([("adds", 1), ("adds", 2)], pool))
    assert sorted(each.attempt.number for each in finished) == [1, 1]
    assert (tmp_path / "died").exists()


def test_all_are_summarised_once_and_the_table_says_so(
    pool_of: PoolOf, films: Callable[[int], Path], tmp_path: Path
) -> None:
    folder, out = films(3), tmp_path / "out"
    outcomes = summarize_into(folder, out, pool_of)
    assert {outcome.status for outcome in outcomes} == {"done"}
    names = {f"{stem}.summary.{ending}" for stem in ("0", "1", "below/2") for ending in ("json", "mp4")}
    assert set(results_in(out)) == names
    rows = table_in(out)
    assert {row["name"] for row in rows} == {"0", "1", "below/2"}
    for row in rows:
        summary = vastsum.Summary.load(out / f"{row['name']}.summary.json")
        assert (row["status"], row["attempts"], row["error"]) == ("done", 1, "")
        assert row["source"] == str(summary.video.path)
        assert (row["video_s"], row["summary_s"]) == (summary.video.duration_s, summary.duration_s)
        assert row["bytes_out"] == sum((out / file).stat().st_size for file in row["files"])
        assert row["bytes_in"] == Path(row["source"]).stat().st_size
        assert 0 < row["watch_s"] + row["write_s"] <= row["seconds"] + 0.01

    before = results_in(out)
    again = summarize_into(folder, out, pool_of)
    assert {outcome.name for outcome in again} == {row["name"] for row in rows}
    assert results_in(out) == before, "what was done is not done again"


def test_killed_workers_cost_nothing_but_time(pool_of: PoolOf, films: Callable[[int], Path], tmp_path: Path) -> None:
    folder, out, killed = films(5), tmp_path / "out", set[str]()

    def kill_two() -> None:
        while len(killed) < 2:
            for record in records_in(out):
                if record["status"] == "started" and record["name"] not in killed:  # twice would be once too often
                    killed.add(record["name"])
                    os.kill(int(record["worker"].rpartition(":")[2]), signal.SIGKILL)
                    break
            time.sleep(0.01)

    killer = threading.Thread(target=kill_two, daemon=True)
    killer.start()
    outcomes = summarize_into(folder, out, pool_of)
    killer.join(30)
    assert len(killed) == 2
    assert Counter(outcome.status for outcome in outcomes) == {"done": 5}
    assert len(results_in(out)) == 10
    assert {outcome.name for outcome in outcomes if outcome.attempts == 2} <= killed
    assert not list(out.rglob("*.part"))


@pytest.mark.usefixtures("cluster")
def test_a_bench_is_the_same_on_a_cluster(tvsum: Dataset, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="training needs torch: pip install '.[train]'")
    from vastsum.bench.plan import Benchmark, Plan, open_plan
    from vastsum.bench.work import work

    first, *_ = load_splits(tvsum).splits
    benchmark = Benchmark(tvsum, Splits("one split", (first,)))

    def plan_in(name: str) -> Plan:
        plan = Plan(tmp_path / name, (benchmark,), ("ridge", "vasnet"), ("last",), n_seeds=2, max_epochs=1)
        open_plan(plan, resume=False)
        return plan

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    here, there = plan_in("here"), plan_in("there")
    work(here, lambda *_: None, workers=1, device="cpu", together=1)
    torch.set_num_threads(threads)
    told: list[tuple[str, float]] = []
    for _ in range(2):  # the second time there is nothing left to do
        pool_of = partial(ray_pool, n_workers=1)
        work(there, lambda *what: told.append(what), workers=1, device="cpu", together=1, cluster=pool_of)
    done = {name: sum(share for what, share in told if what == name) for name, _ in told}
    assert done == {"ridge on tvsum": 1, "vasnet on tvsum": 2}
    for task in here.all_tasks():
        ours, theirs = here.result(task), there.result(task)
        assert ours is not None
        assert theirs is not None
        assert "failed" not in ours
        assert ours["videos"] == theirs["videos"]
