"""What no other tool has together, in eight points, each by keyboard alone."""

from __future__ import annotations

import csv
import html
import io
import re

import pytest
from debugger_fixtures import mount_fixture, page_fixture  # noqa: F401 - pytest finds them here
from debugger_page import PRIORS, RUN, STEP, form, passes, press, raw, tab_to
from player_page import PAYLOAD, state, values

pytestmark = pytest.mark.browser


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
        is_copied = nodes[int(node)]["origin"] == "suffix"
        assert origin in (["suffix"] if is_copied else [row["source"] for row in found])


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


#: Of each name of a run in the compare view, and of each word above the numbers: its text, whether all its letters are
#: in its cell, and of a word how many lines it takes.
NAMES_COMPARED = """() => [...document.querySelectorAll(".rp-compare :is(th, .rp-toggle)")].map((cell) => {
    const letters = document.createRange();
    letters.selectNodeContents(cell);
    const box = cell.getBoundingClientRect();
    const lines = [...letters.getClientRects()].filter((line) => line.width);
    const is_whole = lines.every((line) => box.left - 1 <= line.left && line.right <= box.right + 1
        && box.top - 1 <= line.top && line.bottom <= box.bottom + 1);
    const num_lines = cell.closest("thead") ? lines.length : null;
    return [cell.textContent, is_whole && cell.scrollWidth <= cell.clientWidth, num_lines];
})"""


@pytest.mark.parametrize("name", ["recap@auto", "recap-no-confidence", "peers.drafters:PeerDrafter"])
def test_compared_runs_are_named_in_full_at_any_width(page, mount, name):
    payload = f"(() => {{ const all = {PAYLOAD}; all.runs[1].name = '{name}'; return all; }})()"
    before = page.viewport_size
    try:
        for width in (1280, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            mount(payload, step=STEP, view="compare")
            found = page.evaluate(NAMES_COMPARED)
            assert sum(text == name for text, *_ in found) > 2  # a button, the table, and a line of the text
            assert [text for text, is_whole, _ in found if not is_whole] == []
            assert {text for text, _, num_lines in found if num_lines and num_lines > 1} <= {"speed ×"}
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.set_viewport_size(before)


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
    cut = {text[:-1] for text in shown if len(text) > 1 and text.endswith("\u2026")}
    nodes = passes()[STEP - 1]["detail"]["nodes"]
    for node in nodes:
        name = form(node["token_id"])
        assert name in shown or any(name.startswith(text) for text in cut), name
    assert "<b>" not in texts["svg"]


def test_the_tree_is_taken_along_from_the_compare_view_too(page, mount, tmp_path):
    """There it has not been drawn yet."""
    mount(step=STEP, view="compare", theme="dark")
    press(page, "e")
    with page.expect_download() as download:
        page.get_by_test_id("recap-save-svg").click()
    download.value.save_as(tmp_path / "svg")
    assert (tmp_path / "svg").read_text(encoding="utf-8").count("<text") > len(
        passes()[STEP - 1]["detail"]["nodes"]
    )
