"""The paper's tables, as quoted."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from vastsum.bench.methods import recipes
from vastsum.bench.published import EXPECTED_NOT_MEASURED, FIVE_FOLD, PER_SPLIT, TVT, published
from vastsum.types import Kind


def test_a_number_is_found_by_method_dataset_and_protocol() -> None:
    assert published("summdiff", "summe", "5fcv") == (0.256, 0.285)
    assert published("summdiff", "summe", "tvt") == (0.133, 0.148)
    assert published("vastsum:small-latent", "tvsum", "5fcv") == (0.228, 0.278)
    assert published("clip-it:text", "tvsum", "5fcv") == (0.108, 0.147)
    assert published("csta:imagenet", "summe", "tvt") == (0.108, 0.120)


def test_where_the_tables_are_silent_so_is_the_lookup() -> None:
    assert published("pgl-sum", "summe", "5fcv") is None  # a dash in the table
    assert published("vastsum-paper", "tvsum", "last") is None  # nobody published the last epoch
    assert published("ridge", "tvsum", "5fcv") is None
    assert published("vastsum:no-stability", "tvsum", "5fcv") is None


@pytest.mark.parametrize("kind", get_args(Kind))
def test_the_splits_average_to_the_row_as_far_as_the_paper_rounds(kind: Kind) -> None:
    np.testing.assert_allclose(np.mean(PER_SPLIT[kind], axis=0), FIVE_FOLD["vastsum-paper"][kind], atol=2e-3)


def test_every_ablation_of_the_paper_is_one_that_can_be_run() -> None:
    quoted = [name for name in recipes.ABLATIONS if published(f"vastsum:{name}", "tvsum", "5fcv")]
    assert len(quoted) == 7
    assert {name.removeprefix("vastsum:") for name in EXPECTED_NOT_MEASURED} <= set(quoted)


def test_no_rho_contradicts_its_tau() -> None:
    """Slips of the pen: on these data ρ lies above τ, but for one row of the paper."""
    rows = [(name, row[kind]) for table in (TVT, FIVE_FOLD) for name, row in table.items() for kind in row]
    assert {name for name, numbers in rows if numbers.rho < numbers.tau} == {"ac-sum-gan"}
