"""Pictures of a summary, and the choice of a format by file name."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence
from summaries import COLOURS, make_summary

from vastsum.errors import ConfigError, OutputError, VideoError
from vastsum.export import FORMATS, drawing, format_of, preview, storyboard
from vastsum.export.cover import quality
from vastsum.export.drawing import BAND, CLEAR, LEFT_OUT, UNLIKELY, Canvas, chance_colour
from vastsum.export.preview import write_gif
from vastsum.export.storyboard import write_storyboard
from vastsum.summary import Summary
from vastsum.types import Prediction


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert image.format == "PNG"
        return np.asarray(image.convert("RGB")).astype(int)


def share_near(picture: np.ndarray, colour: tuple[int, int, int], within: int = 40) -> float:
    return float((np.abs(picture - colour).max(axis=2) < within).mean())


def test_the_timeline_shows_thumbnails_curve_and_segments(filmed: Summary, tmp_path: Path) -> None:
    picture = pixels(filmed.save(tmp_path / "a.png"))
    for colour in COLOURS:
        assert share_near(picture[112:216], colour) > 0.1  # a fifth of the strip each
    assert share_near(picture, BAND, 3) > 0.015
    assert share_near(picture, LEFT_OUT, 3) > 0.01
    # The lane of segments: chosen ones and only those are coloured.
    lane = picture[560]
    for segment in filmed.segments:
        middle = 84 + (1564 - 84) * (segment.start_s + segment.end_s) / 2 / filmed.video.duration_s
        expected = chance_colour(segment.chance) if segment.selected else LEFT_OUT
        assert np.abs(lane[round(middle)] - expected).max() <= 2


def test_without_its_video_the_timeline_is_drawn_without_thumbnails(
    summary: Summary, filmed: Summary, tmp_path: Path
) -> None:
    plain, full = pixels(summary.save(tmp_path / "a.png")), pixels(filmed.save(tmp_path / "b.png"))
    assert plain.shape[0] < full.shape[0]
    assert plain.shape[1] == full.shape[1]


@pytest.mark.parametrize(
    "summary",
    [
        make_summary(n_frames=1, n_segments=1, budget=1.0),
        make_summary(n_frames=30_000, n_segments=3000, budget=0.2),
        make_summary(fps=0.001, n_frames=300),
        make_summary("x" * 200 + ".mp4", size=(9, 1600)),
        make_summary("海 ü \udcff.mp4"),
        make_summary(fps=1000, n_frames=40),
    ],
    ids=["one frame", "thousands of segments", "days long", "long name", "odd name", "milliseconds"],
)
def test_every_video_gets_a_timeline(summary: Summary, tmp_path: Path) -> None:
    assert pixels(summary.save(tmp_path / "a.png")).shape[1] == 1600


@pytest.mark.parametrize("level", [0.0, -3.0, 1e-7, 1e6])
def test_constant_importance_can_be_drawn(level: float, tmp_path: Path) -> None:
    summary = make_summary()
    flat = Prediction(np.full(len(summary.picks), level), np.zeros(len(summary.picks)))
    constant = Summary.choose(summary.video, summary.model, flat, summary.layout)
    assert pixels(constant.save(tmp_path / "a.png")).size


def test_the_storyboard_shows_each_chosen_segment_at_its_best_pick(filmed: Summary, tmp_path: Path) -> None:
    filmed = filmed.with_budget(1.0)
    picture = pixels(filmed.save(tmp_path / "a.storyboard.png"))
    sheet = storyboard._Sheet.of(len(filmed.pieces), 160 / 90)
    for n, segment in enumerate(filmed.pieces):
        x, y = sheet.place(n)
        seen = picture[round(y + sheet.picture_height / 2), round(x + sheet.cell_width / 2)]
        assert np.abs(seen - COLOURS[filmed.highlight(segment) // 60]).max() < 40


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 13, 50, 200, 1000])
@pytest.mark.parametrize("aspect", [0.3, 9 / 16, 4 / 3, 16 / 9, 4.0])
def test_storyboards_of_any_length_are_sheets_one_can_look_at(n: int, aspect: float) -> None:
    sheet = storyboard._Sheet.of(n, aspect)
    assert sheet.n_columns * sheet.n_rows >= n
    assert sheet.n_columns * (sheet.n_rows - 1) < n
    assert 0.4 < sheet.width / sheet.height < 3.5
    assert sheet.width * sheet.height < 70e6
    last_x, last_y = sheet.place(n - 1)
    assert last_x + sheet.cell_width <= sheet.width
    assert last_y + sheet.picture_height < sheet.height


@pytest.mark.parametrize(("n_segments", "budget"), [(1, 1.0), (300, 1.0), (10, 0.001)])
def test_one_and_three_hundred_pictures(video: Path, n_segments: int, budget: float, tmp_path: Path) -> None:
    summary = make_summary(video, n_segments=n_segments, budget=budget)
    assert pixels(summary.save(tmp_path / "a.png", format="storyboard")).size


def test_of_too_many_segments_the_most_important_are_shown(
    video: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storyboard, "MAX_PICTURES", 3)
    summary = make_summary(video, budget=1.0)
    shown = storyboard._shown_segments(summary)
    assert {s.importance for s in shown} == set(sorted(s.importance for s in summary.pieces)[-3:])
    assert [s.start_frame for s in shown] == sorted(s.start_frame for s in shown)
    write_storyboard(summary, tmp_path / "a.png")
    assert (tmp_path / "a.png").exists()


def test_a_storyboard_without_its_video_is_a_clear_error(summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"holiday.mp4: no such file; .*storyboard shows pictures"):
        summary.save(tmp_path / "a.storyboard.png")
    assert not list(tmp_path.iterdir())


def test_texts_are_shortened_in_the_middle() -> None:
    canvas = Canvas(400, 100)
    assert canvas.shortened("short.mp4", 20, 400) == "short.mp4"
    shorter = canvas.shortened("a" * 50 + "b" * 50, 20, 200)
    assert shorter.startswith("a")
    assert shorter.endswith("b")
    assert canvas.text_width(shorter, 20) <= 200
    assert canvas.shortened("long", 20, 1) == "…"


def test_colours_mix_from_end_to_end() -> None:
    assert (chance_colour(0), chance_colour(1)) == (UNLIKELY, CLEAR)
    assert drawing.mix((0, 0, 0), (100, 200, 50), 0.5) == (50, 100, 25)


def test_the_summary_is_saved_as_a_video(filmed: Summary, tmp_path: Path) -> None:
    path = filmed.save(tmp_path / "new folder" / "a.summary.mp4")
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) == filmed.n_frames
    seen: list[float] = []
    filmed.save(path, overwrite=True, progress=lambda done_s, _: seen.append(done_s))
    assert seen[-1] == pytest.approx(filmed.duration_s)


def test_a_copy_may_have_another_container(filmed: Summary, tmp_path: Path) -> None:
    path = filmed.save(tmp_path / "a.mkv", copy=True)
    with av.open(str(path)) as container:
        assert sum(1 for _ in container.decode(video=0)) >= filmed.n_frames
    with pytest.raises(ConfigError, match="no format is known by the ending"):
        filmed.save(tmp_path / "b.mkv")
    with pytest.raises(ConfigError, match="only a video can be copied"):
        filmed.save(tmp_path / "b.json", copy=True)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_found_by_its_suffix_and_written(name: str, filmed: Summary, tmp_path: Path) -> None:
    path = FORMATS[name].path_for(filmed.video.path, tmp_path)
    assert path.name.startswith("five colours.summary.")
    assert format_of(path) == name
    FORMATS[name].write(filmed, path)
    assert path.stat().st_size > 0
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # and nothing else is left behind


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("a.JSON", "json"),
        ("storyboard.png", "storyboard"),
        ("a.b.png", "png"),
        ("a.summary.storyboard.PNG", "storyboard"),
        ("a.cover.jpg", "cover"),
        ("a.xml", "premiere"),
    ],
)
def test_endings_decide_the_format(name: str, format: str) -> None:
    assert format_of(Path(name)) == format


@pytest.mark.parametrize("name", ["a.docx", "a", "a.storyboard", ".png", "a.jpg"])
def test_unknown_endings_are_refused_and_the_known_ones_named(name: str, summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"use \.mp4, \.json, \.png, .*\.xml, .*\.gif or \.cover\.jpg, or name"):
        summary.save(tmp_path / name)


def test_unknown_formats_are_refused(summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="'avi' is not known; choose one of mp4, json"):
        summary.save(tmp_path / "a.json", format="avi")


@pytest.mark.parametrize("name", FORMATS)
def test_places_that_cannot_be_written_are_named(name: str, filmed: Summary, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputError, match="file"):
        filmed.save(tmp_path / "file" / "a", format=name)


def test_a_video_that_grew_shorter_is_refused_clearly(filmed: Summary, tmp_path: Path) -> None:
    longer = make_summary(filmed.video.path, n_frames=3000, budget=0.2)
    with pytest.raises(VideoError, match="are not in it"):
        replace(longer, timeline=None).save(tmp_path / "a.mp4")


@pytest.mark.parametrize("name", ["gif", "webp"])
def test_a_preview_moves_through_the_best_pieces(name: str, filmed: Summary, tmp_path: Path) -> None:
    filmed = filmed.with_budget(0.5, keep=[1, 4, 9], leave_out=[0, 2, 3, 5, 6, 7, 8])  # of three colours
    filmed.save(tmp_path / f"a.{name}")
    with Image.open(tmp_path / f"a.{name}") as image:
        shown = [np.asarray(frame.convert("RGB")).astype(int) for frame in ImageSequence.Iterator(image)]
        image.seek(0)
        assert image.info["loop"] == 0, "forever"
        assert image.size == (160, 90), "never enlarged"
    order = [next(k for k, colour in enumerate(COLOURS) if share_near(picture, colour) > 0.9) for picture in shown]
    assert order == sorted(order)
    assert set(order) == {filmed.highlight(piece) // 60 for piece in filmed.pieces}


@pytest.mark.parametrize(("seconds", "expected_s"), [(1.0, 1.0), (6.0, 3.0)])
def test_a_preview_lasts_as_long_as_is_asked_and_no_longer_than_the_summary(
    seconds: float, expected_s: float, filmed: Summary, tmp_path: Path
) -> None:
    filmed = filmed.with_budget(0.25)
    write_gif(filmed, tmp_path / "a.gif", seconds=seconds)
    with Image.open(tmp_path / "a.gif") as image:
        lasts_ms = sum(frame.info["duration"] for frame in ImageSequence.Iterator(image))
    assert lasts_ms / 1000 == pytest.approx(min(expected_s, filmed.duration_s), abs=0.11)


def test_what_short_pieces_leave_of_a_preview_is_for_longer_ones() -> None:
    kept = [2, *range(10, 20)]  # 0.4 s and 4 s
    summary = make_summary(n_segments=30).with_budget(0.4, keep=kept, leave_out=[k for k in range(30) if k not in kept])
    parts = preview._parts_s(summary, 3.0)
    assert [stop - start for start, stop in parts] == [pytest.approx(0.4), pytest.approx(2.6)]
    assert all(any(p.start_s <= start < stop <= p.end_s + 1e-9 for p in summary.pieces) for start, stop in parts)


@pytest.mark.parametrize("size", [(1280, 720), (720, 1280)])
def test_previews_of_large_videos_are_small(size: tuple[int, int], tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=Fraction(5), options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for n in range(10):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((size[1], size[0], 3), 25 * n, np.uint8))))
        out.mux(stream.encode(None))
    summary = make_summary(path, fps=5, n_frames=10, n_segments=2, size=size, budget=0.5)
    for name, side in (("gif", 320), ("webp", 480), ("cover", 1280)):
        summary.save(tmp_path / name, format=name)
        with Image.open(tmp_path / name) as image:
            assert image.size == tuple(value * side // 1280 for value in size)


def test_the_cover_is_the_sharp_and_well_lit_picture_of_the_best_piece(tmp_path: Path) -> None:
    path, n_sharp = tmp_path / "a.mp4", 33
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (9, 16, 1)).repeat(3, axis=2).repeat(10, axis=0).repeat(10, axis=1)
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libx264", rate=Fraction(12), options={"preset": "ultrafast", "qp": "10"})
        stream.width, stream.height, stream.pix_fmt = 160, 90, "yuv420p"
        for n in range(60):
            # Blurred pictures, dark ones, and one that is neither; in another piece there are more of these.
            blurred = np.asarray(Image.fromarray(noise.astype(np.uint8)).resize((8, 5)).resize((160, 90)))
            picture = noise if n % 2 else blurred
            shown = picture if n in range(n_sharp, n_sharp + 3) or n < 24 or not n % 2 else picture // 8
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(shown.astype(np.uint8)))))
        out.mux(stream.encode(None))
    summary = make_summary(path, fps=12, n_frames=60, n_segments=5)
    best = replace(summary.segments[2], importance=9.0)
    chosen = tuple(replace(best if n == 2 else s, selected=n in (0, 2)) for n, s in enumerate(summary.segments))
    replace(summary, segments=chosen).save(tmp_path / "a.cover.jpg")
    with Image.open(tmp_path / "a.cover.jpg") as image:
        cover = np.asarray(image.convert("L")).astype(int)
    assert np.abs(cover - noise[:, :, 0]).mean() < 15


def test_dark_blurred_and_burnt_out_pictures_are_no_covers() -> None:
    sharp = np.random.default_rng(0).integers(64, 192, (90, 160, 3)).astype(np.uint8)
    blurred = np.asarray(Image.fromarray(sharp).resize((16, 9)).resize((160, 90)))
    others = [blurred, sharp // 4, 191 + sharp // 4, np.zeros_like(sharp), sharp[:1, :1]]
    assert max(map(quality, others)) < quality(sharp) / 2


@pytest.mark.parametrize("name", ["gif", "webp", "cover"])
def test_moving_and_still_pictures_need_the_video(name: str, summary: Summary, tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"holiday.mp4: no such file"):
        summary.save(tmp_path / "a", format=name)
    assert not list(tmp_path.iterdir())
