"""The summary plays in a browser: a real Chromium plays it to the end, pictures and sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from browsing import opened

import vastsum

PAGE = """
<video id="video" src="clip.summary.mp4" muted></video>
<script>
  window.outcome = null;
  video.playbackRate = 4;
  video.onerror = () => { window.outcome = {error: video.error.message}; };
  video.onended = () => { window.outcome = {
    duration: video.duration, width: video.videoWidth, height: video.videoHeight,
    frames: video.getVideoPlaybackQuality().totalVideoFrames, sound: video.webkitAudioDecodedByteCount }; };
  video.play();
</script>
"""


def render_clip(path: Path) -> None:
    """Twelve seconds of four scenes with a tone, in VP9 and Opus."""
    rng = np.random.default_rng(0)
    with av.open(str(path), "w") as out:
        video = out.add_stream("libvpx-vp9", rate=25, options={"deadline": "realtime", "cpu-used": "8"})
        video.width, video.height, video.pix_fmt = 160, 120, "yuv420p"
        audio = out.add_stream("libopus", rate=48000)
        scenes = rng.integers(0, 256, (4, 120, 160, 3), dtype=np.uint8)
        for n in range(300):
            picture = np.roll(scenes[n // 75], n, axis=1)
            out.mux(video.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        out.mux(video.encode())
        tone = (0.2 * np.sin(2 * np.pi * 440 * np.arange(12 * 48000) / 48000)).astype(np.float32)
        for start in range(0, len(tone), 960):
            frame = av.AudioFrame.from_ndarray(tone[None, start : start + 960], format="flt", layout="mono")
            frame.sample_rate, frame.pts = 48000, start
            out.mux(audio.encode(frame))
        out.mux(audio.encode())


def test_a_summary_plays_to_the_end_in_chromium(browser: Any, tmp_path: Path) -> None:
    render_clip(tmp_path / "clip.webm")
    summary = vastsum.summarize(tmp_path / "clip.webm", budget="40%")
    summary.save(tmp_path / "clip.summary.mp4")
    (tmp_path / "page.html").write_text(PAGE)
    with opened(browser, (tmp_path / "page.html").as_uri()) as page:
        page.wait_for_function("window.outcome !== null", timeout=60_000)
        outcome = page.evaluate("window.outcome")
    assert "error" not in outcome
    assert (outcome["width"], outcome["height"]) == (160, 120)
    assert outcome["duration"] == pytest.approx(summary.duration_s, abs=0.1)
    assert (
        outcome["frames"] >= 0.9 * summary.n_frames
    )  # a busy machine may drop a few when playing at four times the speed
    assert outcome["sound"] > 0
