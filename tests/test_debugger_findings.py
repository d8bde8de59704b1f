"""What the debugger finds out for itself is what an independent reading of the trace finds; a choice stays marked."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from debugger_fixtures import mount_fixture, page_fixture  # noqa: F401 - pytest finds them here
from debugger_page import PRIORS, RUN, STEP, form, passes, press, raw, tab_to, trace
from make_traces import IMAGE
from player_page import PAYLOAD, drawn, values

from recap.trace_io import load_trace
from visualize.payload import build_payload

ASSETS = Path(__file__).parents[1] / "assets"
pytestmark = pytest.mark.browser


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
            " in 15.0 ms. 63 nodes would have cost 30.4 ms for 2.8 tokens.",
        ),
        (
            [1, [[0, 1.0, 0.01], [1, 1.5, 0.0111], [24, 2.0, 0.03]]],
            "This pass: 1 node, because more would have cost more time than they promised to save: 1.5 tokens expected"
            " in 11.1 ms. 24 nodes would have cost 30.0 ms for 2.0 tokens.",
        ),
        (
            [8, [[0, 1.0, 0.01], [4, 2.4, 0.012], [8, 2.5, 0.015], [63, 2.75, 0.0304]]],
            "This pass: 8 nodes, because more would have cost more time than they promised to save: 2.5 tokens expected"
            " in 15.0 ms. 63 nodes would have cost 30.4 ms for 2.8 tokens.",
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
    ids=[
        "fewer than the paper's",
        "the paper's was not weighed",
        "beyond the top of the curve",
        "all that were possible",
        "none",
    ],
)
def test_a_budget_that_follows_the_cost_is_told_in_a_sentence(page, mount, budget, told):
    change = f"p.runs[{RUN}].passes[{STEP - 1}].budget = {json.dumps(budget)};"
    weighed = f"(() => {{ const p = {PAYLOAD}; {change} return p; }})()"
    mount(weighed, step=STEP)
    assert page.get_by_test_id("recap-budget").locator("p").first.inner_text() == told
    assert page.locator(".rp-budget circle").count() == (len(budget[1]) if len(budget[1]) > 1 else 0)
    if len(budget[1]) > 1:
        best = max(budget[1], key=lambda point: point[1] / point[2])
        note = page.get_by_test_id("recap-budget").locator("p").last.inner_text()
        assert ("later passes" in note) == (best[0] < budget[0])
    press(page, "3")
    assert told in page.get_by_test_id("recap-table").inner_text()
    mount(step=STEP)
    assert page.get_by_test_id("recap-budget").count() == 0


def test_why_the_target_s_token_was_no_node_is_told_as_it_was(page, mount):
    mount()
    told = page.evaluate(
        "(payload) => { const run = eval(payload).runs[1];"
        " return run.passes.map((pass) => RecapPlayer.whyMissed(run.search, pass, run.rows)); }",
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


def test_a_token_that_a_row_lists_and_the_mixture_dropped_is_told_so(page, mount):
    """Of all shipped runs: the rows and the kept tokens are read from the JSON."""
    mount()
    kinds = Counter()
    for path in sorted((ASSETS / "traces").glob("*.json")):
        recorded = json.loads(path.read_text("utf-8"))
        told = page.evaluate(
            "(payload) => payload.runs.map((run) => run.passes.map((pass) => "
            "RecapPlayer.whyMissed(run.search, pass, run.rows)))",
            build_payload(load_trace(path)),
        )
        for run, reasons in zip(recorded["runs"], told, strict=True):
            for record, why in zip(run["iterations"], reasons, strict=True):
                if why is None or why["kind"] not in ("unknown", "dropped"):
                    continue
                last = record["detail"]["nodes"][record["accepted"][-1] if record["accepted"] else 0]
                chosen = record["target_selected_id"]
                assert chosen not in last["kept_ids"]
                listing = [
                    found["source"]
                    for found in last["retrieved"]
                    if chosen in run["rows"][found["row"]]["token_ids"]
                ]
                assert why["kind"] == ("dropped" if listing else "unknown"), (path.name, record["index"])
                if listing:
                    assert why["sources"] == listing
                kinds[why["kind"]] += 1
    assert kinds["unknown"] > 0
    assert kinds["dropped"] > 0


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


def test_what_u_brought_along_is_counted_as_an_earlier_request_wrote_it(page, mount):
    run = trace().runs[RUN]
    rows = tuple(replace(row, written_in_request=1 + index % 2) for index, row in enumerate(run.rows))
    payload = build_payload(replace(trace(), runs=(trace().runs[0], replace(run, rows=rows))))
    mount(payload=f"({json.dumps(payload)})")
    proposed = earlier = 0
    for record in passes():
        nodes = record["detail"]["nodes"]
        for index in record["accepted"]:
            found = nodes[nodes[index]["parent"]]["retrieved"]
            if nodes[index]["origin"] == "suffix":
                continue
            shares = []
            for item in found:
                listed = dict(zip(rows[item["row"]].token_ids, rows[item["row"]].probabilities, strict=True))
                shares.append(item["weight"] * listed.get(nodes[index]["token_id"], 0.0))
            best = found[shares.index(max(shares))]
            proposed += best["source"] == "U"
            earlier += best["source"] == "U" and best["row"] % 2 == 0
    assert 0 < earlier < proposed
    press(page, "2")
    told = page.get_by_test_id("recap-carried").inner_text()
    assert told.startswith(
        f"U proposed {proposed} tokens of this text, {earlier} of them from rows of earlier"
    )
    mount()
    press(page, "2")
    assert (
        ", none of them from rows of earlier requests." in page.get_by_test_id("recap-carried").inner_text()
    )


def test_places_are_told_as_english_does(page, mount):
    mount()
    told = {
        1: "1st",
        2: "2nd",
        3: "3rd",
        4: "4th",
        11: "11th",
        12: "12th",
        13: "13th",
        21: "21st",
        22: "22nd",
    }
    told |= {
        23: "23rd",
        33: "33rd",
        61: "61st",
        63: "63rd",
        101: "101st",
        111: "111th",
        113: "113th",
        122: "122nd",
    }
    assert {place: page.evaluate("(n) => RecapPlayer.words.ordinal(n)", place) for place in told} == told


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
    keys = [
        key[1:] for key in memory if len(key) > 2 and all(form(id_).startswith("\u00b7") for id_ in key[2:])
    ]
    page.keyboard.type("".join(form(id_) for id_ in keys[0]).replace("\u00b7", " ").strip())
    assert section.locator("li").count() > 0, "a space is found as it is typed"
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
