"""What operators of our own need to run under `torch.func.vmap`."""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor


def members_first(tensors: Iterable[Tensor], places: Iterable[int | None], n_members: int) -> list[Tensor]:
    """Each tensor as (K, …), from where `vmap` says that its members lie; what they share is repeated for all."""
    return [
        tensor.expand(n_members, *tensor.shape) if place is None else tensor.movedim(place, 0)
        for tensor, place in zip(tensors, places, strict=True)
    ]
