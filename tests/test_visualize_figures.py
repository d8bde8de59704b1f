"""The other figures, the sentences and the payload: each number is the trace's own."""

from __future__ import annotations

import gzip
import html
import json
import re
from dataclasses import replace
from functools import cache

import pytest
from make_traces import NASTY, make_trace

from recap import metrics
from recap.events import Trace
from recap.tokens import visible_form
from recap.trace_io import dump_trace
from visualize.fusion_figure import fusion_figure, kept_shares
from visualize.memory_figure import memory_figure, rows_read, rows_written
from visualize.origins import output_spans
from visualize.page import script_json, standalone_page
from visualize.pass_payload import mentioned_ids
from visualize.payload import build_payload, build_update
from visualize.run_figures import accepted_lengths_figure, lanes_figure, text_html
from visualize.sentences import TABLE_HEADER, node_sentence, pass_sentence, run_sentence, tree_table
from visualize.theme import plotly_text
from visualize.token_forms import TokenForms


@cache
def trace() -> Trace:
    return make_trace(4, max_nodes=24, num_tokens=50)


@cache
def raw() -> dict:
    """The trace's JSON, read without the project's own reader."""
    return json.loads(dump_trace(trace()))


RUN = 1


def run():
    return trace().runs[RUN]


def test_fusion_bars_are_the_recorded_prior_confidence_and_weight():
    for iteration, record in zip(run().iterations, raw()["runs"][RUN]["iterations"], strict=True):
        for index, node in enumerate(record["detail"]["nodes"][:2]):
            data = fusion_figure(trace(), run(), iteration, index).to_dict()["data"]
            for name in ("prior", "confidence", "weight"):
                bars = next(item for item in data if item["name"] == name)
                assert list(bars["x"]) == [found[name] for found in node["retrieved"]]


def test_the_kept_bars_of_a_token_add_up_to_its_q():
    for iteration in run().iterations:
        for index, node in enumerate(iteration.detail.nodes):
            for q, shares in zip(node.kept_probabilities, kept_shares(run(), iteration, index), strict=True):
                assert len(shares) == len(node.retrieved)
                assert sum(shares) == pytest.approx(q, abs=1e-12)


@pytest.mark.parametrize("index", [-1, 10_000])
def test_fusion_of_a_node_that_is_not_there_is_refused(index):
    with pytest.raises(ValueError, match="must be a recorded node"):
        fusion_figure(trace(), run(), run().iterations[0], index)


def test_memory_view_parts_new_from_replaced_and_counts_reads():
    for iteration, record in zip(run().iterations, raw()["runs"][RUN]["iterations"], strict=True):
        writes = record["detail"]["writes"]
        new, replaced = rows_written(iteration)
        assert [write.row for write in new] == [w["row"] for w in writes if w["replaced_row"] is None]
        assert [w.replaced_row for w in replaced] == [
            w["replaced_row"] for w in writes if w["replaced_row"] is not None
        ]
        num_found = sum(len(node["retrieved"]) for node in record["detail"]["nodes"])
        assert sum(item.num_nodes for item in rows_read(iteration)) == num_found


def test_memory_growth_is_the_recorded_sizes():
    record = raw()["runs"][RUN]
    sizes = [
        record["prefill"]["memory_sizes"],
        *(it["detail"]["memory_sizes"] for it in record["iterations"]),
    ]
    for line, field in zip(
        memory_figure(run()).to_dict()["data"], ("trigram", "bigram", "unigram"), strict=True
    ):
        assert list(line["y"]) == [size[field] for size in sizes]


def test_lanes_stand_on_one_measured_clock():
    lanes = lanes_figure(trace()).to_dict()["data"]
    for lane, record in zip(lanes, raw()["runs"], strict=True):
        lengths = [record["prefill"]["seconds"]]
        lengths += [sum(it["seconds"].values()) for it in record["iterations"]]
        assert list(lane["x"]) == pytest.approx(lengths, rel=1e-12)
        assert lane["base"][0] == 0
        assert lane["base"][-1] + lane["x"][-1] == pytest.approx(sum(lengths), rel=1e-12)


def test_accepted_lengths_add_up_to_the_committed_tokens():
    data = accepted_lengths_figure(run()).to_dict()["data"]
    heights = [sum(pair) for pair in zip(data[0]["y"], data[1]["y"], strict=True)]
    assert heights == [len(it["committed_ids"]) for it in raw()["runs"][RUN]["iterations"]]


def test_text_by_origin_is_the_output_token_by_token():
    for record, each in zip(raw()["runs"], trace().runs, strict=True):
        spans = output_spans(each)
        assert [span.token_id for span in spans] == record["finished"]["output_ids"]
        assert spans[0].proposer == "target"
        for span in spans:
            if span.node is not None:
                nodes = record["iterations"][span.pass_index - 1]["detail"]["nodes"]
                assert nodes[span.node]["token_id"] == span.token_id
    assert {span.proposer for span in output_spans(trace().runs[0])} == {"target"}


def test_text_html_reads_as_the_text():
    shown = html.unescape(re.sub(r"<[^>]*>", "", text_html(trace(), run())))
    forms = TokenForms(trace())
    assert shown == "".join(forms.pieces(metrics.output_ids(run())))
    assert "\ufffd" not in shown


def test_drafts_of_a_run_that_was_not_recorded_are_of_unknown_origin():
    bare = replace(run(), iterations=tuple(replace(it, detail=None) for it in run().iterations))
    assert {span.proposer for span in output_spans(bare)} == {"draft", "target"}
    payload = build_payload(replace(trace(), runs=(trace().runs[0], bare)))
    assert all(item["tree"] is None for item in payload["runs"][1]["passes"])
    forms = TokenForms(trace())
    assert all("accepted: " in pass_sentence(forms, bare, it) for it in bare.iterations if it.accepted)


@pytest.mark.parametrize("data", [*NASTY, b"</s>", b"<image>", b"a $5 and $6 b", b"\\(x\\)"])
def test_plotly_text_holds_no_tag_and_no_formula(data):
    form = visible_form(data)
    text = plotly_text(form)
    assert "<" not in text
    assert "$" not in text
    assert html.unescape(text) == form


def test_sentences_count_what_happened():
    forms = TokenForms(trace())
    for iteration, record in zip(run().iterations, raw()["runs"][RUN]["iterations"], strict=True):
        told = pass_sentence(forms, run(), iteration)
        assert told.startswith(f"Pass {record['index']}: ")
        if record["accepted"]:
            assert f"{len(record['accepted'])} accepted" in told
        for index in range(record["num_nodes"] + 1):
            verdict = node_sentence(forms, run(), iteration, index)
            assert (" accepted;" in verdict or "; accepted, " in verdict) == (index in record["accepted"])
    told = run_sentence(run(), trace().runs[0])
    assert told.startswith(f"50 tokens in {len(run().iterations)} target passes instead of 49: ")
    assert told.endswith("the text is the same.")


def test_tree_table_is_the_record():
    for iteration, record in zip(run().iterations, raw()["runs"][RUN]["iterations"], strict=True):
        table = tree_table(trace(), run(), iteration)
        assert all(len(row) == len(TABLE_HEADER) for row in table)
        nodes = record["detail"]["nodes"]
        assert [(row[1], row[2], row[5], row[6]) for row in table] == [
            (node["parent"], node["depth"], node["q"], node["score"]) for node in nodes
        ]


def test_payload_numbers_are_those_of_the_raw_json():
    payload = json.loads(json.dumps(build_payload(trace()), allow_nan=False))
    for run_shown, record in zip(payload["runs"], raw()["runs"], strict=True):
        finished, totals = record["finished"], run_shown["totals"]
        assert totals["num_tokens"] == len(finished["output_ids"])
        assert totals["num_passes"] == finished["num_passes"] == len(run_shown["passes"])
        assert totals["seconds"] == finished["prefill_seconds"] + finished["decode_seconds"]
        for row_shown, row in zip(run_shown["rows"], record["rows"], strict=True):
            assert row_shown == [
                row[key]
                for key in (
                    "token_ids",
                    "probabilities",
                    "confidence",
                    "written_in_request",
                    "written_in_pass",
                )
            ]
        for shown, it in zip(run_shown["passes"], record["iterations"], strict=True):
            assert shown["committed"] == it["committed_ids"]
            assert shown["accepted"] == it["accepted"]
            for node_shown, node in zip(shown["nodes"], it["detail"]["nodes"], strict=True):
                keys = ("token_id", "parent", "depth", "pop_order")
                assert node_shown[:4] == [node[key] for key in keys]
                assert node_shown[5:9] == [node["q"], node["score"], node["greedy_id"], node["top_scores"]]
                assert [found[3:6] for found in node_shown[9]] == [
                    [found["prior"], found["confidence"], found["weight"]] for found in node["retrieved"]
                ]
                assert [entry[:2] for entry in node_shown[10]] == [
                    list(pair) for pair in zip(node["kept_ids"], node["kept_probabilities"], strict=True)
                ]
    ar, fast = raw()["runs"]
    expected = (50 / sum_seconds(fast)) / (50 / sum_seconds(ar))
    assert payload["runs"][1]["totals"]["speedup"] == pytest.approx(expected, rel=1e-12)


def sum_seconds(record: dict) -> float:
    return record["finished"]["prefill_seconds"] + record["finished"]["decode_seconds"]


def test_the_same_trace_gives_the_same_payload():
    first, second = (json.dumps(build_payload(make_trace(4, max_nodes=12, num_tokens=20))) for _ in range(2))
    assert first == second


def test_updates_of_a_growing_run_add_up_to_the_whole_payload():
    whole = build_payload(trace())
    # A growing run's token table grows too, and not only at its end.
    known_ids = {
        1,
        *mentioned_ids(trace().runs[0], 0, 0),
        *mentioned_ids(growing(3), 0, 0),
        *trace().request.prompt_ids,
    }
    tokens = tuple(token for token in trace().tokens if token.id in known_ids)
    start = replace(trace(), tokens=tokens, runs=(trace().runs[0], growing(3)))
    merged = json.loads(json.dumps(build_payload(start)))
    known = merged["runs"][RUN]["known"]
    for number in (4, 9, len(run().iterations)):
        update = build_update(
            replace(trace(), runs=(trace().runs[0], growing(number))),
            run().name,
            known["passes"],
            known["rows"],
        )
        update = json.loads(json.dumps(update))
        old = merged["runs"][RUN]
        new = dict(update["run"])
        new["passes"] = old["passes"][: update["passes_from"]] + new["passes"]
        new["rows"] = old["rows"][: update["rows_from"]] + new["rows"]
        merged["runs"][RUN] = new
        merged["tokens"] |= update["tokens"]
        known = update["known"]
    used = {str(id_) for id_ in mentioned_ids(run(), 0, 0)}
    assert {id_: merged["tokens"][id_] for id_ in used} == {id_: whole["tokens"][id_] for id_ in used}
    assert merged | {"tokens": None} == json.loads(json.dumps(whole)) | {"tokens": None}


def growing(num_passes: int):
    """The RECAP run as it stood after some passes, finished only after the last."""
    if num_passes == len(run().iterations):
        return run()
    iterations = run().iterations[:num_passes]
    last = 1 + max(write.row for it in iterations for write in it.detail.writes)
    return replace(run(), iterations=iterations, rows=run().rows[:last], finished=None)


def test_a_live_run_has_no_verdict_yet():
    payload = build_payload(replace(trace(), runs=(trace().runs[0], growing(3))))
    totals = payload["runs"][1]["totals"]
    assert payload["runs"][1]["is_live"]
    assert not totals["is_compared"]
    assert totals["speedup"] is None


def test_a_stopped_run_is_not_compared():
    finished = replace(run().finished, stop_reason="stopped")
    payload = build_payload(replace(trace(), runs=(trace().runs[0], replace(run(), finished=finished))))
    totals = payload["runs"][1]["totals"]
    assert not totals["is_compared"]
    assert totals["stop_reason"] == "stopped"
    assert totals["speedup"] is None


def test_another_text_is_told_with_its_first_token():
    changed = list(run().finished.output_ids)
    changed[20] += 1
    other = replace(run(), finished=replace(run().finished, output_ids=tuple(changed)))
    payload = build_payload(replace(trace(), runs=(trace().runs[0], other)))
    assert payload["runs"][1]["totals"]["first_difference"] == 20
    first, second = raw()["runs"][0]["iterations"][19]["detail"]["nodes"][0]["top_scores"]
    assert payload["runs"][1]["totals"]["score_gap"] == first - second
    assert payload["runs"][1]["sentence"].endswith("and the text differs from token 21 on.")


def test_an_update_of_an_unknown_run_is_refused():
    with pytest.raises(ValueError, match="run_name must be one of"):
        build_update(trace(), "none", 0, 0)


def test_payload_of_60_passes_of_63_nodes_is_below_1_5_megabytes_gzipped():
    long = make_trace(7, max_nodes=63, num_tokens=44)
    payload = build_payload(long)
    passes = payload["runs"][1]["passes"]
    assert len(passes) >= 15
    size = len(gzip.compress(json.dumps(payload, separators=(",", ":"), ensure_ascii=False).encode(), 6))
    assert size * 60 / len(passes) < 1.5e6


def test_page_is_one_file_that_calls_nowhere():
    page = standalone_page(trace(), run().name, 3)
    outside = re.findall(r"""<(?:script|img|link|iframe)[^>]*(?:src|href)=["'](?!data:)""", page)
    assert not outside
    assert page.count("</script>") == 4, "no token may end a script"


def test_script_json_cannot_leave_its_tag():
    text = script_json({"a": "</script><!--\u2028"})
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text) == {"a": "</script><!--\u2028"}
