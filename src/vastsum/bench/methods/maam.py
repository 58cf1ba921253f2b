"""MAAM and AAAM: attention over all picks that learns every annotator, or their average.

H. Terbouche, M. Morel, M. Rodriguez, A. Othmani, "Multi-Annotation Attention Model for Video Summarization", CVPR
Workshops 2023.

The multi-annotation model (MAAM) predicts each annotator, and its importance is the mean of what it predicts; the
averaged-annotation model (AAAM) is the same network with one output, for the mean annotation. Written from what the
paper is cited for, without its full text: the network is the plainest reading, one transformer encoder layer of eight
heads over the picks, and dropout, optimiser and epochs are those of VASNet, the model of this kind they are set beside.
People are not the same from video to video, so an output stands for a place in the list of a video's annotators. There
are twenty, as on TVSum; where a video has fewer annotators, its list is read again from the start.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vastsum.bench.methods.learned import LearnedMethod, Moment, Recipe, masked_mse
from vastsum.bench.methods.nn.batch import Batch
from vastsum.bench.methods.nn.transformer import EncoderLayer

ANNOTATORS = 20


class Maam(LearnedMethod):
    recipe = Recipe(
        epochs=300, batch_size=1, learning_rate=5e-5, weight_decay=1e-5, optimizer="adam", schedule="constant"
    )

    def build(self, feature_width: int) -> nn.Module:
        return AnnotationAttention(feature_width, ANNOTATORS)

    def losses(self, output: Tensor, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        place = torch.arange(ANNOTATORS, device=output.device)
        who = place % batch.annotators.sum(dim=1, keepdim=True)  # (B, 20)
        wanted = batch.annotations.gather(1, who.unsqueeze(-1).expand(-1, -1, output.shape[1]))  # (B, 20, T)
        distance = ((output - wanted.transpose(1, 2)) ** 2).mean(dim=-1)
        return {"total": torch.where(batch.mask, distance, 0.0).sum(dim=1) / batch.mask.sum(dim=1)}

    def importance(self, output: Tensor, batch: Batch) -> Tensor:
        return output.mean(dim=-1)


class Aaam(LearnedMethod):
    recipe = Maam.recipe

    def build(self, feature_width: int) -> nn.Module:
        return AnnotationAttention(feature_width, outputs=1)

    def losses(self, output: Tensor, batch: Batch, moment: Moment) -> dict[str, Tensor]:
        return {"total": masked_mse(output.squeeze(-1), batch)}

    def importance(self, output: Tensor, batch: Batch) -> Tensor:
        return output.squeeze(-1)


class AnnotationAttention(nn.Module):
    HEADS, DROPOUT = 8, 0.5

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.layer = EncoderLayer(width, self.HEADS, width, self.DROPOUT)
        self.scores = nn.Linear(width, outputs)

    def forward(self, features: Tensor, segment_ids: Tensor, mask: Tensor) -> Tensor:
        """features (B, T, D) → what each annotator gives each pick (B, T, U), in (0, 1)."""
        return torch.sigmoid(self.scores(self.layer(features, mask)))
