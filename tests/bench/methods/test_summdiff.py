"""SummDiff's diffusion: the schedule, a step back, and a generation that is the same each time."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from vastsum.bench.batches import VideoTensors, pad
from vastsum.bench.data import Dataset
from vastsum.bench.methods.summdiff import TIMES, Summdiff, remaining_signal, stepped
from vastsum.bench.training import Member, Trainer


def test_diffusion_begins_with_the_scores_and_ends_in_noise() -> None:
    signal = remaining_signal()
    assert signal.shape == (TIMES,)
    assert np.all(np.diff(signal) < 0)
    assert signal[0] > 0.999
    assert 0 < signal[-1] < 1e-6


@pytest.mark.parametrize(("now", "then"), [(1e-8, 0.02), (0.1, 0.5), (0.97, 0.9999)])
def test_a_step_back_leaves_as_much_noise_as_its_time_has(now: float, then: float) -> None:
    zero, one = torch.tensor(0.0), torch.tensor(1.0)
    from_scores = stepped(math.sqrt(now) * one, one, now, then, zero)
    from_old_noise = stepped(math.sqrt(1 - now) * one, zero, now, then, zero)
    from_new_noise = stepped(zero, zero, now, then, one)
    assert float(from_scores) == pytest.approx(math.sqrt(then), abs=1e-6)
    assert float(from_old_noise**2 + from_new_noise**2) == pytest.approx(1 - then, abs=1e-6)


def test_a_video_has_one_prediction_wherever_it_is_made(tvsum: Dataset) -> None:
    video, *rest = list(tvsum.videos.values())[:3]
    trainer = Trainer(Summdiff("tvsum", width=16), [Member(tuple(rest), seed=0)])
    trainer.train_epoch(0)
    scorer = trainer.method.scorer(trainer.network(), "tvsum")
    first, second = (scorer.predict(video.features, video.segments).mean for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first, trainer.importance([[video]])[0][0], atol=1e-6)
    assert np.ptp(first) > 0


def test_annotators_are_drawn_among_those_of_the_video(summe: Dataset) -> None:
    torch.manual_seed(0)
    batch = pad([VideoTensors.of(video) for video in list(summe.videos.values())[:2]])
    batch.annotators[1, 2:] = False  # a video with two annotators
    batch.annotations[1, 2:] = 0.5
    method = Summdiff("summe", width=16)
    network = method.build(batch.features.shape[2]).train()
    targets = network(*method.inputs(batch)).targets  # (B, R, T)
    assert targets.shape[1] == 16
    for row in range(2):
        real = batch.annotations[row, : batch.annotators[row].sum()].clamp(0.05, 0.95)
        drawn = {tuple(target) for target in targets[row].tolist()}
        assert drawn <= {tuple(annotation) for annotation in real.tolist()}
        assert len(drawn) > 1


def test_populations_learn_binary_annotations_too(summe: Dataset) -> None:
    videos = tuple(summe.videos.values())
    members = [Member(videos[:2], 0), Member(videos[1:3], 1)]
    together = Trainer(Summdiff("summe", width=16), members)
    logs = together.train_epoch(0)
    for member, log in zip(members, logs, strict=True):
        alone = Trainer(Summdiff("summe", width=16), [member])
        assert alone.train_epoch(0)[0] == pytest.approx(log, rel=1e-3, abs=1e-4)
