"""What a command does when it is asked to end."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def tidy_when_ended() -> Iterator[Callable[[], None]]:
    """Let a request to end come as an exception, so that what is half-written is removed on the way out. One that comes
    while PyAV deals with an error of its own may be lost there; what this gives, called now and then, raises it again.
    """
    asked: list[int] = []

    def leave(number: int, _frame: object) -> NoReturn:
        asked.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(128 + number)

    def heed() -> None:
        if asked:
            leave(asked[-1], None)

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    usual = (signal.SIG_DFL, signal.default_int_handler)  # nohup ignores one of them, and so do we
    ours = {number: handler for number, handler in before.items() if handler in usual}
    for number in ours:
        signal.signal(number, leave)
    try:
        yield heed
        heed()
    except Exception:
        heed()  # a module that is loaded just then makes an ImportError of it
        raise
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
