"""The metrics as a reader meets them, in every table and on the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Column:
    """`best` is where a good value lies: high, low, or at a number."""

    metric: str
    name: str
    meaning: str
    best: Literal["high", "low"] | float

    def __str__(self) -> str:
        return f"{self.name}: {self.meaning}"


PUBLISHED = (
    Column("tau", "τ", "Kendall's τ-b with people: of scores on TVSum, of the decoded summary on SumMe", "high"),
    Column("rho", "ρ", "Spearman's ρ with people, likewise", "high"),
    Column("f1", "F1", "overlap of the summary with people's summaries", "high"),
)
OURS = (
    Column(
        "score_tau", "score τ", "Kendall's τ-b of scores with people's (SumMe: with the share that took it)", "high"
    ),
    Column("score_rho", "score ρ", "Spearman's ρ of scores, likewise", "high"),
    Column(
        "caught", "caught", "share of what people value that the summary catches: 0 is arbitrary, 1 the best", "high"
    ),
)
AGREEMENT = PUBLISHED + OURS
TRUST = (
    Column("nll", "NLL", "negative log-likelihood of an annotation, in nats", "low"),
    Column("coverage_50", "in 50 %", "share of annotations inside the central 50 % interval", 0.5),
    Column("coverage_90", "in 90 %", "share of annotations inside the central 90 % interval", 0.9),
    Column("std_correlation", "σ ~ people", "rank correlation of predicted deviation with the annotators' own", "high"),
    Column("jaccard", "Jaccard", "overlap of the summary with those chosen under score noise", "high"),
    Column("unstable", "unstable", "share of segments that are in some of those summaries and out of others", "low"),
)
