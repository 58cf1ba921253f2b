"""A table as a picture: each method's τ with its interval, on one axis (SVG, so that it scales and can be searched)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from vastsum.bench.rows import Interval
from vastsum.bench.table import decimals

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
