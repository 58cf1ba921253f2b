"""How far long work is, on a terminal and in a log."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from vastsum.cli import progress
from vastsum.cli.progress import counting


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    text = io.StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=text, width=60))
    return text


def test_a_log_gets_a_line_now_and_then(written: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    with counting(transient=True) as bars:
        bar = bars.add_task("videos", total=50)
        for n in range(10):
            now = 13.0 * n
            bars.update(bar, completed=n, description=rf"\[{n}].mp4")
    lines = [line.split(",")[0] for line in written.getvalue().splitlines() if line]
    assert lines == ["[5].mp4 5/50"]  # at 65 s; the next would come at 125


def test_a_terminal_gets_no_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(progress, "errors", Console(file=text, width=60, force_terminal=True))
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    with counting(transient=True) as bars:
        bars.update(bars.add_task("videos", total=50), completed=3)
    assert "videos 3/50" not in text.getvalue()


@pytest.mark.usefixtures("written")
def test_time_left_is_known_where_steps_take_minutes() -> None:
    now = 0.0
    with counting() as bars:
        bars.get_time = lambda: now
        bar = bars.add_task("training", total=10)
        for n in range(1, 4):
            now = 90.0 * n
            bars.update(bar, completed=n)
        (task,) = bars.tasks
        assert task.time_remaining == 7 * 90


@pytest.mark.parametrize(("seconds_left", "shown"), [(3725.4, "1:02:05"), (None, "-:--:--")])
def test_time_left_may_be_reckoned_elsewhere(
    written: io.StringIO, monkeypatch: pytest.MonkeyPatch, seconds_left: float | None, shown: str
) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    with counting() as bars:
        bar = bars.add_task("training", total=10, seconds_left=None)
        bars.update(bar, completed=3, seconds_left=seconds_left)
        assert ("1:02:05 left" in written.getvalue()) == (seconds_left is not None)
    assert shown in written.getvalue().splitlines()[-1]
