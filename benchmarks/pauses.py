"""How many cuts fall within a word, where times are chosen at random and where they are moved to pauses.

    apt-get install espeak-ng && python benchmarks/pauses.py [--summaries]

eSpeak NG speaks a page in three voices; the words' times are those its engine reports while it speaks (a word lasts
until the next one or a pause begins, so words that run together leave nothing between them). Each is heard clean, and
with chords and drums 12 dB below it, as AAC in an mp4 file; 1000 times in each are moved with `pause_near(time, 0.8)`.
Where that finds no pause, the time stays where it was, and counts as it is.

With --summaries the page is spoken five times over without gaps between words, cut into segments at random places, and
summarised by random scores; what counts is where the pieces of the summaries begin and end.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from vastsum.segmentation import LONGEST_S, at_good_places, max_segment_s
from vastsum.sound import Speech, find_speech
from vastsum.summarizer import marks_of, pause_frame
from vastsum.summary import ModelNames, SourceVideo, Summary
from vastsum.types import Prediction, Segments
from vastsum.video import Shots, Timeline

FloatArray = NDArray[np.float64]

# Neither the page nor the voices are those that the weights of `pause_near` were chosen on.
PAGE = """Bread is mostly patience. Mix flour, water and some salt in a wide bowl, cover it, and leave it alone until
tomorrow. Most people knead too early, because they want to feel that something is happening. If you wait, the dough
will do the work for you. In the morning it should be twice as high, soft, and full of bubbles that you can see through
the glass. Fold it four times, then let it rest on a board while the oven gets hot. My grandmother used a stone that she
had found by the river, but a heavy pot with a lid is just as good. Put the dough in, close the lid, and do not open it
for half an hour. After that, take the lid off and bake the loaf until it is as dark as you dare. Listen to it when it
comes out: a good crust crackles as it cools. You may be tempted to cut it at once, and everybody does so the first
time. Wait another hour, if you can. The second loaf will be better than the first, and the tenth will be yours."""
VOICES = ("en-us+m3", "gmw/en-GB-x-rp+f2", "gmw/en-029")
WORD_GAPS = (0, 5, 7, 10)  # in eSpeak's units, about 12 ms; with 10, words take up about two thirds of the time
MUSIC_DB = (None, -12.0)
N_TIMES, WITHIN_S = 1000, 0.8
FPS, BUDGETS, N_SUMMARIES = 25, (0.05, 0.1, 0.15, 0.3), 8

_WORD, _END, _PHONEME = 1, 5, 7  # espeak_EVENT_TYPE
_SPEED, _WORD_GAP = 1, 7  # espeak_PARAMETER


class _Event(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in ("type", "id", "text_position", "length", "audio_position", "sample")),
        ("user_data", ctypes.c_void_p),
        ("name", ctypes.c_char * 8),
    )


_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event))


def say(text: str, voice: str, word_gap: int = 0) -> tuple[FloatArray, FloatArray, int]:
    """The sound, (start_s, end_s) of each word, and the sampling rate. Raises OSError where eSpeak NG is missing."""
    espeak = ctypes.CDLL("libespeak-ng.so.1")
    rate = espeak.espeak_Initialize(2, 0, None, 1)  # give the sound back before returning, and tell of phonemes
    blocks, events = [], []

    def heard(samples: ctypes._Pointer[ctypes.c_short], n: int, event: ctypes._Pointer[_Event]) -> int:
        if samples and n > 0:
            blocks.append(np.ctypeslib.as_array(samples, (n,)) / 2**15)
        at = 0
        while event[at].type:
            is_pause = event[at].type == _PHONEME and event[at].name.startswith(b"_")
            if is_pause or event[at].type in (_WORD, _END):
                events.append((event[at].sample / rate, event[at].type == _WORD))
            at += 1
        return 0

    callback = _CALLBACK(heard)
    espeak.espeak_SetSynthCallback(callback)
    if espeak.espeak_SetVoiceByName(voice.encode()):
        raise OSError(f"eSpeak NG has no voice {voice}")
    espeak.espeak_SetParameter(_SPEED, 165, 0)
    espeak.espeak_SetParameter(_WORD_GAP, word_gap, 0)
    data = text.encode()
    espeak.espeak_Synth(data, len(data) + 1, 0, 1, 0, 1, None, None)
    words = [(start, end) for (start, is_word), (end, _) in pairwise(events) if is_word]
    return np.concatenate(blocks), np.array([word for word in words if word[0] < word[1]]), rate


def music_like(n_samples: int, rate: int) -> FloatArray:
    """Four chords in turn, struck each second, and a drum of noise four times a second."""
    rng = np.random.default_rng(0)
    seconds = np.arange(rate) / rate
    drum = np.exp(-60 * (seconds % 0.25))
    bars = []
    for second in range(-(-n_samples // rate)):
        root = 220 * 2 ** ((0, 5, 7, -3)[second // 2 % 4] / 12)
        chord = sum(np.sin(2 * np.pi * root * m * seconds) / m for m in (1, 1.25, 1.5, 2, 3))
        bars.append(chord * np.exp(-1.5 * seconds) + 0.5 * drum * rng.standard_normal(rate))
    return np.concatenate(bars)[:n_samples]


def with_music(speech: FloatArray, rate: int, decibels: float) -> FloatArray:
    """Music beneath, this much louder than what is spoken (pauses are not counted)."""
    music = music_like(len(speech), rate)
    spoken = speech[np.abs(speech) > 0.01 * np.abs(speech).max()]
    return speech + music * np.sqrt((spoken**2).mean() / (music**2).mean()) * 10 ** (decibels / 20)


def film(path: Path, sound: FloatArray, rate: int) -> Path:
    """An mp4 file with this sound, and a few black frames."""
    with av.open(str(path), "w") as out:
        video = out.add_stream("mpeg4", rate=1)
        video.width, video.height, video.pix_fmt = 64, 48, "yuv420p"
        stream = out.add_stream("aac", rate=rate, layout="mono")
        for _ in range(3):
            out.mux(video.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8))))
        out.mux(video.encode(None))
        for begin in range(0, len(sound), 1024):
            frame = av.AudioFrame.from_ndarray(sound[None, begin : begin + 1024].astype(np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts, frame.time_base = rate, begin, Fraction(1, rate)
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


def within_words(times_s: FloatArray, words: FloatArray) -> float:
    """The share of times that fall within a word."""
    latest = np.maximum(np.searchsorted(words[:, 0], times_s, side="right") - 1, 0)
    return float(((words[latest, 0] < times_s) & (times_s < words[latest, 1])).mean())


def out_of_reach(times_s: FloatArray, words: FloatArray) -> float:
    """The share of times that have no gap between words within reach: the least that can be within a word."""
    apart = np.flatnonzero(words[1:, 0] > words[:-1, 1])
    gaps = np.column_stack([words[apart, 1], words[apart + 1, 0]])
    near = (gaps[:, 0] <= times_s[:, None] + WITHIN_S) & (gaps[:, 1] >= times_s[:, None] - WITHIN_S)
    return float((~near.any(axis=1)).mean())


def measure(path: Path, words: FloatArray, n_times: int = N_TIMES) -> tuple[float, float, float, float, float]:
    """Shares of cuts within a word before, after and at best; of times without a pause; how far the others moved."""
    speech = find_speech(path)
    times_s = np.random.default_rng(0).uniform(words[0, 0], words[-1, 1], n_times)
    found = [speech.pause_near(time_s, WITHIN_S) for time_s in times_s]
    none = np.array([time_s is None for time_s in found])
    moved_s = np.where(none, times_s, np.array(found, float))
    shares = within_words(times_s, words), within_words(moved_s, words), out_of_reach(times_s, words)
    return *shares, none.mean(), np.abs(moved_s - times_s)[~none].mean()


def summary_of(speech: Speech, n_frames: int, budget: float, rng: np.random.Generator) -> Summary:
    """Of a video of one shot, in segments of 2 to 8 s, whose scores go up and down in seconds."""
    timeline = Timeline(np.arange(n_frames), Fraction(1, FPS), 1, np.array([0]))
    picks = np.arange(0, n_frames, FPS // 2)
    scores = np.convolve(rng.standard_normal(len(picks)), np.full(6, 1 / 6), "same")
    starts = np.cumsum([0, *rng.integers(2 * FPS, 8 * FPS, n_frames // (2 * FPS))])
    starts = starts[starts < n_frames]
    found = Segments(np.column_stack([starts, np.append(starts[1:], n_frames) - 1]), picks, n_frames, FPS)
    marks = marks_of(Shots(np.array([], np.int64), (), ()), speech, timeline)
    longest_s = min(max_segment_s(timeline.duration_s, budget), LONGEST_S)
    pause_near = partial(pause_frame, speech, timeline)
    segments = at_good_places(found, marks, pause_near=pause_near, max_s=longest_s)
    video = SourceVideo(Path("film.mp4"), timeline.duration_s, FPS, n_frames, 64, 48)
    prediction = Prediction(scores, np.full(len(picks), 0.1))
    return Summary.choose(
        video, ModelNames("random", "none"), prediction, segments, budget, timeline=timeline, marks=marks
    )


def ends_within_words(speech: Speech, words: FloatArray, budget: float, n: int) -> tuple[float, float]:
    """Of `n` summaries: the share of beginnings and ends of pieces that fall within a word; the least fill."""
    n_frames = int(words[-1, 1] * FPS)
    summaries = [summary_of(speech, n_frames, budget, np.random.default_rng(seed)) for seed in range(n)]
    edges = np.array([edge for one in summaries for first, last in one.ranges for edge in (first, last + 1)])
    inner = edges[(edges > 0) & (edges < n_frames)]
    return within_words(inner / FPS, words), min(one.duration_s / one.budget.seconds for one in summaries)


def rows() -> Iterator[str]:
    yield "| voice | words, of the time | gap, ms | music | random | moved | at best | no pause | moved by, s |"
    yield "| --- " * 9 + "|"
    with tempfile.TemporaryDirectory() as folder:
        for gap, voice in product(WORD_GAPS, VOICES):
            sound, words, rate = say(PAGE, voice, gap)
            gap_ms = 1000 * np.median(words[1:, 0] - words[:-1, 1])
            covered = np.diff(words).sum() / (words[-1, 1] - words[0, 0])
            for decibels in MUSIC_DB:
                mixed = sound if decibels is None else with_music(sound, rate, decibels)
                *shares, by_s = measure(film(Path(folder) / "film.mp4", 0.5 * mixed, rate), words)
                music = "none" if decibels is None else f"{decibels:.0f} dB"
                found = " | ".join(f"{share:.1%}" for share in shares)
                yield f"| {voice} | {covered:.0%} | {gap_ms:.0f} | {music} | {found} | {by_s:.2f} |"


def rows_of_summaries() -> Iterator[str]:
    yield "| voice | music | " + " | ".join(f"{budget:.0%}" for budget in BUDGETS) + " | least fill |"
    yield "| --- " * (3 + len(BUDGETS)) + "|"
    with tempfile.TemporaryDirectory() as folder:
        for voice in VOICES:
            sound, words, rate = say(" ".join([PAGE] * 5), voice)
            for decibels in MUSIC_DB:
                mixed = sound if decibels is None else with_music(sound, rate, decibels)
                speech = find_speech(film(Path(folder) / "film.mp4", 0.5 * mixed, rate))
                shares, fills = zip(
                    *(ends_within_words(speech, words, one, N_SUMMARIES) for one in BUDGETS), strict=True
                )
                music = "none" if decibels is None else f"{decibels:.0f} dB"
                found = " | ".join(f"{share:.1%}" for share in shares)
                yield f"| {voice} | {music} | {found} | {min(fills):.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--summaries", action="store_true", help="where summaries begin and end")
    for row in rows_of_summaries() if parser.parse_args().summaries else rows():
        print(row, flush=True)


if __name__ == "__main__":
    main()
