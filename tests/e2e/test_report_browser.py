"""The report in a real Chromium: opened from disk, it shows, plays and changes a summary as Python would."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vastsum import Summary
from vastsum.export.page import STATIC, TIMELINE_SCRIPTS
from vastsum.selection import knapsack
from vastsum.summary import ModelNames, SourceVideo
from vastsum.types import Prediction, Segments

DESKTOP = {"viewport": {"width": 1280, "height": 900}}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}


# ---- the knapsack and the draft, against Python ----


@pytest.fixture(scope="module")
def workbench(browser: Any) -> Any:
    """An empty page with the scripts that choose."""
    page = browser.new_page()
    for name in TIMELINE_SCRIPTS:
        page.add_script_tag(path=STATIC / name)
    yield page
    page.close()


def random_case(rng: np.random.Generator) -> tuple[list[float], list[int], int]:
    """Values, weights and capacity of one of the kinds that go wrong in different ways."""
    n = 1 if rng.random() < 0.05 else int(rng.integers(1, 60))
    weights = rng.integers(1, rng.choice([3, 20, 400]), n, endpoint=True) * rng.choice([1, 1, 5])
    values = [
        lambda: rng.random(n),  # as scores are
        lambda: rng.standard_normal(n),  # some worthless
        lambda: -rng.random(n),  # all of them
        lambda: rng.integers(-1, 4, n) * 0.1,  # ties that rounding could break
        lambda: weights * 0.1,  # ties everywhere
        lambda: np.full(n, 0.3),
        lambda: np.zeros(n),
        lambda: rng.random(n).astype(np.float32),
    ][rng.integers(8)]()
    share = rng.choice([0.0, 0.02, 0.15, 0.5, 1.0, 1.2])  # small ones leave out all items or most
    return np.asarray(values, dtype=np.float64).tolist(), weights.tolist(), int(share * weights.sum())


def test_the_knapsack_chooses_as_python_does_in_1000_random_cases(workbench: Any) -> None:
    rng = np.random.default_rng(6)
    cases = [random_case(rng) for _ in range(1000)]
    answers = workbench.evaluate(
        "cases => cases.map(([values, weights, capacity]) => [...vastsum.knapsack(values, weights, capacity)])", cases
    )
    for (values, weights, capacity), answer in zip(cases, answers, strict=True):
        expected = knapsack(np.array(values), np.array(weights), capacity)
        assert answer == expected.astype(int).tolist(), (values, weights, capacity)
    assert sum(not any(answer) for answer in answers) > 20  # nothing fits in some
    assert sum(sum(answer) > 1 for answer in answers) > 300


def random_summary(rng: np.random.Generator) -> Summary:
    """Of frames that are evenly spaced in one half of the cases, and not in the other."""
    n_frames = int(rng.integers(200, 3000))
    cuts = np.unique(rng.integers(1, n_frames, rng.integers(1, 40)))
    starts = np.concatenate([[0], cuts])
    bounds = np.column_stack([starts, np.append(cuts, n_frames) - 1])
    picks = np.unique(rng.integers(0, n_frames, n_frames // 12))
    scores = rng.standard_normal(len(picks)) * 0.3 + rng.choice([0.0, 0.6])
    video = SourceVideo(Path("film.mp4"), n_frames / 29.97, 29.97, n_frames, 320, 180)
    prediction = Prediction(scores, rng.uniform(0.01, 0.3, len(picks)))
    layout = Segments(bounds, picks, n_frames)
    summary = Summary.choose(video, ModelNames("a", "b"), prediction, layout, budget=1.0)
    if rng.random() < 0.5:
        paces = rng.uniform(0.5, 2.0, len(layout)) * layout.lengths
        edges = np.append(0.0, np.cumsum(paces) / paces.sum() * video.duration_s).tolist()
        times = zip(summary.segments, edges[:-1], edges[1:], strict=True)
        uneven = tuple(replace(segment, start_s=start_s, end_s=end_s) for segment, start_s, end_s in times)
        summary = replace(summary, segments=uneven)
    return summary.with_budget(0.15)


def starts_as_found(summary: Summary) -> list[int]:
    return [segment.start_frame for segment in summary.with_budget(1.0).segments]


def assert_same_choice(answer: dict[str, Any], expected: Summary) -> None:
    """All but seconds, which may be summed up otherwise, and stability, for which the page draws other numbers."""
    content = expected.to_dict()
    for name in ("version", "video", "model", "budget", "picks", "importance", "uncertainty"):
        assert answer[name] == content[name]
    assert answer["summary"] == pytest.approx(content["summary"])
    for column in ("start_frame", "end_frame", "selected", "importance", "uncertainty"):
        assert [segment[column] for segment in answer["segments"]] == [row[column] for row in content["segments"]]
    for column in ("start_s", "end_s"):
        seconds = [row[column] for row in content["segments"]]
        assert [segment[column] for segment in answer["segments"]] == pytest.approx(seconds, abs=1e-9)


def test_another_budget_gives_what_with_budget_gives(workbench: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        summary = random_summary(rng)
        budgets = [*rng.uniform(0.005, 0.5, 5).tolist(), 0.0005, 0.15, 1.0]
        answers = workbench.evaluate(
            """([summary, starts, budgets]) => budgets.map((budget) => {
                 const draft = new vastsum.Draft(summary, starts);
                 draft.setBudget(budget);
                 return draft.summary; })""",
            [summary.to_dict(), starts_as_found(summary), budgets],
        )
        for budget, answer in zip(budgets, answers, strict=True):
            assert_same_choice(answer, summary.with_budget(budget))


def test_edits_by_hand_give_what_python_gives_for_them(workbench: Any) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        summary = random_summary(rng)
        starts = starts_as_found(summary)
        n = len(starts)
        by_hand = rng.choice([0, 1, 2], n, p=[0.7, 0.15, 0.15])
        by_hand[0] = 0  # something must be left to choose
        keep, leave_out = np.flatnonzero(by_hand == 1).tolist(), np.flatnonzero(by_hand == 2).tolist()
        held = [[starts[k], True] for k in keep] + [[starts[k], False] for k in leave_out]
        budget = float(rng.uniform(0.02, 0.4))
        answer = workbench.evaluate(
            """([summary, starts, edits]) => {
                 const draft = new vastsum.Draft(summary, starts);
                 draft.edits = edits;
                 return draft.summary; }""",
            [summary.to_dict(), starts, {"budget": budget, "starts": None, "held": held}],
        )
        assert_same_choice(answer, summary.with_budget(budget, keep=keep, leave_out=leave_out))


def test_stability_is_estimated_as_python_estimates_it(workbench: Any) -> None:
    rng = np.random.default_rng(2)
    for _ in range(10):
        summary = random_summary(rng)
        answer = workbench.evaluate(
            """([summary, starts]) => {
                 const draft = new vastsum.Draft(summary, starts);
                 draft.setBudget(0.2);
                 for (const _ of draft.estimateStability());
                 return draft.summary.segments.map((s) => s.stability); }""",
            [summary.to_dict(), starts_as_found(summary)],
        )
        expected = [segment.stability for segment in summary.with_budget(0.2).segments]
        assert np.abs(np.array(answer) - expected).max() < 0.16  # two estimates of 200 draws each
        assert np.abs(np.array(answer) - expected).mean() < 0.04
