"""A video's sound lies on the video's timeline, whatever the file; what cannot be heard does no harm."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from threading import Event
from types import ModuleType

import av
import numpy as np
import pytest
from films import BEEP_EVERY, Recipe, make_video, picture_of

from vastsum.errors import VideoError
from vastsum.sound import Speech, find_speech
from vastsum.sound.detector import RATE, STEP
from vastsum.sound.listening import _Ear
from vastsum.sound.speech import HOP, HOP_S


def beeps_s(speech: Speech) -> list[float]:
    """When the sound turns loud."""
    loud = speech.loudness > 2 * 85
    return [float(hop * HOP_S) for hop in np.flatnonzero(loud[1:] & ~loud[:-1]) + 1]


def film_with_sound(path: Path, sound: np.ndarray, rate: int, layout: str, codec: str, start_s: float = 0.0) -> Path:
    """One second of film, and this sound, (channels, samples), from `start_s` on."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=10)
        video.width, video.height, video.pix_fmt = 160, 120, "yuv420p"
        stream = out.add_stream(codec, rate=rate)
        stream.codec_context.layout = layout
        for index in range(10):
            out.mux(video.encode(av.VideoFrame.from_ndarray(picture_of(index))))
        out.mux(video.encode(None))
        for begin in range(0, sound.shape[1], 1024):
            block = np.ascontiguousarray(sound[:, begin : begin + 1024], np.float32)
            frame = av.AudioFrame.from_ndarray(block, "fltp", layout)
            frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
            frame.pts = begin + round(start_s * rate)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("suffix", "recipe"),
    [
        (".mp4", Recipe(sounds=["aac"], b_frames=3)),
        (".mkv", Recipe(sounds=["libopus"], b_frames=3)),
        (".ts", Recipe(sounds=["aac"], b_frames=3)),
        (".avi", Recipe(codec="mpeg4", sounds=["libmp3lame"])),
        (".mov", Recipe(codec="mpeg4", sounds=["pcm_s16le"])),
        (".mkv", Recipe(sounds=["aac", "libopus"])),
        (".mkv", Recipe(times=range(150, 240), sounds=["aac"])),
        (".mp4", Recipe(times=range(150, 240), sounds=["aac"])),
        (".mp4", Recipe(times=range(-15, 75), b_frames=2, sounds=["aac"], container_options={"use_editlist": "1"})),
    ],
    ids=["mp4", "mkv", "ts", "avi", "mov", "two sounds", "late frames, mkv", "late frames, mp4", "edit list"],
)
def test_sounds_are_heard_when_their_frames_are_shown(suffix: str, recipe: Recipe, tmp_path: Path) -> None:
    recipe.beeps = True
    speech = find_speech(make_video(tmp_path / f"beeps{suffix}", recipe))
    times = [max(time, 0) for time in recipe.times or range(recipe.n_frames)]
    shown = [(time - times[0]) / 30 for time in times[::BEEP_EVERY] if time > times[0]]
    assert [time for time in beeps_s(speech) if time > 0.1][: len(shown)] == pytest.approx(shown, abs=0.03)
    assert speech.warnings == ()
    assert speech.spans == []


@pytest.mark.parametrize("start_s", [0.0, 2.0, 75.0])
def test_a_track_that_starts_late(start_s: float, tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    sound = script("scripts/export_voice_detector").syllables(n_steps=60)[None]
    at_once = find_speech(film_with_sound(tmp_path / "a.mkv", sound, RATE, "mono", "flac"))
    late = find_speech(film_with_sound(tmp_path / "b.mkv", sound, RATE, "mono", "flac", start_s))
    first = np.flatnonzero(late.loudness > 2 * 40)[0] * HOP_S
    expected = start_s + np.flatnonzero(at_once.loudness > 2 * 40)[0] * HOP_S
    assert first == pytest.approx(expected, abs=0.03)
    assert len(late.voice) * STEP == pytest.approx(len(at_once.voice) * STEP + start_s * RATE, abs=2 * STEP)


@pytest.mark.parametrize(
    ("rate", "layout", "codec"),
    [(8000, "mono", "pcm_s16le"), (11025, "stereo", "pcm_u8"), (44100, "5.1", "flac"), (96000, "5.1", "pcm_f32le")],
)
def test_any_rate_and_layout(rate: int, layout: str, codec: str, tmp_path: Path) -> None:
    n_channels = av.AudioLayout(layout).nb_channels
    sound = np.zeros((n_channels, rate), np.float32)
    sound[:, rate // 2 :] = 0.5 * np.sin(np.arange(rate - rate // 2) * 2 * np.pi * 1000 / rate)
    speech = find_speech(film_with_sound(tmp_path / "film.mkv", sound, rate, layout, codec))
    assert beeps_s(speech) == pytest.approx([0.5], abs=0.02)


def test_no_sound_silence_and_music_have_no_speech_and_every_place_will_do(tmp_path: Path) -> None:
    time = np.arange(4 * 48_000) / 48_000
    chord = sum(0.1 * np.sin(2 * np.pi * note * time) for note in (220, 277.2, 329.6))
    films = [
        make_video(tmp_path / "mute.mp4", Recipe(n_frames=10)),
        film_with_sound(tmp_path / "silent.mkv", np.zeros((1, 48_000)), 48_000, "mono", "flac"),
        film_with_sound(tmp_path / "music.mkv", np.tile(chord, (2, 1)), 48_000, "stereo", "aac"),
    ]
    for film in films:
        speech = find_speech(film)
        assert speech.spans == []
        assert speech.warnings == ()
        assert speech.pause_near(0.5, 0.8) == 0.5


def test_sound_that_is_no_number_leaves_the_rest_be() -> None:
    for wrong in (np.nan, np.inf, -1e30):
        ear = _Ear()
        ear.take(np.full(RATE, wrong, np.float32), None)
        ear.take(np.zeros(20 * RATE, np.float32), None)
        speech = ear.speech(0)
        assert len(speech.voice) == 21 * RATE // STEP + 1
        assert speech.voice[-300:].max() < 50


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_told_and_the_rest_is_heard(seed: int, tmp_path: Path) -> None:
    whole = make_video(tmp_path / "whole.ts", Recipe(n_frames=300, sounds=["mp2"], beeps=True))
    data = bytearray(whole.read_bytes())
    rng = np.random.default_rng(seed)  # of these, 0 and 3 make a stream appear that was not there
    for at in rng.integers(len(data) // 3, len(data) // 2, 400):
        data[at] ^= int(rng.integers(1, 256))
    broken = tmp_path / "broken.ts"
    broken.write_bytes(data)
    speech = find_speech(broken)
    assert any("damaged places" in warning for warning in speech.warnings)
    expected = beeps_s(find_speech(whole))
    assert set(np.round(expected[-4:], 1)) <= set(np.round(beeps_s(speech), 1)), "what comes after the damage"


def test_a_cut_off_file_is_heard_until_there(tmp_path: Path) -> None:
    whole = make_video(tmp_path / "whole.mkv", Recipe(n_frames=300, sounds=["aac"], beeps=True))
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    heard = beeps_s(find_speech(cut))
    assert heard
    assert heard == pytest.approx(beeps_s(find_speech(whole))[: len(heard)], abs=0.02)


def test_ten_hours_with_long_gaps_fit_in_little_memory() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, 1000).astype(np.float32)
    tracemalloc.start()
    ear = _Ear()
    for hour in range(10):
        for n in range(50):
            ear.take(noise, hour * 3600 * RATE + n * 1000)
    ear.take(noise, 10**15)  # damaged: nothing lasts so long
    speech = ear.speech(0)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(speech.loudness) == -(-(9 * 3600 * RATE + 50_000) // HOP)
    assert speech.loudness[-300:].min() > 2 * 60
    assert speech.loudness[400:-400].max() > 2 * 60
    assert speech.loudness[400 : 3600 * 100 - 1].max() == 0
    assert most < 32 * 2**20


def test_threads_do_not_disturb_each_other(tmp_path: Path, script: Callable[[str], ModuleType]) -> None:
    sound = script("scripts/export_voice_detector").syllables(n_steps=400)[None]
    films = [film_with_sound(tmp_path / f"{n}.mkv", (1 - n / 4) * sound, RATE, "mono", "flac") for n in range(4)]
    alone = [find_speech(film) for film in films]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(find_speech, films))
    for one, other in zip(alone, together, strict=True):
        assert (one.voice == other.voice).all()
        assert (one.loudness == other.loudness).all()


def test_it_stops_when_told(tmp_path: Path) -> None:
    film = make_video(tmp_path / "film.mp4", Recipe(sounds=["aac"], beeps=True))
    stop = Event()
    stop.set()
    assert len(find_speech(film, stop=stop).voice) == 0


def test_what_is_no_video_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match="no such file"):
        find_speech(tmp_path / "none.mp4")
