"""The pictures of a bench (SVG): each method's τ with its interval, and τ on the test videos after every epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from vastsum.bench.rows import Interval
from vastsum.bench.table import decimals
from vastsum.types import FloatArray

# ---- methods and their intervals ----

ROW, LEFT, WIDTH, TOP, RIGHT = 24, 250, 520, 44, 70
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1c2430 } .title { font-weight: 600 }
.tick { fill: #6b7480; font-size: 11px }
line { stroke: #d8dde3 } .band { stroke: #2f6fb2; stroke-width: 2 } circle { fill: #2f6fb2 }
.reference { fill: #8a929c; stroke: #8a929c } svg { background: #fff }
"""


def picture(title: str, points: Sequence[tuple[str, Interval, bool]]) -> str:
    """`points` are names, intervals, and whether a row is a reference rather than a method."""
    low = min([0.0, *(interval.low for _, interval, _ in points)])
    high = max([0.1, *(interval.high for _, interval, _ in points)])

    def x(value: float) -> float:
        return LEFT + WIDTH * (value - low) / (high - low)

    bottom = TOP + ROW * len(points)
    parts = [f'<text class="title" x="8" y="22">{escape(title)}</text>']
    for tick in np.arange(np.floor(low * 20) / 20, high + 1e-9, 0.05):
        if tick >= low - 1e-9:
            parts.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{TOP - 8}" y2="{bottom}"/>')
            said = decimals(tick, 2)
            parts.append(f'<text class="tick" text-anchor="middle" x="{x(tick):.1f}" y="{bottom + 16}">{said}</text>')
    for n, (name, interval, is_reference) in enumerate(points):
        y = TOP + ROW * n + ROW / 2
        kind = " reference" if is_reference else ""
        parts.append(f'<text text-anchor="end" x="{LEFT - 12}" y="{y + 4:.1f}">{escape(name)}</text>')
        parts.append(
            f'<line class="band{kind}" x1="{x(interval.low):.1f}" x2="{x(interval.high):.1f}" y1="{y}" y2="{y}"/>'
        )
        parts.append(f'<circle class="{kind.strip()}" cx="{x(interval.mean):.1f}" cy="{y}" r="4.5"/>')
        parts.append(f'<text class="tick" x="{LEFT + WIDTH + 10}" y="{y + 4:.1f}">{decimals(interval.mean)}</text>')
    size = f'width="{LEFT + WIDTH + RIGHT}" height="{bottom + 26}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{"".join(parts)}</svg>\n'


# ---- every epoch ----

STRIP, GAP, TICKS, TICK_PX = 64, 14, (0.1, 0.2, 0.5, 1.0), 14  # the first that leaves room for its numbers
CURVES_STYLE = (
    STYLE
    + """
.spread { fill: #2f6fb2; opacity: 0.18 } polyline { fill: none; stroke: #2f6fb2; stroke-width: 1.5 }
.lengths { stroke: #1c2430; stroke-dasharray: 1 3 }
.chosen { stroke: #b2452f; stroke-dasharray: 5 3 } text.chosen { fill: #b2452f; stroke: none }
"""
)


def curves(title: str, trained: Mapping[str, FloatArray], lengths_alone: float | None = None) -> str:
    """Of τ (trainings, epochs) by method: the line is the mean over trainings and the band holds four fifths of them;
    the dashed line is the mean of each training's best epoch, which is what 5fcv reports, the dotted one what lengths
    alone give, where that is known."""
    bands = [np.quantile(tau, [0.1, 0.9], axis=0) for tau in trained.values()]
    low = min(0.0, *(band[0].min() for band in bands))
    high = max(0.1, *(tau.max(axis=1).mean() for tau in trained.values()), *(band[1].max() for band in bands))
    parts = [f'<text class="title" x="8" y="22">{escape(title)}</text>']
    for n, ((name, tau), band) in enumerate(zip(trained.items(), bands, strict=True)):
        bottom = TOP + STRIP + n * (STRIP + GAP)
        parts += _strip(name, tau, band, lengths_alone, bottom, STRIP / (high - low), low)
    size = f'width="{LEFT + WIDTH + RIGHT + 30}" height="{TOP + len(trained) * (STRIP + GAP) + 10}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{CURVES_STYLE}</style>{"".join(parts)}</svg>\n'


def _strip(
    name: str, tau: FloatArray, band: FloatArray, lengths_alone: float | None, bottom: float, scale: float, low: float
) -> list[str]:
    n_epochs = tau.shape[1]
    best = float(tau.max(axis=1).mean())
    x = LEFT + WIDTH * (np.arange(n_epochs) + 1) / n_epochs

    def y(value: float) -> float:
        return bottom - (value - low) * scale

    def points(places: FloatArray, values: FloatArray) -> str:
        return " ".join(f"{place:.1f},{y(value):.1f}" for place, value in zip(places, values, strict=True))

    def across(value: float, kind: str) -> str:
        return f'<line class="{kind}" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}"/>'

    middle = bottom - STRIP / 2
    step = next(step for step in TICKS if step * scale >= TICK_PX)
    ticks = [tick for tick in np.arange(-10, 11) * step if bottom - STRIP <= y(tick) <= bottom]
    return [
        _text(name, LEFT - 40, middle, anchor="end"),
        _text(f"{n_epochs} epochs", LEFT - 40, middle + 15, "tick", anchor="end"),
        *(across(tick, "tick") for tick in ticks),
        *(_text(decimals(tick, 1), LEFT - 6, y(tick) + 4, "tick", anchor="end") for tick in ticks),
        f'<polygon class="spread" points="{points(np.r_[x, x[::-1]], np.r_[band[1], band[0, ::-1]])}"/>',
        f'<polyline points="{points(x, tau.mean(axis=0))}"/>',
        *([] if lengths_alone is None else [across(lengths_alone, "lengths")]),
        across(best, "chosen"),
        _text(f"best {decimals(best)}", LEFT + WIDTH + 8, middle - 4, "chosen"),
        _text(f"last {decimals(tau[:, -1].mean())}", LEFT + WIDTH + 8, middle + 14),
    ]


def _text(text: str, x: float, y: float, kind: str = "", anchor: str = "start") -> str:
    return f'<text class="{kind}" text-anchor="{anchor}" x="{x}" y="{y:.1f}">{escape(text)}</text>'
