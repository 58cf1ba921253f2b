"""The command as a user runs it, and what every result must be."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import av
from films import Decoded, play

import vastsum

Result = subprocess.CompletedProcess[str]


def run(
    *arguments: object, cwd: Path | None = None, before: Callable[[], None] | None = None, timeout_s: float = 120
) -> Result:
    """`vastsum …` in a process of its own; `before` is called in it first."""
    return subprocess.run(
        [sys.executable, "-m", "vastsum", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        preexec_fn=before,
        timeout=timeout_s,
    )


def summarize(*arguments: object, cwd: Path | None = None) -> Result:
    """`vastsum summarize …`, which must go well."""
    result = run("summarize", *arguments, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result


def assert_one_line_error(result: Result, *words: object) -> None:
    assert result.returncode == 1, result.stdout + result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for word in words:
        assert str(word) in line


def names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def assert_sound_summary(json: Path, video: Path, budget: float = 0.15) -> tuple[vastsum.Summary, Decoded]:
    """Not empty, not over budget, and the video on disk is what summary.json says it is, frame by frame."""
    summary = vastsum.Summary.load(json)
    assert summary.selected
    assert summary.budget.fraction == budget
    assert summary.n_frames == 1 or summary.duration_s <= budget * summary.video.duration_s + 1e-6
    played = play(video)
    assert len(played.indices) == summary.n_frames
    with av.open(str(video)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.duration is not None
        assert stream.time_base is not None
        assert abs(float(stream.duration * stream.time_base) - summary.duration_s) < 0.001
    return summary, played
