"""The player in a real browser: it steps at once, shows the trace's own numbers, and calls nowhere."""

from __future__ import annotations

import json
from functools import cache

import pytest
from make_traces import make_trace
from player_page import (
    PAYLOAD,
    assert_quiet,
    drawn,
    mount_player,
    open_page,
    settle,
    state,
    value,
    values,
)

from recap.trace_io import dump_trace
from visualize.page import standalone_page

pytestmark = pytest.mark.browser

RUN = 1


@cache
def trace():
    return make_trace(2, max_nodes=63, num_tokens=70)


@cache
def raw() -> dict:
    """The trace's JSON, read without the project's own reader."""
    return json.loads(dump_trace(trace()))


def passes() -> list[dict]:
    return raw()["runs"][RUN]["iterations"]


@pytest.fixture(scope="module")
def page(chromium, tmp_path_factory):
    """One page for all tests; each mounts the player anew."""
    path = tmp_path_factory.mktemp("page") / "run.html"
    with open_page(chromium, standalone_page(trace()), path) as page:
        yield page


@pytest.fixture
def mount(page):
    """Mounts the player with some options, as a page would."""
    yield lambda payload=PAYLOAD, **options: mount_player(page, payload, **options)
    assert_quiet(page)


def test_thirty_quick_presses_advance_thirty_passes(page, mount):
    mount()
    for _ in range(30):
        page.keyboard.press("ArrowRight")
    assert state(page)["step"] == 31
    assert value(page, "recap-pass-index") == 31
    page.evaluate(
        """() => {
            const press = () => document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft" }));
            for (let i = 0; i < 30; i += 1) press();
        }"""
    )
    assert state(page)["step"] == 1
    settle(page)
    assert drawn(page, "nodes")["customdata"] == list(range(passes()[0]["num_nodes"] + 1))


def test_summary_is_the_raw_json(page, mount):
    mount()
    ar, fast = raw()["runs"]
    seconds = [run["finished"]["prefill_seconds"] + run["finished"]["decode_seconds"] for run in (ar, fast)]
    tokens = [len(run["finished"]["output_ids"]) for run in (ar, fast)]
    assert value(page, "recap-speedup") == pytest.approx(
        (tokens[1] / seconds[1]) / (tokens[0] / seconds[0]), rel=1e-12
    )
    assert value(page, "recap-passes") == len(passes())
    committed = sum(len(item["committed_ids"]) for item in passes())
    assert value(page, "recap-tau") == pytest.approx(committed / len(passes()), rel=1e-12)
    assert page.get_by_test_id("recap-same-text").get_attribute("data-value") == "same"
    assert values(page, "[data-testid=recap-scrubber] i") == [len(item["committed_ids"]) for item in passes()]


def test_another_text_is_told_with_its_first_token_and_gap(page, mount):
    totals = "Object.assign(whole.runs[1].totals, { first_difference: 12, score_gap: 0.03125 })"
    mount(payload=f"(() => {{ const whole = {PAYLOAD}; {totals}; return whole; }})()")
    chip = page.get_by_test_id("recap-same-text")
    assert chip.inner_text() == "differs from token 13, score gap 0.0313"
    assert chip.get_attribute("data-value") == "12"
    assert chip.get_attribute("data-score-gap") == "0.03125"


def test_zoom_stays_while_stepping(page, mount):
    mount(step=20)
    shown = "() => document.querySelector('.rp-plot').layout.yaxis.range"
    whole = page.evaluate(shown)
    box = page.locator(".rp-plot .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 40, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 120, steps=4)
    page.mouse.up()
    page.wait_for_function(f"(whole) => ({shown})()[0] < 0.6 * whole", arg=whole[0])
    zoomed = page.evaluate(shown)
    page.keyboard.press("ArrowRight")
    settle(page)
    assert state(page)["step"] == 21
    assert page.evaluate(shown) == zoomed


def test_every_pass_shows_its_own_tree_and_numbers(page, mount, is_full):
    mount()
    run = raw()["runs"][RUN]
    for index, record in list(enumerate(passes()))[:: 1 if is_full else 4]:
        page.evaluate("(step) => window.player.goTo({ step, node: 0 })", index + 1)
        settle(page)
        nodes = record["detail"]["nodes"]
        shown = drawn(page, "nodes")
        assert shown["customdata"] == list(range(record["num_nodes"] + 1))
        assert shown["x"] == [node["depth"] for node in nodes]
        assert len(page.query_selector_all(".rp-plot .points path")) == record["num_nodes"] + 2 + (
            record["target_selected_id"] is not None
        ), "every node, the ring of the chosen one and the diamond"
        root = nodes[0]
        assert values(page, ".rp-raw .rp-number") == root["top_scores"]
        factors = [found[key] for found in root["retrieved"] for key in ("prior", "confidence", "weight")]
        assert values(page, ".rp-factor .rp-number") == factors
        for column, found in enumerate(root["retrieved"]):
            shown_cells = values(page, f".rp-kept tr > .rp-cell:nth-child({column + 2}) .rp-number")
            assert sorted(shown_cells) == sorted(run["rows"][found["row"]]["probabilities"])
        assert values(page, ".rp-q .rp-number") == root["kept_probabilities"]
        now = page.eval_on_selector_all(
            ".rp-token.rp-is-now", "items => items.map((item) => Number(item.dataset.tokenId))"
        )
        assert now == record["committed_ids"]


def test_the_memory_tab_counts_what_was_written_and_read(page, mount):
    mount(step=20)
    page.keyboard.press("2")
    record = passes()[19]
    assert value(page, "recap-num-written") == len(record["detail"]["writes"])
    sizes = record["detail"]["memory_sizes"]
    for name, field in (("G", "trigram"), ("C", "bigram"), ("U", "unigram")):
        assert value(page, f"recap-size-{name}") == sizes[field]
    read = {
        (found["source"], found["row"]) for node in record["detail"]["nodes"] for found in node["retrieved"]
    }
    assert value(page, "recap-num-read") == len(read)


def test_the_text_tab_is_the_table_of_the_tree(page, mount):
    mount(step=20)
    page.keyboard.press("3")
    nodes = passes()[19]["detail"]["nodes"]
    assert page.locator(".rp-table tbody tr").count() == len(nodes)
    numbers = [number for node in nodes if node["q"] is not None for number in (node["q"], node["score"])]
    shown = page.eval_on_selector_all(
        ".rp-table .rp-number",
        "items => items.map((item) => item.dataset.value).filter((item) => item !== '')",
    )
    assert [float(item) for item in shown] == numbers


def test_stages_grow_the_tree_node_by_node_and_keep_the_verdict_for_later(page, mount):
    mount(step=20)
    record = passes()[19]
    fused = [node for node in record["detail"]["nodes"] if node["origin"] != "suffix"]
    page.evaluate("() => window.player.goTo({ substep: 0 })")
    order = {index: node["pop_order"] for index, node in enumerate(record["detail"]["nodes"])}
    for made in (0, 1, 2, len(fused) - 1):
        if made > 2:
            page.evaluate("(substep) => window.player.goTo({ substep })", made)
        settle(page)
        shown = drawn(page, "nodes")
        assert sorted(shown["customdata"]) == sorted(index for index, pop in order.items() if pop <= made)
        assert set(shown["color"][1:]) <= {"#FFFFFF"}, "no node looks accepted before the verdict"
        assert len(set(label_colors(page)[1:])) <= 1, "nor does its label"
        assert len(set(level_edge_starts(page))) <= 1, "nor the edge that leads to it"
        assert drawn(page, "target-selected token")["x"] == []
        assert order[state(page)["node"]] == made
        page.keyboard.press("Shift+ArrowRight")
    names = []
    while state(page)["step"] == 20:
        names.append(page.locator(".rp-stage.rp-is-now").get_attribute("data-stage"))
        page.keyboard.press("Shift+ArrowRight")
    assert names in (["verify", "commit", "write"], ["suffix", "verify", "commit", "write"])
    page.keyboard.press("Shift+ArrowLeft")
    assert state(page)["step"] == 20


def test_before_the_verdict_no_slot_is_kept_for_the_target_s_token(page, mount):
    """An empty row would tell that the tree lacks the token, and where."""
    alone = page.evaluate(
        """(payload) => eval(payload).runs[1].passes.filter(({ tree }) => {
            const rows = (name) => tree.find((item) => item.name === name)?.y ?? [];
            const isAlone = (row) => !rows("nodes").includes(row) && row < Math.max(...rows("nodes"));
            return rows("target-selected token").some(isAlone);
        }).map((pass) => pass.index)""",
        PAYLOAD,
    )
    assert alone
    for step in alone[:3]:
        mount(step=step)
        after = drawn_rows(page)
        stages = page.locator(".rp-stage:not(:disabled)").evaluate_all("s => s.map((i) => i.dataset.stage)")
        page.locator("[data-stage=verify]").click()
        settle(page)
        assert drawn_rows(page) == after
        page.keyboard.press("Shift+ArrowLeft")
        settle(page)
        assert (
            page.locator(".rp-stage.rp-is-now").get_attribute("data-stage")
            == stages[stages.index("verify") - 1]
        )
        before = drawn_rows(page)
        assert set(before["nodes"]) == set(range(len(set(before["nodes"]))))
        assert set(after["nodes"]) != set(range(len(set(after["nodes"]))))
        parents = [node["parent"] for node in passes()[step - 1]["detail"]["nodes"]]
        for child, start, end in before["edges"]:
            assert [start, end] == pytest.approx([before["nodes"][parents[child]], before["nodes"][child]])
        assert len(before["edges"]) == len(parents) - 1


def drawn_rows(page) -> dict:
    """The row of each node, and of each edge its node and the rows that it joins, as drawn."""
    return page.evaluate(
        """() => {
            const data = document.querySelector(".rp-plot").data;
            const nodes = data.find((item) => item.name === "nodes");
            const lines = data.filter((item) => ["edges", "suffix edges", "accepted path"].includes(item.name));
            return { nodes: nodes.customdata.map((_, index) => nodes.y[nodes.customdata.indexOf(index)]),
                edges: lines.flatMap(({ y, meta }) => y.flatMap((start, place) => (place % meta.stride === 0
                    ? [[meta.nodes[place / meta.stride], start, y[place + meta.stride - 2]]] : []))) };
        }"""
    )


def label_colors(page) -> list[str]:
    return page.evaluate(
        "() => document.querySelector('.rp-plot').data.find((item) => item.name === 'nodes').textfont.color"
    )


def level_edge_starts(page) -> list[float]:
    """How far right of its node each level edge begins, columns, accepted or not."""
    return page.evaluate(
        """() => document.querySelector(".rp-plot").data
            .filter((item) => ["edges", "accepted path"].includes(item.name))
            .flatMap(({ x, y, meta }) => x.flatMap((start, place) => (place % meta.stride === 0
                && y[place] === y[place + meta.stride - 2] ? [start - Math.floor(start)] : [])))"""
    )


def test_after_the_verdict_the_accepted_labels_stand_out(page, mount):
    mount(step=20)
    accepted = passes()[19]["accepted"]
    assert accepted
    colors = label_colors(page)
    assert {colors[index] for index in [0, *accepted]} == {colors[0]}
    assert colors[0] not in {color for index, color in enumerate(colors) if index not in [0, *accepted]}


@pytest.mark.parametrize("width", [1280, 1440])
def test_no_label_reaches_the_next_node_of_its_row(page, mount, width):
    page.set_viewport_size({"width": width, "height": 800})
    wide = "item.text = item.text && item.text.map(() => '\u00a0WWWWWWWWWW')"
    widen = f"whole.runs[1].passes.forEach((pass) => pass.tree.forEach((item) => {{ {wide}; }}))"
    for step in (1, 20, 31):
        mount(payload=f"(() => {{ const whole = {PAYLOAD}; {widen}; return whole; }})()", step=step)
        assert page.locator(".rp-plot .textpoint text").first.text_content().startswith("\u00a0WW")
        reaching = page.evaluate(
            """() => {
                const boxes = (selector) => [...document.querySelectorAll(`.rp-plot ${selector}`)]
                    .map((item) => item.getBoundingClientRect());
                const nodes = boxes(".points path");
                return boxes(".textpoint text").filter((text) => nodes.some((node) =>
                    node.left > text.left && text.right > node.left + 1
                    && Math.abs((node.top + node.bottom - text.top - text.bottom) / 2) < 4)).length;
            }"""
        )
        assert reaching == 0
    page.set_viewport_size({"width": 1280, "height": 800})


def test_a_chosen_node_is_left_behind_with_its_pass(page, mount):
    mount(step=20)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("4")
    assert state(page)["node"] == 1
    page.keyboard.press("ArrowRight")
    assert state(page)["node"] is None
    page.evaluate("() => window.player.goTo({ step: 20, node: 3 })")
    assert state(page)["node"] == 3


def test_the_text_ends_with_a_whole_line_and_begins_with_one(page, mount):
    mount()
    page.keyboard.press("End")
    settle(page)
    told = page.evaluate(
        """() => {
            const box = document.querySelector(".rp-answer");
            const line = parseFloat(getComputedStyle(box).lineHeight);
            const last = [...box.querySelectorAll(".rp-token:not([hidden])")].pop().getBoundingClientRect();
            const frame = box.getBoundingClientRect();
            return { whole: [box.clientHeight % line, box.scrollTop % line], below: frame.bottom - last.bottom,
                     scrolled: box.scrollTop };
        }"""
    )
    assert told["scrolled"] > 0
    assert told["whole"] == [0, 0]
    assert 0 <= told["below"] < 26


def test_the_clock_stands_at_the_end_of_the_stage_that_is_shown(page, mount):
    mount(step=20)
    run = raw()["runs"][RUN]
    before = run["prefill"]["seconds"] + sum(sum(item["seconds"].values()) for item in passes()[:19])
    seconds = passes()[19]["seconds"]
    committed = 1 + sum(len(item["committed_ids"]) for item in passes()[:19])
    stages = {
        "verify": (before + seconds["draft"] + seconds["verify"], committed),
        "commit": (
            before + seconds["draft"] + seconds["verify"] + seconds["commit"],
            committed + len(passes()[19]["committed_ids"]),
        ),
        "write": (before + sum(seconds.values()), committed + len(passes()[19]["committed_ids"])),
    }
    for stage, (clock, tokens) in stages.items():
        page.locator(f"[data-stage={stage}]").click()
        assert values(page, ".rp-cursor") == [pytest.approx(clock, rel=1e-12)]
        assert values(page, ".rp-lane:not(.rp-lane-plain) .rp-lane-count .rp-number") == [tokens]


def test_keys_home_end_space_and_help(page, mount):
    mount(step=5)
    page.keyboard.press("End")
    assert state(page)["step"] == len(passes())
    page.keyboard.press("Home")
    assert state(page)["step"] == 1
    page.keyboard.press("Space")
    assert state(page)["playing"]
    page.keyboard.press("Space")
    assert not state(page)["playing"]
    page.keyboard.press("?")
    assert page.get_by_test_id("recap-help").is_visible()
    page.keyboard.press("ArrowRight")
    assert state(page)["step"] == 1
    page.keyboard.press("Escape")
    assert not page.get_by_test_id("recap-help").is_visible()


def test_a_source_is_faded_by_its_key(page, mount):
    mount(step=20)
    before = drawn(page, "nodes")
    assert set(before["opacity"]) == {1}
    page.keyboard.press("u")
    settle(page)
    faded = [index for index, opacity in enumerate(drawn(page, "nodes")["opacity"]) if opacity < 1]
    sources = page.evaluate(f"() => {PAYLOAD}.runs[1].passes[19].nodes.map((node) => node[4])")
    assert faded == [index for index, source in enumerate(sources) if source == "U"]
    page.keyboard.press("u")
    settle(page)
    assert set(drawn(page, "nodes")["opacity"]) == {1}


def test_no_key_is_heard_while_somebody_types(page, mount):
    mount(step=20)
    page.keyboard.press("2")
    page.locator(".rp-search").fill("")
    page.locator(".rp-search").press_sequentially("gcu 1?")
    page.keyboard.press("ArrowRight")
    assert state(page)["step"] == 20
    assert page.locator(".rp-search").input_value() == "gcu 1?"
    assert not page.get_by_test_id("recap-help").is_visible()


def test_a_list_that_was_opened_by_mouse_gives_the_keys_back(page, mount):
    mount(step=3)
    speed = page.get_by_label("Playing speed")
    speed.focus()
    speed.select_option("2")
    page.keyboard.press("Shift")
    assert page.evaluate("() => document.activeElement.tagName") == "SELECT", "a keyboard's choice goes on"
    speed.dispatch_event("pointerdown")
    speed.select_option("0.5")
    page.keyboard.press("ArrowRight")
    assert state(page)["step"] == 4
    assert speed.input_value() == "0.5"


def test_a_search_goes_on_while_the_run_is_stepped(page, mount):
    mount(step=3)
    page.keyboard.press("2")
    page.locator(".rp-search").press_sequentially("the")
    page.evaluate("() => window.player.goTo({ step: 4 })")
    page.keyboard.type(" g")
    assert page.locator(".rp-search").input_value() == "the g"
    assert state(page)["step"] == 4
    page.locator(".rp-search").fill("")


def test_buttons_and_scrubber_step(page, mount):
    mount(step=3)
    for name, step in (("next", 4), ("prev", 3), ("last", len(passes())), ("first", 1)):
        page.get_by_test_id(f"recap-{name}").click()
        assert state(page)["step"] == step
    box = page.get_by_test_id("recap-scrubber").bounding_box()
    page.mouse.click(box["x"] + box["width"] * (10.5 / len(passes())), box["y"] + box["height"] / 2)
    assert state(page)["step"] == 11
    slider = page.get_by_test_id("recap-scrubber")
    assert slider.get_attribute("aria-valuenow") == "11"


def test_a_click_on_a_token_goes_to_its_pass(page, mount):
    mount()
    page.keyboard.press("End")
    token = page.locator(".rp-token[data-pass='17']").first
    token.click()
    assert state(page)["step"] == 17


def test_a_click_on_a_node_chooses_it(page, mount):
    mount(step=20)
    point = page.locator(".rp-plot .points path").nth(4)
    box = point.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_function("() => window.player.state().node !== null")
    node = passes()[19]["detail"]["nodes"][state(page)["node"]]
    assert values(page, ".rp-product .rp-is-now .rp-number")[1:] == [node["q"], node["score"]]


def test_token_text_reads_as_itself_everywhere(page, mount):
    forms = {token.id: token.form for token in trace().tokens}
    mount()
    page.keyboard.press("End")
    settle(page)
    page.keyboard.press("3")
    nodes = passes()[-1]["detail"]["nodes"]
    shown = page.eval_on_selector_all(
        ".rp-table td:nth-child(2) .rp-form", "items => items.map((item) => item.textContent)"
    )
    assert shown == [forms[node["token_id"]] for node in nodes]
    labels = page.eval_on_selector_all(
        ".rp-plot .textpoint text", "items => items.map((item) => item.textContent.replace(/^\\u00a0+/, ''))"
    )
    assert set(labels) <= {
        form[:size] + dots for form in forms.values() for size in range(14) for dots in ("", "\u2026")
    }
    answer = page.get_by_test_id("recap-text").text_content()
    assert "<b>" in answer or "$x$" in answer or "<br>" in answer
    assert "\ufffd" not in answer


@pytest.mark.parametrize("form", ["<br>", "$x$", "&amp;"])
def test_hover_reads_as_the_token(page, mount, form):
    ids = {token.form: token.id for token in trace().tokens}
    step, index = next(
        (record["index"], index)
        for record in passes()
        for index, node in enumerate(record["detail"]["nodes"])
        if index and node["token_id"] == ids[form]
    )
    mount(step=step)
    box = page.locator(".rp-plot .points path").nth(index).bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2 - 1, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    label = page.locator(".rp-plot .hoverlayer .hovertext text").filter(has_text=form)
    label.wait_for()
    assert label.text_content().startswith(form)


def test_light_and_dark_follow_the_system_and_the_page(page, mount):
    mount(step=20)
    element = page.locator("#recap")
    assert element.get_attribute("data-theme") == "light"
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    page.wait_for_function("() => document.getElementById('recap').dataset.theme === 'dark'")
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.wait_for_function("() => document.getElementById('recap').dataset.theme === 'light'")
    page.evaluate("() => document.body.classList.add('dark')")
    page.wait_for_function("() => document.getElementById('recap').dataset.theme === 'dark'")
    page.evaluate("() => document.body.classList.remove('dark')")


def test_the_address_keeps_and_gives_the_place(page, mount):
    mount(link=True)
    page.evaluate("() => window.player.goTo({ step: 9, node: 0 })")
    page.wait_for_function("() => window.location.search.includes('step=9')")
    mount(link=True)
    assert state(page)["step"] == 9
    assert state(page)["node"] == 0
    mount(run="ar", step=2)
    assert state(page)["run"] == "ar"
    page.evaluate("() => history.replaceState(null, '', location.pathname)")


def test_reduced_motion_does_not_play_by_itself(page, mount):
    mount(autoplay=True)
    assert not state(page)["playing"]


def test_a_run_without_trees_or_passes_still_shows_its_text_and_figures(page, mount):
    bare = "whole.runs[1].passes.forEach((p) => { p.tree = null; delete p.nodes; delete p.writes; delete p.sizes; })"
    mount(payload=f"(() => {{ const whole = {PAYLOAD}; {bare}; return whole; }})()", step=8)
    for key in ("2", "3", "1", "Shift+ArrowRight", "ArrowDown", "g", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    assert page.locator(".rp-tree .rp-message").is_visible()
    assert state(page)["step"] == 10, "a pass without stages is one step"
    empty = "const run = whole.runs[1]; run.passes = []; run.ends.length = 1; run.text.length = 1"
    mount(payload=f"(() => {{ const whole = {PAYLOAD}; {empty}; return whole; }})()")
    for key in ("ArrowRight", "End", "Shift+ArrowLeft", "2", "3"):
        page.keyboard.press(key)
    assert state(page)["step"] == 0
    assert value(page, "recap-pass-index") == 0


def test_nothing_to_play_is_a_calm_sentence(page, mount):
    mount(payload="null", emptyText="Ask something.")
    assert page.locator("#recap").inner_text() == "Ask something."
    page.keyboard.press("ArrowRight")
    page.evaluate(f"() => window.player.setPayload({PAYLOAD}, {{step: 4}})")
    assert state(page)["step"] == 4


def test_a_player_without_a_run_does_not_begin_to_play(page, mount):
    """A page may wait for its first run for longer than a pass is shown."""
    mount(payload="null", emptyText="Loading ...", autoplay=True)
    page.keyboard.press("Space")
    page.wait_for_timeout(1500)
    assert_quiet(page)
    mount()
    assert page.get_by_test_id("recap-pass-index").is_visible()


def test_a_growing_run_is_followed_from_its_end_only(page, mount):
    mount()
    page.evaluate(
        """() => {
            const whole = JSON.parse(document.getElementById("recap-payload").textContent);
            const part = (from, to) => Object.assign({}, whole.runs[1], {
                passes: whole.runs[1].passes.slice(from, to), is_live: true, ends: whole.runs[1].ends.slice(0, to + 1),
                text: whole.runs[1].text.filter((span) => span[2] <= to),
            });
            const start = Object.assign({}, whole, { runs: [whole.runs[0], part(0, 5)] });
            window.player.setPayload(start, { step: 5 });
            window.grow = (from, to) =>
                window.player.append({ run: part(from, to), passes_from: from, rows_from: 0, tokens: {} });
        }"""
    )
    assert page.evaluate("() => window.grow(5, 8)") is True
    assert state(page)["step"] == state(page)["numSteps"] == 8
    page.keyboard.press("Home")
    assert page.evaluate("() => window.grow(8, 11)") is True
    assert (state(page)["step"], state(page)["numSteps"]) == (1, 11)
    assert page.evaluate("() => window.grow(15, 16)") is False


def test_everything_fits_the_screen_and_has_a_name(page, mount):
    mount(step=20)
    assert page.evaluate("() => document.documentElement.scrollHeight <= window.innerHeight")
    nameless = page.eval_on_selector_all(
        "#recap button, #recap [role=slider], #recap select, #recap [role=img]",
        "items => items.filter((item) => !(item.getAttribute('aria-label') || item.textContent.trim())).length",
    )
    assert nameless == 0
    page.get_by_test_id("recap-next").focus()
    page.keyboard.press("Tab")
    outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_destroy_leaves_nothing_behind(page, mount):
    mount(step=5)
    page.evaluate("() => window.player.destroy()")
    page.keyboard.press("ArrowRight")
    assert page.locator("#recap").inner_html() == ""
