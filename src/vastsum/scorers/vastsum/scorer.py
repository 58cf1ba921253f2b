"""The trained network as a scorer."""

from __future__ import annotations

import torch

from vastsum.scorers.vastsum.likelihood import Likelihood
from vastsum.scorers.vastsum.network import VastsumNetwork
from vastsum.types import FloatArray, Prediction, Segments


class VastsumScorer:
    """Runs a VastsumNetwork on one video at a time."""

    def __init__(self, network: VastsumNetwork, likelihood: Likelihood) -> None:
        self.network, self.likelihood = network, likelihood

    @torch.no_grad()
    def predict(self, features: FloatArray, segments: Segments) -> Prediction:
        network = self.network
        was_training = network.training
        network.eval()
        device = next(network.parameters()).device
        x = torch.as_tensor(features, dtype=torch.float32, device=device)[None]  # (1, T, D)
        ids = torch.as_tensor(segments.ids, device=device)[None]
        mask = torch.ones_like(ids, dtype=torch.bool)
        mean, std = network.predict(x, ids, mask, len(segments), self.likelihood)
        network.train(was_training)
        return Prediction(mean[0].double().cpu().numpy(), std[0].double().cpu().numpy())
