"""What no other tool has together, each by keyboard alone; and the debugger's own findings against independent ones."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from dataclasses import replace
from functools import cache

import pytest
from make_traces import IMAGE, make_trace
from player_page import PAYLOAD, assert_quiet, drawn, mount_player, open_page, settle, state, value, values

from recap.trace_io import dump_trace
from visualize.page import standalone_page
from visualize.payload import build_payload

pytestmark = pytest.mark.browser
RUN = 1
PRIORS = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
#: A pass of the trace with accepted nodes of several sources, a long text before it and full memories.
STEP = 31


@cache
def trace():
    return make_trace(2, max_nodes=24, num_tokens=50)


@cache
def raw() -> dict:
    """The trace's JSON, read without the project's own reader."""
    return json.loads(dump_trace(trace()))


def passes() -> list[dict]:
    return raw()["runs"][RUN]["iterations"]


def form(token_id: int) -> str:
    return next(token["form"] for token in raw()["tokens"] if token["id"] == token_id)


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    with open_page(chromium, standalone_page(trace()), tmp_path_factory.mktemp("page") / "run.html") as page:
        yield page


@pytest.fixture
def mount(page):
    yield lambda payload=PAYLOAD, **options: mount_player(page, payload, **options)
    assert_quiet(page)


def press(page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
    settle(page)


def tab_to(page, selector: str) -> None:
    """Move the focus by Tab alone until it stands on the element."""
    for _ in range(80):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never came to {selector}")


# -- the eight points -------------------------------------------------------------------------------------------------


def test_1_a_measured_baseline_stands_on_the_same_clock(page, mount):
    mount()
    press(page, *["ArrowRight"] * (STEP - 1))
    clock = values(page, ".rp-cursor")[0]
    ends = [raw()["runs"][0]["prefill"]["seconds"]]
    for record in raw()["runs"][0]["iterations"]:
        ends.append(ends[-1] + sum(record["seconds"].values()))
    assert values(page, ".rp-lane-plain .rp-lane-count .rp-number") == [sum(end <= clock for end in ends)]
    committed = 1 + sum(len(record["committed_ids"]) for record in passes()[:STEP])
    assert values(page, ".rp-lane-now .rp-lane-count .rp-number") == [committed]


def test_2_the_tree_gives_each_node_its_score_as_a_product_along_its_path(page, mount):
    mount(step=STEP)
    nodes = passes()[STEP - 1]["detail"]["nodes"]
    for index in range(1, 8):
        press(page, *["ArrowDown"] * (2 if index == 1 else 1))
        path, at = [], index
        while at > 0:
            path.insert(0, at)
            at = nodes[at]["parent"]
        shown = values(page, ".rp-product .rp-number")
        assert shown[1::3] == [nodes[at]["q"] for at in path]
        assert shown[2::3] == [nodes[at]["score"] for at in path]
        assert shown[0::3] == pytest.approx(PRIORS[: len(path)], rel=1e-9)


def test_3_the_weights_are_shown_by_source(page, mount):
    mount(step=STEP)
    press(page, "2", "1")
    found = passes()[STEP - 1]["detail"]["nodes"][0]["retrieved"]
    assert len(found) > 1
    assert values(page, ".rp-weighed .rp-number") == [row["weight"] for row in found]
    shown = page.eval_on_selector_all(".rp-found-key b", "items => items.map((item) => item.textContent)")
    assert shown == [row["source"] for row in found]


def test_4_the_memories_tell_what_was_replaced_and_who_wrote_it(page, mount):
    mount(step=STEP)
    press(page, "2")
    tab_to(page, "[data-section=written] summary")
    writes = passes()[STEP - 1]["detail"]["writes"]
    place = next(index for index, write in enumerate(writes) if write["replaced_row"] is not None)
    press(page, *["Tab"] * place, "Enter")
    shown = page.locator("[data-section=written] details[open]")
    shown.locator("table").wait_for()
    rows = raw()["runs"][RUN]["rows"]
    old, new = rows[writes[place]["replaced_row"]], rows[writes[place]["row"]]
    expected = [
        number for pair in zip(old["probabilities"], new["probabilities"], strict=True) for number in pair
    ]
    assert values(page, "[data-section=written] details[open] tbody .rp-number") == expected
    told = shown.locator(".rp-writer").all_inner_texts()
    assert told == [
        f"written in pass {row['written_in_pass']}" if row["written_in_pass"] else "from the prompt"
        for row in (old, new)
    ]


def test_5_the_run_is_wound_back_and_scrubbed(page, mount):
    mount()
    press(page, "End", "ArrowLeft")
    assert state(page)["step"] == len(passes()) - 1
    press(page, "Home")
    tab_to(page, "[role=slider]")
    press(page, *["ArrowRight"] * 4)
    assert state(page)["step"] == 5
    slider = page.get_by_test_id("recap-scrubber")
    assert slider.get_attribute("aria-valuetext") == f"pass 5 of {len(passes())}"
    press(page, "Shift+ArrowLeft")
    assert state(page)["substep"] is not None


def test_6_the_text_tells_the_origin_of_each_token_and_leads_to_its_pass(page, mount):
    mount()
    press(page, "End", ",", ",", ",")
    chosen = page.locator(".rp-token.rp-is-chosen")
    step = int(chosen.get_attribute("data-pass"))
    assert state(page)["step"] == step
    output = raw()["runs"][RUN]["finished"]["output_ids"]
    assert int(chosen.get_attribute("data-token-id")) == output[-3]
    node = chosen.get_attribute("data-node")
    origin = chosen.get_attribute("data-proposer")
    if node == "":
        assert origin == "target"
    else:
        nodes = passes()[step - 1]["detail"]["nodes"]
        found = nodes[nodes[int(node)]["parent"]]["retrieved"]
        assert origin in [row["source"] for row in found] or nodes[int(node)]["origin"] == "suffix"


def test_7_two_methods_stand_side_by_side_by_position(page, mount):
    mount(step=STEP)
    press(page, "v")
    assert state(page)["view"] == "compare"
    rows = page.evaluate(
        """() => [...document.querySelectorAll(".rp-line-table")].flatMap((table) =>
            [...table.querySelectorAll("tr:not(.rp-line-text)")].map((row, run) =>
                [...row.querySelectorAll("td")].map((cell) => [run, +cell.dataset.position, +cell.dataset.pass])))
            .flat()"""
    )
    for number, run in enumerate(raw()["runs"]):
        wrote = [0] + [it["index"] for it in run["iterations"] for _ in it["committed_ids"]]
        assert [[place, step] for each, place, step in rows if each == number] == [
            [place, step] for place, step in enumerate(wrote)
        ]
    before = 1 + sum(len(record["committed_ids"]) for record in passes()[:STEP])
    press(page, "ArrowDown")
    assert state(page)["run"] == "ar"
    # Plain decoding writes a token a pass: the same position of the text is one pass less than its tokens.
    assert state(page)["step"] == before - 1
    press(page, "ArrowUp", "v")
    assert state(page)["run"] == "recap@24"
    assert page.get_by_test_id("recap-tree").is_visible()


def test_8_passes_and_tree_are_taken_along(page, mount, tmp_path):
    """That a whole run plays elsewhere is tried with the app, which offers the file."""
    mount(step=STEP)
    texts = {}
    for kind in ("csv", "svg"):
        press(page, "e")
        tab_to(page, f"[data-testid=recap-save-{kind}]")
        with page.expect_download() as download:
            page.keyboard.press("Enter")
        download.value.save_as(tmp_path / kind)
        texts[kind] = (tmp_path / kind).read_bytes().decode("utf-8")
        page.wait_for_function("() => !document.querySelector('dialog[open]')")
    lines = list(csv.DictReader(io.StringIO(texts["csv"])))
    assert len(lines) == len(passes())
    for line, record in zip(lines, passes(), strict=True):
        assert int(line["pass"]) == record["index"]
        assert int(line["draft_nodes"]) == record["num_nodes"]
        assert int(line["accepted"]) == len(record["accepted"])
        stages = [float(line[f"{stage}_seconds"]) for stage in ("draft", "verify", "commit", "update")]
        assert stages == [record["seconds"][stage] for stage in ("draft", "verify", "commit", "update")]
        assert int(line["rows_U"]) == record["detail"]["memory_sizes"]["unigram"]
        assert line["text"] == "\u201c" + "".join(form(id_) for id_ in record["committed_ids"]) + "\u201d"
    shown = {
        html.unescape(text).strip("\u00a0") for text in re.findall(r"<text[^>]*>([^<]*)</text>", texts["svg"])
    }
    known = {token["form"] for token in raw()["tokens"]}
    cut = {text for text in shown if text.endswith("\u2026")}
    nodes = passes()[STEP - 1]["detail"]["nodes"]
    for node in nodes:
        name = form(node["token_id"])
        assert name in shown or any(name.startswith(text[:-1]) for text in cut), name
    assert "<b>" not in texts["svg"].replace("&lt;b&gt;", "")
    assert known


# -- findings --------------------------------------------------------------------------------------------------------


def test_the_best_open_path_is_always_the_next_node_and_the_last_ones_are_those_that_missed(page, mount):
    mount()
    found = page.evaluate(
        """(payload) => {
            const run = eval(payload).runs[1], wrong = [], left = [];
            for (const pass of run.passes) {
                const fused = pass.nodes.filter((node) => node[4] !== "suffix").length;
                for (let made = 0; made + 1 < fused; made += 1) {
                    const next = RecapPlayer.openPaths(run.search, pass, made)[0];
                    if (pass.nodes[next.node][3] !== made + 1) wrong.push([pass.index, made]);
                }
                left.push(RecapPlayer.openPaths(run.search, pass, fused).slice(0, 10).map((item) => item.score));
            }
            return { wrong, left };
        }""",
        PAYLOAD,
    )
    assert found["wrong"] == []
    for scores, record in zip(found["left"], passes(), strict=True):
        missed = [path["score"] for path in record["detail"]["missed"]]
        assert scores == pytest.approx(missed, rel=1e-12)


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        (
            [8, [[0, 1.0, 0.01], [8, 2.5, 0.015], [63, 2.75, 0.0304], [70, 2.8, 0.05]]],
            "This pass: 8 nodes, because more would have cost more time than they promised to save: 2.5 tokens expected"
            " in 15.0 ms. 63 nodes would have cost 30.4 ms for 2.8.",
        ),
        (
            [1, [[0, 1.0, 0.01], [1, 1.5, 0.0111], [24, 2.0, 0.03]]],
            "This pass: 1 node, because more would have cost more time than they promised to save: 1.5 tokens expected"
            " in 11.1 ms. 24 nodes would have cost 30.0 ms for 2.0.",
        ),
        (
            [24, [[0, 1.0, 0.01], [24, 2.75, 0.011]]],
            "This pass: 24 nodes, because every one that could be had was worth its time: 2.8 tokens expected in"
            " 11.0 ms.",
        ),
        (
            [0, [[0, 1.0, 0.01]]],
            "This pass: no nodes, because the memories had nothing to propose: 1.0 tokens expected in 10.0 ms.",
        ),
    ],
    ids=["fewer than the paper's", "the paper's was not weighed", "all that were possible", "none"],
)
def test_a_budget_that_follows_the_cost_is_told_in_a_sentence(page, mount, budget, told):
    change = f"p.runs[{RUN}].passes[{STEP - 1}].budget = {json.dumps(budget)};"
    weighed = f"(() => {{ const p = {PAYLOAD}; {change} return p; }})()"
    mount(weighed, step=STEP)
    assert page.get_by_test_id("recap-budget").locator("p").first.inner_text() == told
    assert page.locator(".rp-budget circle").count() == (len(budget[1]) if len(budget[1]) > 1 else 0)
    press(page, "3")
    assert told in page.get_by_test_id("recap-table").inner_text()
    mount(step=STEP)
    assert page.get_by_test_id("recap-budget").count() == 0


def test_why_the_target_s_token_was_no_node_is_told_as_it_was(page, mount):
    mount()
    told = page.evaluate(
        "(payload) => { const run = eval(payload).runs[1];"
        " return run.passes.map((pass) => RecapPlayer.whyMissed(run.search, pass)); }",
        PAYLOAD,
    )
    kinds = set()
    for why, record in zip(told, passes(), strict=True):
        nodes, chosen = record["detail"]["nodes"], record["target_selected_id"]
        last = nodes[record["accepted"][-1] if record["accepted"] else 0]
        if chosen is None:
            assert why is None
        elif last["origin"] == "suffix":
            assert why["kind"] == "copied"
        elif not last["kept_ids"]:
            assert why["kind"] in ("empty", "full", "deep")
        elif chosen in last["kept_ids"]:
            place = last["kept_ids"].index(chosen)
            score = last["score"] * PRIORS[min(last["depth"], 5)] * last["kept_probabilities"][place]
            assert why["kind"] == "budget"
            assert why["place"] == place + 1
            assert why["score"] == pytest.approx(score, rel=1e-12)
            assert score <= min(node["score"] for node in nodes if node["score"] is not None)
        else:
            assert why["kind"] == "unknown"
        kinds.add(why and why["kind"])
    assert {"unknown", "budget", "empty"} <= kinds


def test_the_memories_at_every_pass_are_as_many_rows_as_were_recorded(page, mount):
    mount()
    counts = page.evaluate(
        """(payload) => { const run = eval(payload).runs[1];
            return [...Array(run.passes.length + 1).keys()].map((step) => {
                const alive = RecapPlayer.memoryAt(run, step);
                return ["G", "C", "U"].map((map) => alive.filter((item) => item.map === map).length);
            }); }""",
        PAYLOAD,
    )
    run = raw()["runs"][RUN]
    sizes = [run["prefill"]["memory_sizes"], *(it["detail"]["memory_sizes"] for it in run["iterations"])]
    assert counts == [[size["trigram"], size["bigram"], size["unigram"]] for size in sizes]


def test_a_search_finds_rows_by_key_and_by_what_they_predict(page, mount):
    mount(step=STEP)
    press(page, "2")
    memory: dict[tuple, int] = {}
    run = raw()["runs"][RUN]
    for writes in (run["prefill"]["writes"], *(it["detail"]["writes"] for it in run["iterations"][:STEP])):
        memory |= {(write["map"], *write["key_ids"]): write["row"] for write in writes}
    word = form(passes()[STEP - 1]["root_id"]).strip("\u00b7")
    expected = sum(
        word in "".join(form(id_) for id_ in key[1:])
        or any(word in form(id_) for id_ in run["rows"][row]["token_ids"])
        for key, row in memory.items()
    )
    tab_to(page, ".rp-search")
    page.keyboard.type(word)
    section = page.locator("[data-section=alive]")
    section.wait_for()
    shown = section.locator("li").count()
    more = re.search(r"and (\d+) more", section.inner_text())
    assert shown + (int(more.group(1)) if more else 0) == expected
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")


def test_rules_stand_side_by_side_with_the_place_of_the_target_s_choice(page, mount):
    mount(step=STEP)
    press(page, "4")
    shown = page.locator("[data-testid=recap-rule-table] tr[data-rule]")
    assert shown.evaluate_all("rows => rows.map((row) => row.dataset.rule)")[0] == "recap"
    root = passes()[STEP - 1]["detail"]["nodes"][0]
    place = 1 + root["kept_ids"].index(root["greedy_id"])
    assert values(page, "tr[data-rule=recap] .rp-number")[-1] == place
    assert values(page, "tr[data-rule=recap] td .rp-number")[:3] == pytest.approx(
        root["kept_probabilities"][:3], abs=1e-5
    )
    press(page, "Shift+ArrowLeft", *["Shift+ArrowLeft"] * 2)
    page.evaluate("() => window.player.goTo({ substep: 0 })")
    assert page.locator(".rp-place .rp-number").count() == 0, "before the verdict the target is silent"


def test_a_text_that_differs_is_told_with_both_tokens_scores_and_the_gap(page, mount):
    changed = list(trace().runs[RUN].finished.output_ids)
    changed[20] = changed[20] + 1
    other = replace(
        trace().runs[RUN], finished=replace(trace().runs[RUN].finished, output_ids=tuple(changed))
    )
    payload = build_payload(replace(trace(), runs=(trace().runs[0], other)))
    mount(payload=f"({json.dumps(payload)})")
    tab_to(page, "[data-testid=recap-same-text]")
    press(page, "Enter")
    told = page.get_by_test_id("recap-exactness")
    plain = raw()["runs"][0]["iterations"][19]["detail"]["nodes"][0]["top_scores"]
    assert "differs from token 21" in told.inner_text()
    shown = values(page, "[data-testid=recap-exactness] .rp-number")
    assert shown[2:] == [*plain, plain[0] - plain[1]]
    assert told.locator("li bdi").all_inner_texts() == [
        form(changed[20]),
        form(raw()["runs"][0]["finished"]["output_ids"][20]),
    ]


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
    press(page, "ArrowRight", "Shift+ArrowRight", "End", "PageDown", "Space")
    assert {key: state(page)[key] for key in ("step", "substep", "playing")} == {
        key: before[key] for key in ("step", "substep", "playing")
    }
    assert page.locator(".rp-bars i.rp-is-now b").first.is_hidden()
    tab_to(page, "[data-testid=recap-answer-1]")
    press(page, "Enter")
    assert page.get_by_test_id("recap-answer-told").inner_text() == "Right. U."
    press(page, "Enter")
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


def test_no_image_placeholder_is_ever_an_open_path(page, mount):
    mount()
    ids = page.evaluate(
        "(payload) => { const run = eval(payload).runs[1];"
        " return run.passes.flatMap((pass) => RecapPlayer.openPaths(run.search, pass, 99).map((item) => item.id)); }",
        PAYLOAD,
    )
    assert ids
    assert IMAGE not in ids


def test_a_chosen_node_that_is_filtered_out_stays_marked(page, mount):
    mount(step=STEP)
    press(page, "ArrowDown", "ArrowDown", "g", "c", "u")
    assert drawn(page, "selection") is not None
    press(page, "g", "c", "u")
