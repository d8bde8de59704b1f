"""The debugger before a class: questions before the verdict, the wall, the small screen, and contrast."""

from __future__ import annotations

import pytest
from debugger_fixtures import mount_fixture, page_fixture  # noqa: F401 - pytest finds them here
from debugger_page import STEP, press, tab_to
from player_page import state, value

pytestmark = pytest.mark.browser

#: What a lesson's open question keeps as it is.
HELD = ("run", "step", "substep", "node", "playing", "view")


def test_a_question_is_answered_before_the_verdict(page, mount):
    question = {"text": "Who?", "choices": ["G", "U"], "answer": 1, "after": "U."}
    shared = {"run": "recap@24", "grown": None, "node": None, "panel": None, "question": None, "text": "b"}
    steps = [
        shared | {"title": "a", "pass": STEP, "stage": "grow", "question": question},
        shared | {"title": "c", "pass": STEP, "stage": "commit", "panel": "fusion"},
    ]
    lesson = {"name": "l", "title": "L", "steps": steps, "glossary": [], "teacher_note": ""}
    mount(lesson=lesson)
    assert page.locator(".rp-stage.rp-is-now").get_attribute("data-stage") == "grow"
    before = state(page)
    press(page, "ArrowRight", "Shift+ArrowRight", "End", "PageDown", "Space", "v")
    page.locator(".rp-token").nth(2).click()
    page.locator(".rp-stage[data-stage=verify]").click()
    page.get_by_test_id("recap-same-text").click()
    assert page.get_by_test_id("recap-run-select").is_disabled()
    assert page.get_by_test_id("recap-tree").is_visible()
    assert {key: state(page)[key] for key in HELD} == {key: before[key] for key in HELD}
    assert page.locator(".rp-bars i.rp-is-now b").first.is_hidden()
    tab_to(page, "[data-testid=recap-answer-1]")
    press(page, "Enter")
    assert page.get_by_test_id("recap-answer-told").inner_text() == "Right. U."
    press(page, "Enter")
    assert page.get_by_test_id("recap-run-select").is_enabled()
    assert value(page, "recap-lesson-place") == 2
    assert page.locator(".rp-stage.rp-is-now").get_attribute("data-stage") == "commit"
    press(page, "PageUp")
    assert page.get_by_test_id("recap-answer-told").is_visible(), "what was answered stays answered"


def test_presenting_hides_the_panels_and_enlarges_the_text(page, mount):
    mount(step=STEP)
    size = "() => parseFloat(getComputedStyle(document.querySelector('.rp-answer')).fontSize)"
    before = page.evaluate(size)
    press(page, "p")
    assert page.locator(".rp-side").is_hidden()
    assert page.evaluate(size) >= 1.4 * before
    assert page.evaluate("() => document.documentElement.scrollHeight <= window.innerHeight")
    press(page, "p")
    assert page.locator(".rp-side").is_visible()


def test_a_narrow_screen_has_everything_without_scrolling_sideways(page, mount):
    page.set_viewport_size({"width": 390, "height": 800})
    mount(step=STEP)
    fits = "() => document.documentElement.scrollWidth <= window.innerWidth"
    assert page.evaluate(fits)
    for name in ("tree", "fusion", "text", "scrubber", "export-open"):
        assert page.get_by_test_id(f"recap-{name}").bounding_box()["width"] > 20
    press(page, "v")
    assert page.evaluate(fits)
    page.set_viewport_size({"width": 1280, "height": 800})


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_of_every_panel_has_a_contrast_of_at_least_4_5(page, mount, theme):
    mount(step=STEP, theme=theme)
    poor: list = []
    for keys in (["1"], ["2"], ["3"], ["4"], ["v"]):
        press(page, *keys)
        poor += page.evaluate(CONTRASTS)
    assert poor == []


#: Texts whose colour stands too little apart from the nearest solid background behind them. What is switched off, not
#: yet reached or drawn as a figure is left out.
CONTRASTS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const linear = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const over = (top, under) => [0, 1, 2].map((i) => top[i] * (top[3] / 255) + under[i] * (1 - top[3] / 255));
    const behind = (element) => {
        const layers = [];
        for (let e = element; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
        return layers.reduce((under, top) => over(top, under), [255, 255, 255]);
    };
    const left = ".rp-tree, .rp-later, :disabled, [aria-pressed=false], option";
    const walker = document.createTreeWalker(document.getElementById("recap"), NodeFilter.SHOW_TEXT);
    const poor = new Set();
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(left)) continue;
        const back = behind(element);
        const [a, b] = [light(over(rgba(getComputedStyle(element).color), back)), light(back)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) poor.add(`${element.className || element.tagName} ${ratio.toFixed(2)}`);
    }
    return [...poor];
}"""
