"""The debugger before a class: questions before the verdict, the wall, the small screen, and contrast."""

from __future__ import annotations

import json

import pytest
from app_page import ROOT
from contrast import contrast
from debugger_fixtures import mount_fixture, page_fixture  # noqa: F401 - pytest finds them here
from debugger_page import STEP, form, passes, press, tab_to
from player_page import state, value

from recap.trace_io import load_trace
from visualize.payload import build_payload

pytestmark = pytest.mark.browser

#: A recorded run in which every source has proposed a token: its file, and as JavaScript what the page makes of it.
SHIPPED_FILE = ROOT / "assets/traces/03-example-3.json"
SHIPPED_RAW = json.loads(SHIPPED_FILE.read_text("utf-8"))
SHIPPED = f"({json.dumps(build_payload(load_trace(SHIPPED_FILE)))})"
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


@pytest.mark.parametrize(("run", "step"), [("recap@63", 8), ("recap@63", 12), ("recap@auto", 5)])
def test_labels_of_a_large_tree_are_read_from_the_back_of_a_room(page, mount, run, step):
    mount(SHIPPED, run=run, step=step)
    press(page, "p", "ArrowDown")
    labels, kept = page.evaluate(LABELS)
    assert min(size for size, _ in labels) >= 17
    # Letters take nine tenths of their size: so much of two labels may not lie on one another.
    boxes = [
        (left, (top + bottom) / 2 - 0.45 * size, right, (top + bottom) / 2 + 0.45 * size)
        for size, (left, top, right, bottom) in labels
    ]
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:number]:
            assert left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
    passes = next(each for each in SHIPPED_RAW["runs"] if each["name"] == run)["iterations"]
    assert set(kept) >= {0, *passes[step - 1]["accepted"]}
    assert 3 * len(kept) >= len(passes[step - 1]["detail"]["nodes"])


#: Type size and box of each label that is drawn, px, and the numbers of the nodes that have one.
LABELS = """() => {
    const texts = [...document.querySelectorAll(".rp-plot .textpoint text")].filter((item) => item.textContent.trim());
    const nodes = document.querySelector(".rp-plot").data.find((item) => item.name === "nodes");
    return [
        texts.map((item) => {
            const box = item.getBoundingClientRect();
            return [parseFloat(getComputedStyle(item).fontSize), [box.left, box.top, box.right, box.bottom]];
        }),
        nodes.customdata.filter((_, place) => nodes.text[place]),
    ];
}"""


@pytest.mark.parametrize("width", [320, 360, 390])
def test_a_narrow_screen_has_everything_without_scrolling_sideways(page, mount, width):
    page.set_viewport_size({"width": width, "height": 800})
    mount(SHIPPED, step=12)
    for name in ("tree", "fusion", "text", "scrubber", "export-open"):
        assert page.get_by_test_id(f"recap-{name}").bounding_box()["width"] > 20
    for keys in (["1"], ["2"], ["4"], ["v"]):
        press(page, *keys)
        assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
        assert page.evaluate(CUT) == []
    page.set_viewport_size({"width": 1280, "height": 800})


#: What stands over the edge of its card, but for what is scrolled sideways on purpose or ends in dots.
CUT = """() => [...document.querySelectorAll(".rp-card")].filter((card) => card.checkVisibility()).flatMap((card) => {
    const { right } = card.getBoundingClientRect();
    const shown = [...card.querySelectorAll("*")].filter((item) => item.checkVisibility());
    return shown.filter((item) => !item.closest(".rp-tree, .rp-key, .rp-kept td"))
        .filter((item) => item.getBoundingClientRect().right > right + 0.5)
        .map((item) => `${item.className} ${item.textContent.slice(0, 30)}`);
})"""


def test_lines_of_the_memories_growth_differ_without_colour(page, mount):
    mount(step=STEP)
    press(page, "2")
    lines = page.locator(".rp-growth polyline")
    dashes = lines.evaluate_all("lines => lines.map((line) => getComputedStyle(line).strokeDasharray)")
    assert len(set(dashes)) == len(dashes) == 3


def test_a_screen_reader_hears_each_step_and_the_node_that_is_chosen(page, mount):
    mount(step=STEP)
    heard = page.get_by_test_id("recap-heard")
    assert heard.get_attribute("role") == "status"
    press(page, "ArrowLeft")
    record = passes()[STEP - 2]
    assert heard.inner_text().startswith(f"recap@24, pass {STEP - 1} of {len(passes())}. ")
    assert f"{len(record['detail']['nodes']) - 1} draft nodes" in heard.inner_text()
    press(page, "ArrowDown", "ArrowDown")
    node = record["detail"]["nodes"][1]
    verdict = "accepted" if 1 in record["accepted"] else "not accepted"
    assert heard.inner_text().startswith(f"Node 1 of {len(record['detail']['nodes']) - 1}: ")
    assert form(node["token_id"]) in heard.inner_text()
    assert f"q {node['q']:.4f}" in heard.inner_text()
    assert heard.inner_text().endswith(f", {verdict}.")
    page.locator("[data-stage=grow]").click()
    press(page, "ArrowDown", "Shift+ArrowRight")
    assert "accepted" not in heard.inner_text(), "nothing is told before the verdict"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_of_every_panel_has_a_contrast_of_at_least_4_5(page, mount, theme):
    mount(step=STEP, theme=theme)
    poor: list = []
    for keys in (["1"], ["c"], ["2"], ["3"], ["4"], ["v"]):
        press(page, *keys)
        poor += page.evaluate(CONTRASTS)
    assert poor == []


#: What the keyboard's focus stands on: the element's test id, its first class, its words.
FOCUSED = """() => {
    const { dataset, className, textContent } = document.activeElement;
    return [dataset.testid || "", String(className).split(" ")[0], textContent];
}"""


def test_the_keyboard_s_focus_outlives_what_is_drawn_anew(page, mount):
    mount(SHIPPED, step=12)
    for act, place in (
        ("button.rp-fate", "rp-panel-body"),  # another node: what the panel says is new
        (".rp-product button", "rp-plain"),
        ("[data-testid=recap-missed] button", "rp-plain"),
    ):
        page.locator(act).last.focus()
        press(page, "Enter")
        assert page.evaluate(FOCUSED)[1] == place, act
    panel = page.get_by_role("tabpanel")
    assert panel.get_attribute("aria-label") == "Node"
    page.get_by_test_id("recap-run-select").focus()
    names = [run["name"] for run in SHIPPED_RAW["runs"]]
    before = names.index(state(page)["run"])
    press(page, "ArrowUp")
    assert state(page)["run"] == names[before - 1]
    press(page, "ArrowDown")
    assert state(page)["run"] == names[before], "the list goes on by keys"
    page.get_by_test_id("recap-same-text").focus()
    press(page, "Enter")
    assert page.evaluate(FOCUSED)[0] == "recap-same-text"
    other = page.locator(".rp-compare-table button").last
    other.focus()
    press(page, "Enter")
    assert page.evaluate(FOCUSED)[1:] == ["rp-plain", other.inner_text()]


def test_a_list_of_runs_that_was_opened_by_mouse_gives_the_keys_back(page, mount):
    mount(SHIPPED, step=12)
    choice = page.get_by_test_id("recap-run-select")
    choice.focus()
    choice.dispatch_event("pointerdown")
    choice.select_option(SHIPPED_RAW["runs"][0]["name"])
    press(page, "ArrowRight")
    assert state(page)["step"] == 2


def test_leaving_a_lesson_leaves_the_keyboard_in_the_player(page, mount):
    shared = {"run": "recap@24", "grown": None, "node": None, "panel": None, "question": None, "text": "b"}
    steps = [shared | {"title": "a", "pass": STEP, "stage": "commit"}]
    mount(lesson={"name": "l", "title": "L", "steps": steps, "glossary": [], "teacher_note": ""})
    page.get_by_label("Leave the lesson").focus()
    press(page, "Enter")
    assert page.evaluate(FOCUSED)[1] == "rp-panel-body"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_squares_of_the_compare_view_tell_their_source_without_colour(page, mount, theme):
    mount(SHIPPED, step=12, view="compare", theme=theme)
    legend, squares = page.evaluate(SQUARES)
    assert len(set(legend.values())) == 5
    assert {source for source, *_ in squares} == set(legend)
    for source, shape, mark, ground in squares:
        assert shape == legend[source]
        assert contrast(mark[:3], ground[:3]) >= 3, (source, mark, ground)


#: The legend's shapes by source; of each square its source, its shape, and the colours of the shape and behind it.
SQUARES = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const marked = (element) => element.querySelector("svg > *");
    const shape = (mark) => mark && mark.tagName + (mark.getAttribute("d") || "");
    const sources = [...document.querySelectorAll(".rp-compare-side .rp-source")];
    const squares = [...document.querySelectorAll(".rp-aligned td[data-pass]")].map((cell) => {
        const mark = marked(cell);
        const ground = getComputedStyle(cell.querySelector(".rp-unit")).backgroundColor;
        return [cell.title.split(", ").pop(), shape(mark), mark && rgb(getComputedStyle(mark).fill), rgb(ground)];
    });
    return [Object.fromEntries(sources.map((item) => [item.textContent, shape(marked(item))])), squares];
}"""
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
    const opacity = (e) => (e ? getComputedStyle(e).opacity * opacity(e.parentElement) : 1);
    const left = ".rp-tree, .rp-later, :disabled, option";
    const walker = document.createTreeWalker(document.getElementById("recap"), NodeFilter.SHOW_TEXT);
    const poor = new Set();
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest(left)) continue;
        const back = behind(element);
        const [r, g, blue, alpha] = rgba(getComputedStyle(element).color);
        const [a, b] = [light(over([r, g, blue, alpha * opacity(element)], back)), light(back)];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (ratio < 4.5) poor.add(`${element.className || element.tagName} ${ratio.toFixed(2)}`);
    }
    return [...poor];
}"""
