"""The network does what Section IV says, for videos of any length, and padding changes nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch.nn import functional as F

from vastsum.bench.methods.beyond import (
    Additions,
    Example,
    LinearPath,
    NonLocalMean,
    Smoothing,
    fit_linear_path,
    fit_to_videos,
    principal_directions,
)
from vastsum.bench.methods.vastsum import (
    LOG_VARIANCE_RANGE,
    LearnedPositions,
    NetworkConfig,
    SegmentLayer,
    VastsumNetwork,
    VastsumScorer,
    pool_segments,
)
from vastsum.features.relative import N_CHANNELS
from vastsum.types import Segments

SMALL = NetworkConfig(
    feature_width=6,
    width=8,
    heads=2,
    layers=2,
    conv_layers=2,
    kernel_size=3,
    latent_width=3,
    head_width=5,
    positions=20,
)
ADD_ONS = {
    "plain": {},
    "gated": {"gated_residual": True},
    "cnn": {"cnn_attention": True},
    "linear path": {"linear_share": 0.5, "smoothing": 2.0},
    "non-local mean": {"nonlocal_sharpness": 3.0, "nonlocal_reach": 5.0},
}


def network(**changes: object) -> VastsumNetwork:
    torch.manual_seed(0)
    net = VastsumNetwork(NetworkConfig(**{**vars(SMALL), **changes})).double().eval()
    if net.linear is not None:
        net.linear.weight.normal_()
    return net


def video(n_picks: int, segment_ids: list[int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    features = torch.randn(1, n_picks, 6, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return features, torch.tensor([segment_ids]), torch.ones(1, n_picks, dtype=torch.bool)


@pytest.mark.parametrize("add_on", ADD_ONS)
def test_padding_changes_nothing(add_on: str) -> None:
    """A short video next to a long one, with rubbish in the padding, gives what it gives alone."""
    net = network(**ADD_ONS[add_on]).float()
    long, long_ids, long_mask = video(17, [t // 3 for t in range(17)], seed=1)
    short, short_ids, short_mask = video(5, [0, 0, 1, 3, 3], seed=2)
    features = torch.full((2, 17, 6), 1e3)
    features[0], features[1, :5] = long[0].float(), short[0].float()
    ids = torch.zeros(2, 17, dtype=torch.long)
    ids[0], ids[1, :5] = long_ids[0], short_ids[0]
    mask = torch.zeros(2, 17, dtype=torch.bool)
    mask[0], mask[1, :5] = True, True
    together = net(features, ids, mask, 6)
    alone = [net(long.float(), long_ids, long_mask, 6), net(short.float(), short_ids, short_mask, 4)]
    for row, n_picks in enumerate((17, 5)):
        for ours, theirs in zip(together, alone[row], strict=True):
            assert torch.allclose(ours[row, :n_picks], theirs[0], atol=1e-5), add_on


def test_forward_equals_the_equations_written_out() -> None:
    """Section IV-C and IV-D transcribed with loops over picks and segments, from the same weights."""
    net = network(layers=1, conv_layers=1)
    ids = [0, 0, 1, 1, 1, 2]
    features, id_tensor, mask = video(6, ids)
    out = net(features, id_tensor, mask)

    linear = F.linear
    h = [
        net.project_norm(linear(x, net.project.weight, net.project.bias)) + net.positions.table[t]
        for t, x in enumerate(features[0])
    ]
    tokens = torch.stack([torch.stack([h[t] for t in range(6) if ids[t] == k]).mean(0) for k in range(3)])
    layer = net.segment_layers[0]
    normed = layer.attention_norm(tokens)
    q, k, v = linear(normed, layer.query_key_value.weight, layer.query_key_value.bias).chunk(3, dim=-1)
    heads = []
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        heads.append(torch.softmax(q[:, part] @ k[:, part].T / math.sqrt(4), dim=-1) @ v[:, part])
    u = tokens + layer.attention_out(torch.cat(heads, dim=-1))
    first, _, _, second = layer.ffn
    context = u + second(F.gelu(first(layer.ffn_norm(u))))

    fused = []
    for t in range(6):
        g = context[ids[t]]
        alpha = torch.sigmoid(linear(torch.cat([h[t], g]), net.fuse.gate.weight, net.fuse.gate.bias))
        fused.append(net.fuse.norm(h[t] + alpha * g))
    kernel, bias = net.refine.depthwise[0].weight, net.refine.depthwise[0].bias
    point, point_bias = net.refine.pointwise[0].weight[:, :, 0], net.refine.pointwise[0].bias
    for t in range(6):
        around = [fused[t + o] if 0 <= t + o < 6 else torch.zeros(8).double() for o in (-1, 0, 1)]
        depthwise = sum(kernel[:, 0, o] * around[o] for o in range(3)) + bias
        refined = fused[t] + F.gelu(point @ depthwise + point_bias)
        z = linear(refined, net.head.latent_mean.weight, net.head.latent_mean.bias)
        hidden = net.head.hidden(torch.cat([refined, z]))
        assert torch.allclose(out.mu[0, t], net.head.mu(hidden)[0])
        assert torch.allclose(out.log_v[0, t], net.head.log_v(hidden)[0].clamp(-10, 5))
        assert torch.allclose(out.latent_mean[0, t], z)


def test_segments_without_a_pick_neither_break_nor_count() -> None:
    net = network()
    features, ids, mask = video(4, [0, 0, 1, 1])
    _, gapped, _ = video(4, [0, 0, 5, 5])
    assert torch.allclose(net(features, ids, mask, 2).mu, net(features, gapped, mask, 9).mu)


def test_pooling_is_the_mean_of_the_picks_of_a_segment() -> None:
    h = torch.arange(8.0).view(1, 4, 2)
    pooled, occupied = pool_segments(h, torch.tensor([[0, 0, 2, 2]]), torch.tensor([[True, True, True, False]]), 3)
    assert pooled.tolist() == [[[1, 2], [0, 0], [4, 5]]]
    assert occupied.tolist() == [[True, False, True]]


def test_positions_are_the_table_for_short_videos_and_stretch_for_long_ones() -> None:
    positions = LearnedPositions(20, 4)
    short = positions(torch.ones(1, 7, dtype=torch.bool))
    assert torch.equal(short[0], positions.table[:7])
    long = positions(torch.ones(1, 77, dtype=torch.bool))
    assert torch.allclose(long[0, 0], positions.table[0])
    assert torch.allclose(long[0, 76], positions.table[19])
    assert torch.allclose(long[0, 2], torch.lerp(positions.table[0], positions.table[1], 0.5))
    assert torch.allclose(long[0, 38], torch.lerp(positions.table[9], positions.table[10], 0.5))


def test_videos_far_longer_than_any_position_are_scored() -> None:
    features, ids, mask = video(900, [t // 10 for t in range(900)])
    out = network()(features, ids, mask)
    assert torch.isfinite(out.mu).all()


def test_attention_ignores_absent_segments() -> None:
    layer = SegmentLayer(8, 2, 0.0)
    z = torch.randn(1, 4, 8)
    changed = z.clone()
    changed[0, 3] = 100.0
    occupied = torch.tensor([[True, True, True, False]])
    assert torch.allclose(layer(z, occupied)[0, :3], layer(changed, occupied)[0, :3])


def test_latent_is_sampled_in_training_and_not_at_inference() -> None:
    net = network(dropout=0.0, input_dropout=0.0)
    inputs = video(5, [0, 0, 1, 1, 1])
    assert torch.equal(net(*inputs).mu, net(*inputs).mu)
    net.train()
    before = net(*inputs).mu
    net.head.epsilon.keys = torch.tensor([1], dtype=torch.int32)
    assert not torch.equal(net(*inputs).mu, before)


def test_both_log_variances_are_clamped() -> None:
    net = network()
    with torch.no_grad():
        net.head.latent_log_variance.bias.fill_(100.0)
        net.head.log_v.bias.fill_(-100.0)
    out = net(*video(5, [0, 0, 1, 1, 1]))
    assert (out.latent_log_variance == LOG_VARIANCE_RANGE[1]).all()
    assert (out.log_v == LOG_VARIANCE_RANGE[0]).all()


def test_uncertainty_is_observation_variance_plus_the_spread_of_the_head() -> None:
    """With a head that reads μ = a·z (linear), the spread under the posterior is known in closed form."""
    net = network()
    inputs = video(30, [t // 5 for t in range(30)])
    h = net.trunk(*inputs)
    with torch.no_grad():
        net.head.hidden = torch.nn.Identity()
        slope = torch.tensor([0.0] * 8 + [0.5, -1.0, 2.0]).double()
        net.head.mu, net.head.log_v = (torch.nn.Linear(11, 1).double() for _ in range(2))
        net.head.mu.weight.copy_(slope)
        net.head.log_v.weight.zero_()
        net.head.log_v.bias.fill_(math.log(0.09))
        net.head.draws = torch.cat([d := torch.randn(2000, 3, dtype=torch.float64), -d])
        _, std = net.head.predict(h, "gaussian", net.link)
        _, log_variance = net.head.posterior(h)
    expected = torch.sqrt(0.09 + (slope[8:] ** 2 * log_variance.exp()).sum(-1))
    assert torch.allclose(std, expected, rtol=0.05)


def test_binary_uncertainty_comes_from_the_posterior_alone() -> None:
    net = network()
    given = (*video(6, [0, 0, 0, 1, 1, 1]), 2, "bernoulli")
    p, std = net.predict(*given)
    with torch.no_grad():
        net.head.log_v.bias += 3.0
        _, same = net.predict(*given)
        net.head.latent_log_variance.bias -= 20.0
        _, smaller = net.predict(*given)
    assert ((p > 0) & (p < 1)).all()
    assert torch.equal(std, same)
    assert (smaller < std).all()


def test_beyond_the_paper_the_score_is_a_mean_of_the_smoothed_network_and_the_smoothed_linear_path() -> None:
    net = network(linear_share=0.25, smoothing=2.0, linear_smoothing=3.0)
    features, ids, mask = video(40, [t // 5 for t in range(40)])
    features *= 0.28  # neither still nor so varied that the weights depend on it no more
    assert net.linear is not None
    raw = net.head(net.trunk(features, ids, mask)).mu[0].detach().numpy()
    x, (always, varied) = features[0].numpy(), net.linear.weight.numpy()
    kappa = (x.var(axis=0).sum() - 0.5) / 0.15
    assert 0 < abs(kappa) < 2
    linear = x @ (always + kappa * varied) + float(net.linear.bias)
    inside = slice(16, -16)  # away from the ends, where there is nothing beyond to smooth with
    expected = 0.75 * ndimage.gaussian_filter1d(raw, 2.0) + 0.25 * ndimage.gaussian_filter1d(linear, 3.0)
    np.testing.assert_allclose(net(features, ids, mask).mu[0].detach().numpy()[inside], expected[inside], atol=1e-6)
    assert "linear.weight" not in dict(net.named_parameters())  # gradients never touch it


def test_the_linear_path_is_a_ridge_within_videos_that_all_count_the_same() -> None:
    rng = np.random.default_rng(0)
    scale, penalty = np.array([1.0, 1.0, 0.5]), 0.1
    videos = [Example(rng.normal(size=(n, 3)), kappa, rng.normal(size=n)) for n, kappa in ((20, -1.0), (300, 0.5))]
    weights, bias = fit_linear_path(videos, scale, penalty)
    # The same as least squares on rows: one a frame, each video's together of weight 1, and one a penalised weight.
    rows, wanted = [np.sqrt(2 * penalty) * np.eye(6)], [np.zeros(6)]
    for x, kappa, y in videos:
        centred, size = (x - x.mean(axis=0)) * scale, np.sqrt(len(y))
        rows.append(np.hstack([centred, kappa * centred]) / size)
        wanted.append((y - y.mean()) / y.std() / size)
    solution = np.linalg.lstsq(np.vstack(rows), np.concatenate(wanted), rcond=None)[0].reshape(2, 3) * scale
    np.testing.assert_allclose(weights / weights[0, 0], solution / solution[0, 0], rtol=1e-6)
    fitted = [(x @ (weights[0] + kappa * weights[1]), y) for x, kappa, y in videos]
    slope = np.polyfit(
        *(np.concatenate(part) for part in zip(*((f - f.mean(), y - y.mean()) for f, y in fitted), strict=True)), 1
    )[0]
    assert slope == pytest.approx(1.0)
    assert np.mean([y.mean() - f.mean() - bias for f, y in fitted]) == pytest.approx(0.0, abs=1e-9)


def test_the_linear_path_keeps_the_directions_in_which_videos_vary_within() -> None:
    rng = np.random.default_rng(0)
    frames = [rng.normal(size=(n, 6)) * [0.01, 2, 0.01, 3, 0.01, 0.01] for n in (20, 300)]
    frames[1] += [100, 0, 0, 0, 0, 0]  # videos that differ from each other say nothing of what differs within them
    kept = principal_directions(frames, 2)
    np.testing.assert_allclose(np.abs(kept[[3, 1], [1, 0]]), 1, atol=1e-2)

    channels = [rng.normal(size=(len(x), N_CHANNELS)) for x in frames]
    videos = [
        Example(np.hstack(both), 0.5, rng.normal(size=len(both[0]))) for both in zip(frames, channels, strict=True)
    ]
    path = LinearPath(6 + N_CHANNELS, 3.0)
    fit_to_videos(path, Additions(relative=True, linear_directions=2), videos)
    weight = path.weight.numpy()
    np.testing.assert_allclose(weight[:, :6] @ kept @ kept.T, weight[:, :6], atol=1e-6)
    assert (weight[:, 6:] != 0).all()


@pytest.mark.parametrize("turned", ["all alike", "all different"])
def test_like_frames_share_their_scores_in_edited_videos_alone(turned: str) -> None:
    """Raw footage keeps the scores of moments; edited videos have one a kind of picture."""
    net = network(nonlocal_sharpness=3.0, nonlocal_reach=1e6, nonlocal_smoothing=0.0)
    features, ids, mask = video(12, [t // 4 for t in range(12)])
    features = F.normalize(features, dim=-1) if turned == "all different" else 0.1 * features
    plain = network()(features, ids, mask).mu
    shared = net.nonlocal_mean(plain, features, mask)  # type: ignore[misc]
    expected = shared if turned == "all different" else plain
    assert torch.allclose(net(features, ids, mask).mu, expected, atol=1e-4)


def test_a_score_becomes_the_mean_of_those_of_like_frames_nearby() -> None:
    features, _, mask = video(30, [0] * 30)
    scores = torch.randn(1, 30, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x, place = features[0].numpy(), np.arange(30)
    apart = ((x[:, None] - x) ** 2).sum(axis=-1)
    weight = np.exp(-3.0 * apart / apart.mean() - 0.5 * ((place[:, None] - place) / 8.0) ** 2)
    expected = weight @ scores[0].numpy() / weight.sum(axis=1)
    found = NonLocalMean(3.0, 8.0, 0.0).double()(scores, features, mask)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_frames_that_all_look_the_same_share_one_score() -> None:
    scores, mask = torch.arange(6.0)[None], torch.ones(1, 6, dtype=torch.bool)
    shared = NonLocalMean(3.0, 1e6, 0.0)(scores, torch.ones(1, 6, 4), mask)
    assert torch.allclose(shared, scores.mean())


def test_deviations_are_scaled_and_nothing_else() -> None:
    given = (*video(12, [t // 4 for t in range(12)]), 3, "gaussian")
    mean, std = network().predict(*given)
    same_mean, half_std = network(deviation_scale=0.5).predict(*given)
    assert torch.equal(mean, same_mean)
    assert torch.allclose(half_std, 0.5 * std)


def test_probabilities_are_scaled_with_their_deviations_up_to_certainty() -> None:
    given = (*video(12, [t // 4 for t in range(12)]), 3, "bernoulli")
    p, std = network().predict(*given)
    scaled_p, scaled_std = network(probability_scale=1.5).predict(*given)
    assert torch.allclose(scaled_p, (1.5 * p).clamp(max=1.0))
    assert torch.allclose(scaled_std, 1.5 * std)
    assert network(probability_scale=100.0).predict(*given)[0].max() == 1.0


def test_smoothing_leaves_a_constant_as_it_is_to_the_very_ends() -> None:
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[1, 4:] = False
    smoothed = Smoothing(2.0)(torch.full((2, 9), 3.0), mask)
    assert torch.allclose(smoothed[mask], torch.tensor(3.0))


def test_scorer_gives_one_mean_and_deviation_a_pick_and_restores_the_mode() -> None:
    net = network().float().train()
    segments = Segments(np.array([[0, 44], [45, 89]]), np.arange(0, 90, 15), 90)
    features = np.random.default_rng(0).random((6, 6)).astype(np.float32)
    scorer = VastsumScorer(net, "bernoulli")
    one, two = scorer.predict(features, segments), scorer.predict(features, segments)
    assert one.mean.shape == one.std.shape == (6,)
    assert (one.mean == two.mean).all()
    assert (one.std > 0).all()
    assert net.training
