"""Requests that cannot be met."""

from __future__ import annotations

from vastsum.errors import VastsumError


class RefusedError(VastsumError):
    """Not now, or not here; `status` is HTTP's word for it."""

    def __init__(self, status: int, where: object, problem: str, remedy: str = "") -> None:
        super().__init__(where, problem, remedy)
        self.status = status
