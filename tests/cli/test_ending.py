"""A request to end arrives, whatever the code is doing that it falls into."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from vastsum.cli.ending import tidy_when_ended


@pytest.fixture(autouse=True)
def _as_in_a_terminal() -> Iterator[None]:
    """A shell has its background jobs ignore Ctrl-C, and the tests may run in one."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
def test_one_that_was_lost_is_told_again(number: signal.Signals, expected: type[BaseException]) -> None:
    before = signal.getsignal(number)
    went_on = False
    try:
        with tidy_when_ended() as heed:
            heed()
            with pytest.raises(expected):
                signal.raise_signal(number)
            heed()
            went_on = True
    except expected:
        pass
    assert not went_on
    assert signal.getsignal(number) is before


def test_one_that_became_another_error_is_told_in_its_place() -> None:
    def load() -> None:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    with pytest.raises(KeyboardInterrupt), tidy_when_ended():
        load()


def test_one_that_was_lost_at_the_very_end_is_told_then() -> None:
    with pytest.raises(SystemExit) as found, tidy_when_ended(), pytest.raises(SystemExit):
        signal.raise_signal(signal.SIGTERM)
    assert found.value.code == 128 + signal.SIGTERM


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with tidy_when_ended() as heed:
            signal.raise_signal(signal.SIGHUP)
            heed()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_none_is_a_traceback_while_the_program_is_loaded() -> None:
    code = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Loading:
    def find_spec(self, name, *_):
        if name == "vastsum.cli.app":
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Loading())
from vastsum.cli import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "")
