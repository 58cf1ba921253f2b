"""The trained network as a scorer."""

from __future__ import annotations

from dataclasses import replace

import torch

from vastsum.bench.methods.vastsum.likelihood import Likelihood
from vastsum.bench.methods.vastsum.network import VastsumNetwork
from vastsum.scoring.windows import predict_in_windows
from vastsum.types import FloatArray, IntArray, Prediction, Segments


class VastsumScorer:
    """Runs a VastsumNetwork on one video at a time. Errors name it by `where`: the file it came from."""

    def __init__(self, network: VastsumNetwork, likelihood: Likelihood, where: object = "the network") -> None:
        self.network, self.likelihood, self.where = network, likelihood, where

    @torch.no_grad()
    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        was_training = self.network.training
        self.network.eval()
        ids = segments.ids
        prediction = predict_in_windows(
            ids, lambda start, end: self._window(features[start:end], ids[start:end]), self.where
        )
        self.network.train(was_training)
        return replace(prediction, decoder=self.network.config.decoder)

    def _window(self, features: FloatArray, ids: IntArray) -> tuple[FloatArray, FloatArray]:
        """Scores of these picks, seen by themselves."""
        device = next(self.network.parameters()).device
        x = torch.as_tensor(features, dtype=torch.float32, device=device)[None]  # (1, T, D)
        own_ids = torch.as_tensor(ids - ids[0], device=device)[None]
        mask = torch.ones_like(own_ids, dtype=torch.bool)
        mean, std = self.network.predict(x, own_ids, mask, int(own_ids[0, -1]) + 1, self.likelihood)
        return mean[0].cpu().numpy(), std[0].cpu().numpy()
