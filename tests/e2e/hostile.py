"""Files that no summary, or only part of one, can be made of."""

from __future__ import annotations

import gzip
import io
import os
import struct
import wave
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from films import Recipe, make_video
from PIL import Image

N_FRAMES = 300
TENTHS = range(1, 10)
WHOLE = {
    "index first.mp4": Recipe(n_frames=N_FRAMES, sounds=["aac"], container_options={"movflags": "+faststart"}),
    "index last.mp4": Recipe(n_frames=N_FRAMES, sounds=["aac"]),
    "film.webm": Recipe(codec="libvpx", n_frames=N_FRAMES, sounds=["libopus"], gop=50),
    "film.mkv": Recipe(n_frames=N_FRAMES, sounds=["aac"], b_frames=2, gop=30),
}

Make = Callable[[Path, dict[str, bytes]], None]


def whole_films(folder: Path) -> dict[str, bytes]:
    return {name: make_video(folder / name, recipe).read_bytes() for name, recipe in WHOLE.items()}


def _holding(data: bytes) -> Make:
    return lambda path, _: path.write_bytes(data) and None


def _first_tenths(name: str, tenths: int) -> Make:
    """A file cut off after so many tenths of its pictures and sound."""

    def make(path: Path, films: dict[str, bytes]) -> None:
        data = films[name]
        header = data.index(b"mdat") if 0 <= data.find(b"moov") < data.find(b"mdat") else 0
        path.write_bytes(data[: header + (len(data) - header) * tenths // 10])

    return make


def _flipped(name: str, seed: int, *, header: bool = False) -> Make:
    def make(path: Path, films: dict[str, bytes]) -> None:
        data, rng = bytearray(films[name]), np.random.default_rng(seed)
        begin = 0 if header else max(data.find(b"mdat"), 2000)
        for position in rng.integers(begin, 2500 if header else len(data), 6 if header else 20):
            data[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)

    return make


def _with_a_hole(path: Path, films: dict[str, bytes]) -> None:
    data = bytearray(films["film.mkv"])
    third, sixth = len(data) // 3, len(data) // 6
    data[third : third + sixth] = bytes(sixth)
    path.write_bytes(data)


def _header_only(path: Path, films: dict[str, bytes]) -> None:
    data = films["index first.mp4"]
    path.write_bytes(data[: data.index(b"mdat") + 4])


def _huge_index(path: Path, films: dict[str, bytes]) -> None:
    """An mp4 whose index says that it is 4 GB long, and its tables that they hold four thousand million entries."""
    data = bytearray(films["index first.mp4"])
    moov = data.index(b"moov")
    data[moov - 4 : moov] = b"\xff\xff\xff\xf0"
    for table in (b"stsz", b"stts", b"stco", b"ctts"):
        at = data.find(table)
        if at > 0:
            size = 12 if table == b"stsz" else 8
            data[at + size : at + size + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)


def _picture(format: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)).save(file, format)
    return file.getvalue()


def _wav() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(48_000)
        sound.writeframes(bytes(96_000))
    return file.getvalue()


def _sound_only(path: Path, _: dict[str, bytes]) -> None:
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libmp3lame" if path.suffix == ".mp3" else "aac", rate=48_000)
        stream.codec_context.layout = "mono"
        for n in range(40):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = 48_000, n * 1024
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))


def _no_frames(path: Path, _: dict[str, bytes]) -> None:
    with av.open(str(path), "w", format="matroska") as out:
        stream = out.add_stream("mpeg4", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        out.start_encoding()


_IVF = struct.pack("<4sHH4sHHIIII", b"DKIF", 0, 32, b"VP80", 65_535, 65_535, 30, 1, 2**32 - 1, 0)
_IVF += struct.pack("<IQ", 2**31, 0) + bytes(1000)
_AVI = b"RIFF" + struct.pack("<I", 2**32 - 1) + b"AVI LIST" + struct.pack("<I", 2**32 - 1) + b"hdrlavih"
_AVI += struct.pack("<I", 2**31) + b"\xff" * 4000
_MKV = b"\x1a\x45\xdf\xa3\x01\xff\xff\xff\xff\xff\xff\xfe" + b"\x42\x82\x88matroska" + b"\x18\x53\x80\x67" * 500

# Of these nothing can be made: an error that names the file.
HOPELESS: dict[str, Make] = {
    **{f"index last {n} of 10.mp4": _first_tenths("index last.mp4", n) for n in TENTHS},
    "header only.mp4": _header_only,
    "empty.mp4": _holding(b""),
    "one byte.mp4": _holding(b"\0"),
    "zeros.mp4": _holding(bytes(100_000)),
    "noise.mp4": _holding(np.random.default_rng(0).bytes(100_000)),
    "text.mp4": _holding(b"Dear diary, today nothing moved.\n" * 200),
    "page.webm": _holding(b"<!doctype html><html><body>404 not found</body></html>"),
    "script.mkv": _holding(b"#!/bin/sh\nexit 0\n"),
    "picture.mp4": _holding(_picture("PNG")),
    "photo.avi": _holding(_picture("JPEG")),
    "archive.mov": _holding(gzip.compress(bytes(10_000_000))),
    "recording.wav": _holding(_wav()),
    "song.mp3": _sound_only,
    "talk.mp4": _sound_only,
    "no frames.mkv": _no_frames,
    "playlist.mp4": _holding(
        b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n"
    ),
    "other files.mp4": _holding(b"ffconcat version 1.0\nfile '/etc/hostname'\n"),
    "huge box.mp4": _holding(struct.pack(">I4sQ", 1, b"ftyp", 2**62) + b"isom" * 100),
    "huge pictures.y4m": _holding(b"YUV4MPEG2 W1000000 H1000000 F25:1 C420\nFRAME\n" + bytes(1000)),
    "large pictures.y4m": _holding(b"YUV4MPEG2 W30000 H30000 F25:1 C420\nFRAME\n" + bytes(1000)),
    "huge packet.ivf": _holding(_IVF),
    "huge list.avi": _holding(_AVI),
    "huge elements.mkv": _holding(_MKV),
    "huge picture.gif": _holding(b"GIF89a\xff\xff\xff\xff\xf7\0\0" + bytes(768) + b";"),
    "huge rate.y4m": _holding(b"YUV4MPEG2 W16 H16 F4294967295:1 C420\n"),
    "loop.mp4": lambda path, _: path.symlink_to(path.name),
    "dangling.mp4": lambda path, _: path.symlink_to("nowhere.mp4"),
    "pipe.mp4": lambda path, _: os.mkfifo(path),
    "device.mp4": lambda path, _: path.symlink_to("/dev/zero"),
    "missing.mp4": lambda *_: None,
    "folder.mp4/missing too.mp4": lambda path, _: path.parent.mkdir(),
    "text.mp4/inside.mp4": lambda *_: None,
    f"{'long ' * 60}.mp4": lambda *_: None,
}

# Of these a part can be saved: a result, and a note that names the file and says what was lost.
DAMAGED: dict[str, Make] = {
    **{f"index first {n} of 10.mp4": _first_tenths("index first.mp4", n) for n in TENTHS},
    **{f"film {n} of 10.webm": _first_tenths("film.webm", n) for n in TENTHS},
    "hole.mkv": _with_a_hole,
}

# Of these all, some or nothing may be left, by chance.
FLIPPED: dict[str, Make] = {
    **{f"flipped mp4 {seed}.mp4": _flipped("index first.mp4", seed) for seed in range(5)},
    **{f"flipped webm {seed}.webm": _flipped("film.webm", seed) for seed in range(5)},
    **{f"flipped mp4 header {seed}.mp4": _flipped("index first.mp4", seed, header=True) for seed in range(5)},
    **{f"flipped mkv header {seed}.mkv": _flipped("film.mkv", seed, header=True) for seed in range(5)},
    "huge index.mp4": _huge_index,
}
