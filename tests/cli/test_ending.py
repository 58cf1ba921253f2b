"""A request to end arrives, whatever the code is doing that it falls into."""

from __future__ import annotations

import signal

import pytest

from vastsum.cli.ending import tidy_when_ended


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
