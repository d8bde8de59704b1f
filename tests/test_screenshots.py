"""How the player looks and reads, against what was accepted before; planted faults raise an alarm."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest
from make_traces import make_trace
from player_page import assert_quiet, mount_player, open_page, settle
from screenshots import MOST_DIFFERENT, Baselines, different_share, steady_shot

from visualize.page import standalone_page

pytestmark = pytest.mark.browser
STEP = 20
LESSON = {
    "name": "lesson",
    "title": "A lesson",
    "steps": [
        {
            "title": "Guess first",
            "text": "The tree has grown; nothing has been verified yet.",
            "run": "recap@63",
            "pass": STEP,
            "stage": "grow",
            "grown": None,
            "node": 0,
            "panel": None,
            "question": {"text": "Who is right?", "choices": ["G", "C", "U"], "answer": 0, "after": "G."},
        }
    ],
    "glossary": [{"term": "Pass", "meaning": "One run of the model."}],
    "teacher_note": "Let them vote.",
}
#: Each view by the keys that lead to it and the element that is looked at.
VIEWS = {
    "tree": ((), ".rp-tree-card"),
    "node": (("ArrowDown", "ArrowDown"), ".rp-side"),
    "rules": (("4",), ".rp-side"),
    "compare": (("v",), ".rp-compare"),
    "lesson": ((), ".rp-lesson"),
}


@cache
def trace():
    return make_trace(2, max_nodes=63, num_tokens=70)


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    with open_page(chromium, standalone_page(trace()), tmp_path_factory.mktemp("page") / "run.html") as page:
        yield page


@pytest.fixture
def baselines(page, request, tmp_path):
    return Baselines(page.context.browser.version, request.config.getoption("--update-screenshots"), tmp_path)


def show(page, view: str, theme: str) -> str:
    """Bring the view up; its element's selector."""
    keys, selector = VIEWS[view]
    mount_player(page, theme=theme, step=STEP, **({"lesson": LESSON} if view == "lesson" else {}))
    for key in keys:
        page.keyboard.press(key)
    settle(page)
    return selector


# Before the module's own page is open: one thread can drive one Playwright at a time.
@pytest.mark.slow
def test_ten_fresh_browsers_raise_no_false_alarm(chromium, tmp_path):
    for number in range(10):
        with open_page(chromium, standalone_page(trace()), tmp_path / f"run{number}.html") as page:
            baselines = Baselines(page.context.browser.version, False, tmp_path)
            for view in VIEWS:
                for theme in ("light", "dark"):
                    baselines.check_picture(f"{view}-{theme}", steady_shot(page, show(page, view, theme)))
                baselines.check_text(view, page.locator(show(page, view, "light")).aria_snapshot())
            show(page, "tree", "light")
            baselines.check_text("figure", figure_text(page))
            assert_quiet(page)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_looks_as_accepted(page, baselines, view, theme):
    baselines.check_picture(f"{view}-{theme}", steady_shot(page, show(page, view, theme)))
    assert_quiet(page)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_reads_as_accepted(page, baselines, view):
    """Names, roles and texts, as a screen reader meets them."""
    baselines.check_text(view, page.locator(show(page, view, "light")).aria_snapshot())


def figure_text(page) -> str:
    """Places, colours and sizes of the tree as it is drawn, by data: no font or browser changes them."""
    data = page.evaluate(
        "() => document.querySelector('.rp-plot').data.map(({ name, x, y, line, marker }) =>"
        " ({ name, x, y, line, marker }))"
    )
    for item in data:
        if item["name"] == "accepted path":
            item["x"] = None  # begins behind a label, whose width is the font's
    return re.sub(r"(\d\.\d{3})\d+", r"\1", json.dumps(data, indent=0, sort_keys=True))


def test_the_figure_that_is_drawn_is_the_accepted_one(page, baselines):
    show(page, "tree", "light")
    baselines.check_text("figure", figure_text(page))


@pytest.mark.parametrize(
    "fault",
    [
        "Plotly.restyle(plot, { 'line.width': 7 }, [index('accepted path')])",
        "Plotly.restyle(plot, { 'marker.color': [plot.data[index('nodes')].marker.color.map((c) => c === '#009E73'"
        " ? '#E69F00' : c)], 'marker.line.color': [plot.data[index('nodes')].marker.line.color.map((c) =>"
        " c === '#009E73' ? '#E69F00' : c)] }, [index('nodes')])",
        "Plotly.restyle(plot, { x: [plot.data[index('nodes')].x.map((x, i) => (i === 1 ? null : x))] },"
        " [index('nodes')])",
    ],
    ids=["wider path", "swapped colour", "missing node"],
)
def test_a_planted_fault_raises_an_alarm(page, fault, tmp_path, monkeypatch):
    monkeypatch.setattr("screenshots.FOLDER", tmp_path / "baselines")
    show(page, "tree", "light")
    Baselines("", True, tmp_path).check_text("figure", figure_text(page))
    checked = Baselines("", False, tmp_path)
    checked.check_text("figure", figure_text(page))
    page.evaluate(
        "async (fault) => { const plot = document.querySelector('.rp-plot');"
        " const index = (name) => plot.data.findIndex((item) => item.name === name); await eval(fault); }",
        fault,
    )
    settle(page)
    with pytest.raises(AssertionError, match="reads otherwise"):
        checked.check_text("figure", figure_text(page))


def test_a_picture_with_another_part_is_another_picture(page):
    shown = steady_shot(page, show(page, "tree", "light"))
    page.evaluate("() => { document.querySelector('.rp-plot').style.visibility = 'hidden'; }")
    assert different_share(shown, shown)[0] == 0
    assert different_share(shown, steady_shot(page, ".rp-tree-card"))[0] >= MOST_DIFFERENT


def test_a_missing_baseline_is_written_and_fails(page, tmp_path, monkeypatch):
    monkeypatch.setattr("screenshots.FOLDER", tmp_path / "baselines")
    baselines = Baselines(page.context.browser.version, False, tmp_path)
    with pytest.raises(AssertionError, match="had no baseline"):
        baselines.check_text("new", "text")
    baselines.check_text("new", "text")
    with pytest.raises(AssertionError, match="reads otherwise"):
        baselines.check_text("new", "other")
    Baselines(page.context.browser.version, True, tmp_path).check_text("new", "other")
    assert (Path(tmp_path) / "baselines" / "text" / "new.txt").read_text() == "other"
