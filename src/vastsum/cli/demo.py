"""`make demo`: a short film is drawn on the spot, summarised, and the results are yours to look at.

Nothing is downloaded. Each scene is a function of time, and comes with a chord of its own, so that one sees and hears
in the summary which scenes were chosen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.container import OutputContainer
from numpy.typing import NDArray
from rich.markup import escape

from vastsum.cli.console import errors, results
from vastsum.cli.summarize import summarize
from vastsum.errors import VastsumError
from vastsum.export import FORMATS
from vastsum.video.output import writing

FOLDER = Path("demo")
WIDTH, HEIGHT, FPS = 480, 270, 25
SAMPLE_RATE = 48_000
FADE_S = 0.05

Float32Array = NDArray[np.float32]
Canvas = Float32Array  # (HEIGHT, WIDTH, 3), each from 0 to 1
Colour = tuple[float, float, float]

# The middle of the picture is (0, 0), its upper edge at y = 1; pixels are square.
_ASPECT = WIDTH / HEIGHT
X, Y = np.meshgrid(
    np.linspace(-_ASPECT, _ASPECT, WIDTH, dtype=np.float32), np.linspace(1, -1, HEIGHT, dtype=np.float32)
)
NIGHT, DAWN, SAND, SEA, RED, GOLD = (
    (0.05, 0.06, 0.16),
    (0.98, 0.62, 0.35),
    (0.93, 0.89, 0.80),
    (0.10, 0.45, 0.60),
    (0.85, 0.20, 0.18),
    (0.99, 0.84, 0.35),
)


@dataclass(frozen=True)
class Scene:
    """What is seen after so many seconds, and the tones heard meanwhile."""

    draw: Callable[[float], Canvas]
    tones_hz: tuple[float, ...]
    duration_s: float


def plain(colour: Colour) -> Canvas:
    return np.full((HEIGHT, WIDTH, 3), colour, dtype=np.float32)


def blend(low: Colour, high: Colour, share: Float32Array) -> Canvas:
    """From one colour to another, pixel by pixel: `share` (HEIGHT, WIDTH) is how much there is of the second."""
    between = share.clip(0, 1)[..., None]
    return np.asarray(low, dtype=np.float32) * (1 - between) + np.asarray(high, dtype=np.float32) * between


def put_disc(canvas: Canvas, x: float, y: float, radius: float, colour: Colour) -> None:
    canvas[(X - x) ** 2 + (Y - y) ** 2 < radius**2] = colour


def bounce(position: float) -> float:
    """Back and forth between -1 and 1, as between two walls."""
    return abs((position - 1) % 4 - 2) - 1


def empty_sky(t: float) -> Canvas:
    """Next to nothing happens, for long."""
    return blend(SAND, SEA, 0.5 + 0.45 * Y + np.float32(0.004 * t))


def sunrise(t: float) -> Canvas:
    canvas = blend(DAWN, NIGHT, 0.9 + 0.5 * Y - np.float32(0.12 * t))
    put_disc(canvas, 0.3, -1.1 + 0.2 * t, 0.28, GOLD)
    canvas[Y < -0.55] = (0.03, 0.05, 0.05)
    return canvas


def bouncing_ball(t: float) -> Canvas:
    canvas = plain(SAND)
    canvas[Y < -0.7] = (0.45, 0.35, 0.28)
    height = abs(np.sin(2.6 * t))
    put_disc(canvas, 1.5 * bounce(0.5 * t), -0.5 + 1.1 * float(height), 0.2, RED)
    return canvas


def tiles(t: float) -> Canvas:
    dark = (np.floor(4 * X + 1.5 * t) + np.floor(4 * Y + 0.7 * t)) % 2
    return blend((0.12, 0.30, 0.16), (0.75, 0.85, 0.50), dark)


def waves(t: float) -> Canvas:
    ripples = np.sin(6 * np.hypot(X - 0.8, Y) - 4 * t) + np.sin(7 * np.hypot(X + 0.9, Y + 0.3) - 3 * t)
    return blend((0.02, 0.10, 0.25), (0.55, 0.85, 0.95), 0.5 + 0.25 * ripples)


def confetti(t: float) -> Canvas:
    """The busy one: forty discs in all directions."""
    rng = np.random.default_rng(3)
    canvas = plain(NIGHT)
    for start_x, start_y, speed_x, speed_y, *colour in rng.uniform(-1, 1, (40, 7)):
        x, y = bounce(start_x + 1.4 * speed_x * t), bounce(start_y + 1.4 * speed_y * t)
        red, green, blue = (0.6 + 0.4 * part for part in colour)
        put_disc(canvas, _ASPECT * x, y, 0.05 + 0.06 * abs(start_x), (red, green, blue))
    return canvas


SCENES = (
    Scene(empty_sky, (220.0,), 9),
    Scene(bouncing_ball, (261.6, 329.6), 7),
    Scene(tiles, (196.0, 293.7), 8),
    Scene(confetti, (523.3, 659.3, 784.0), 7),
    Scene(empty_sky, (220.0,), 7),
    Scene(waves, (174.6, 261.6), 7),
    Scene(sunrise, (246.9, 311.1, 370.0), 7),
)


def pictures() -> Iterator[av.VideoFrame]:
    for scene in SCENES:
        for n in range(round(scene.duration_s * FPS)):
            image = (scene.draw(n / FPS).clip(0, 1) * 255).astype(np.uint8)
            yield av.VideoFrame.from_ndarray(image, "rgb24")


def chord(scene: Scene) -> Float32Array:
    t = np.arange(round(scene.duration_s * SAMPLE_RATE)) / SAMPLE_RATE
    tones = sum(np.sin(2 * np.pi * tone_hz * t) for tone_hz in scene.tones_hz)
    to_edge_s = np.minimum(t, t[-1] - t)
    return (0.2 * tones / len(scene.tones_hz) * np.minimum(to_edge_s / FADE_S, 1)).astype(np.float32)


def sounds() -> Iterator[av.AudioFrame]:
    wave = np.concatenate([chord(scene) for scene in SCENES])
    for begin in range(0, len(wave), 1024):
        frame = av.AudioFrame.from_ndarray(wave[None, begin : begin + 1024], "fltp", "mono")
        frame.sample_rate, frame.pts, frame.time_base = SAMPLE_RATE, begin, Fraction(1, SAMPLE_RATE)
        yield frame


def render(film: Path) -> None:
    with writing(film, "mp4") as out:
        _encode(out)


def _encode(out: OutputContainer) -> None:
    video = out.add_stream("libx264", rate=FPS, options={"preset": "veryfast"})
    video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    audio = out.add_stream("aac", rate=SAMPLE_RATE)
    audio.codec_context.layout = "mono"
    for frame in pictures():
        out.mux(video.encode(frame))
    out.mux(video.encode(None))
    for block in sounds():
        out.mux(audio.encode(block))
    out.mux(audio.encode(None))


def main() -> None:
    film = FOLDER / "film.mp4"
    try:
        FOLDER.mkdir(exist_ok=True)
        results.print(f"drawing a film of {sum(scene.duration_s for scene in SCENES):.0f} s …")
        render(film)
        summarize([str(film)], output=str(FOLDER), formats=",".join(FORMATS), overwrite=True)
    except (VastsumError, OSError) as error:
        errors.print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True)
        sys.exit(1)
    played, opened = (FOLDER / f"film.summary.{ending}" for ending in ("mp4", "html"))
    results.print(f"\nNow play [bold]{played}[/] and open [bold]{opened}[/] in a browser.")
    results.print("With a video of your own: [bold]vastsum summarize VIDEO[/]")


if __name__ == "__main__":
    main()
