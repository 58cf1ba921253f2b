"""Every loss against a direct transcription of its formula, on padded batches, with gradients where they matter."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vastsum.bench.methods import vastsum as losses

LENGTHS, PEOPLE = [5, 3], [3, 2]  # two videos, padded to 5 picks and 3 annotators


@pytest.fixture
def batch() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    mask = torch.tensor([[t < n for t in range(5)] for n in LENGTHS])
    annotators = torch.tensor([[a < n for a in range(3)] for n in PEOPLE])
    # Padding is filled with rubbish on purpose: it must not count.
    return {
        "mu": torch.randn(2, 5, generator=generator, dtype=torch.float64),
        "log_v": torch.randn(2, 5, generator=generator, dtype=torch.float64),
        "scores": torch.rand(2, 3, 5, generator=generator, dtype=torch.float64),
        "binary": torch.randint(0, 2, (2, 3, 5), generator=generator).double(),
        "latent_mean": torch.randn(2, 5, 4, generator=generator, dtype=torch.float64),
        "latent_log_variance": torch.randn(2, 5, 4, generator=generator, dtype=torch.float64),
        "mask": mask,
        "annotators": annotators,
    }


def test_gaussian_nll(batch: dict[str, torch.Tensor]) -> None:
    floor, expected = 1e-3, []
    for b in range(2):
        total = 0.0
        for a in range(PEOPLE[b]):
            for t in range(LENGTHS[b]):
                v = math.exp(batch["log_v"][b, t])
                gap = float(batch["scores"][b, a, t] - batch["mu"][b, t])
                total += 0.5 * (math.log(v) + gap**2 / (v + floor))
        expected.append(total / PEOPLE[b] / LENGTHS[b])
    loss = losses.gaussian_nll(batch["mu"], batch["log_v"], batch["scores"], batch["annotators"], batch["mask"], floor)
    assert loss.tolist() == pytest.approx(expected)


def bce_by_hand(batch: dict[str, torch.Tensor], temperature: float) -> list[list[float]]:
    table = []
    for b in range(2):
        p = [1 / (1 + math.exp(-float(batch["mu"][b, t]) / temperature)) for t in range(LENGTHS[b])]
        table.append(
            [
                sum(-math.log(p[t]) if batch["binary"][b, a, t] else -math.log(1 - p[t]) for t in range(LENGTHS[b]))
                / LENGTHS[b]
                for a in range(PEOPLE[b])
            ]
        )
    return table


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_annotator_bce(batch: dict[str, torch.Tensor], temperature: float) -> None:
    bce = losses.annotator_bce(batch["mu"] / temperature, batch["binary"], batch["mask"])
    for b, row in enumerate(bce_by_hand(batch, temperature)):
        assert bce[b, : PEOPLE[b]].tolist() == pytest.approx(row)


@pytest.mark.parametrize("tau", [0.02, 0.25, 5.0])
def test_softmin(batch: dict[str, torch.Tensor], tau: float) -> None:
    expected = [-tau * math.log(sum(math.exp(-x / tau) for x in row)) for row in bce_by_hand(batch, 1.0)]
    bce = losses.annotator_bce(batch["mu"], batch["binary"], batch["mask"])
    assert losses.softmin_bce(bce, batch["annotators"], tau).tolist() == pytest.approx(expected)


def test_a_sharp_softmin_learns_from_the_best_matched_annotator_alone() -> None:
    """Two annotators who want opposite things: the gradient follows the one already closer."""
    mu = torch.tensor([[0.5, -0.5]], requires_grad=True)
    wants = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    people, mask = torch.ones(1, 2, dtype=torch.bool), torch.ones(1, 2, dtype=torch.bool)
    bce = losses.annotator_bce(mu, wants, mask)
    losses.softmin_bce(bce, people, 0.01).backward()
    assert mu.grad is not None
    assert mu.grad[0, 0] < 0 < mu.grad[0, 1]
    assert losses.best_matched(bce, wants, people).tolist() == [[1.0, 0.0]]


def test_an_absent_annotator_is_never_the_best_matched() -> None:
    bce = torch.tensor([[0.7, 0.0]])
    wants = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]])
    assert losses.best_matched(bce, wants, torch.tensor([[True, False]])).tolist() == [[1.0, 0.0]]


def test_pairwise_hinge() -> None:
    q = torch.tensor([[0.3, 0.1, 0.9]])
    r = torch.tensor([[2.0, 1.0, 1.0]])
    every_pair = torch.tensor([[[0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2, 0, 1, 2, 0, 1, 2]]])
    margin = 0.5
    # Ordered pairs are (0, 1) and (0, 2); each stands twice among all nine, those of equal r not at all.
    expected = np.mean([max(0, margin - (0.3 - 0.1)), max(0, margin - (0.3 - 0.9))])
    assert float(losses.pairwise_hinge(q, r, every_pair, margin)) == pytest.approx(expected)


def test_pairwise_hinge_without_an_order_is_zero() -> None:
    q = torch.tensor([[0.3, 0.1]], requires_grad=True)
    loss = losses.pairwise_hinge(q, torch.ones(1, 2), torch.tensor([[[0], [1]]]), 1.0)
    loss.backward()
    assert float(loss.detach()) == 0
    assert q.grad is not None
    assert not q.grad.any()


def test_latent_kl_equals_torchs(batch: dict[str, torch.Tensor]) -> None:
    normal = torch.distributions.Normal
    mean, std = batch["latent_mean"], (0.5 * batch["latent_log_variance"]).exp()
    kl = torch.distributions.kl_divergence(normal(mean, std), normal(torch.zeros_like(mean), torch.ones_like(std))).sum(
        -1
    )
    expected = [float(kl[b, : LENGTHS[b]].mean()) for b in range(2)]
    ours = losses.latent_kl(batch["latent_mean"], batch["latent_log_variance"], batch["mask"])
    assert ours.tolist() == pytest.approx(expected)


def stability_by_hand(scores: list[float], base: list[int], solutions: list[list[int]], margin: float) -> float:
    share = np.mean(solutions, axis=0)
    unstable = {k for k in range(len(scores)) if 0 < share[k] < 1}
    chosen = {k for k in range(len(scores)) if base[k]}
    left_out = set(range(len(scores))) - chosen
    total = 0.0
    if unstable & chosen and left_out:
        best = max(scores[j] for j in left_out)
        total += np.mean([max(0, margin - (scores[k] - best)) for k in unstable & chosen])
    if unstable & left_out and chosen:
        worst = min(scores[i] for i in chosen)
        total += np.mean([max(0, margin - (worst - scores[k])) for k in unstable & left_out])
    return float(total)


@pytest.mark.parametrize(
    ("base", "solutions"),
    [
        ([1, 1, 0, 0], [[1, 1, 0, 0], [1, 0, 1, 0]]),  # one unstable on each side
        ([1, 1, 0, 0], [[1, 1, 0, 0], [1, 1, 0, 0]]),  # everything stable
        ([1, 1, 1, 1], [[1, 1, 0, 1], [1, 1, 1, 1]]),  # nothing left out
        ([0, 0, 0, 0], [[0, 1, 0, 0], [0, 0, 0, 0]]),  # nothing chosen
        ([1, 0, 0, 0], [[1, 0, 1, 0], [1, 0, 0, 1]]),  # only left-out ones unstable
    ],
)
def test_stability_margin(base: list[int], solutions: list[list[int]]) -> None:
    scores = [0.9, 0.5, 0.45, 0.1]
    padded = torch.tensor([[*scores, 99.0]], dtype=torch.float64)  # a segment that does not exist
    loss = losses.stability_margin(
        padded,
        torch.tensor([[*base, 1]]).bool(),
        torch.tensor([[[*solution, r % 2] for r, solution in enumerate(solutions)]]).bool(),
        torch.tensor([[True] * 4 + [False]]),
        margin=0.2,
    )
    assert float(loss) == pytest.approx(stability_by_hand(scores, base, solutions, 0.2))


def test_stability_pushes_a_close_call_apart() -> None:
    scores = torch.tensor([[0.9, 0.50, 0.49]], requires_grad=True)
    base = torch.tensor([[True, True, False]])
    perturbed = torch.tensor([[[True, True, False], [True, False, True]]])
    losses.stability_margin(scores, base, perturbed, torch.ones_like(base), 0.1).backward()
    assert scores.grad is not None
    assert scores.grad[0, 1] < 0 < scores.grad[0, 2]  # descending raises the chosen one and lowers the other
    assert scores.grad[0, 0] == 0
    assert torch.isfinite(scores.grad).all()


def test_stability_has_no_gradient_and_no_nan_where_nothing_is_left_out() -> None:
    scores = torch.tensor([[0.9, 0.5]], requires_grad=True)
    base = torch.tensor([[True, True]])
    losses.stability_margin(scores, base, torch.tensor([[[True, False], [True, True]]]), base, 0.1).backward()
    assert scores.grad is not None
    assert scores.grad.tolist() == [[0, 0]]


def test_warm_up_is_linear_then_constant() -> None:
    assert [losses.warmed_up(2.0, epoch, 4) for epoch in range(6)] == [0, 0.5, 1, 1.5, 2, 2]
    assert losses.warmed_up(2.0, 0, 0) == 2.0
