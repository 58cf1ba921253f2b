"""Where a GPU's memory does not hold what is to be done at once."""

from __future__ import annotations

import gc

import torch


def is_want_of_memory(error: BaseException | None) -> bool:
    """Whether this is what an error comes from: recording a program, torch fails in another way while it fails so."""
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def free_memory() -> None:
    """Hand back what nobody needs of a GPU's any more. Not while an error is dealt with, which holds all that was at
    hand."""
    if not torch.cuda.is_available():
        return
    gc.collect()
    torch.cuda.empty_cache()
