"""Trace files: what is written is read back, and no broken file gives anything but one sentence."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest
from make_traces import make_trace

from recap import trace_io
from recap.errors import TraceError
from recap.recording import RecordedRun, build_trace
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget
from recap.trace_io import dump_trace, load_trace, parse_trace, save_trace
from visualize.payload import build_payload


@pytest.fixture(scope="module")
def small_trace():
    return make_trace(5, max_nodes=6, num_tokens=9)


@pytest.fixture(scope="module")
def content(small_trace):
    return json.loads(dump_trace(small_trace))


def sentence(data) -> str:
    """The message of the error that reading `data` raises."""
    with pytest.raises(TraceError) as caught:
        parse_trace(data if isinstance(data, (str, bytes)) else json.dumps(data))
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert len(message) < 400
    return message


@pytest.mark.parametrize("seed", range(3))
def test_a_trace_is_read_back_as_it_was_written(tmp_path, seed):
    trace = make_trace(seed, max_nodes=12, num_tokens=30)
    save_trace(trace, tmp_path / "trace.json")
    assert load_trace(tmp_path / "trace.json") == trace
    assert dump_trace(trace) == dump_trace(load_trace(tmp_path / "trace.json"))


def test_numbers_are_written_unrounded(small_trace, content):
    row = small_trace.runs[1].rows[-1]
    assert tuple(content["runs"][1]["rows"][-1]["probabilities"]) == row.probabilities


def edit(content, place, value):
    """A copy of the JSON with the value at a path of keys replaced (or deleted, for ...)."""
    changed = copy.deepcopy(content)
    here = changed
    for key in place[:-1]:
        here = here[key]
    if value is ...:
        del here[place[-1]]
    else:
        here[place[-1]] = value
    return changed


NODE = ("runs", 1, "iterations", 3, "detail", "nodes", 4)


@pytest.mark.parametrize(
    ("place", "value", "start"),
    [
        ((*NODE, "parent"), 4, "runs[1].iterations[3].detail.nodes[4].parent must be a node before it, 0 to 3; got 4."),
        ((*NODE, "parent"), "0", "runs[1].iterations[3].detail.nodes[4].parent must be a valid integer; got '0'."),
        ((*NODE, "depth"), 9, "runs[1].iterations[3].detail.nodes[4].depth must be one more than its parent's"),
        ((*NODE, "q"), None, "runs[1].iterations[3].detail.nodes[4].q must be a number for fusion nodes"),
        ((*NODE, "score"), 1.5, "runs[1].iterations[3].detail.nodes[4].score must be from 0 to 1; got 1.5."),
        ((*NODE, "origin"), "root", "runs[1].iterations[3].detail.nodes[4].origin must be fusion or suffix"),
        ((*NODE, "origin"), "guess", "runs[1].iterations[3].detail.nodes[4].origin must be 'root', 'fusion' or"),
        ((*NODE, "rank"), -1, "runs[1].iterations[3].detail.nodes[4].rank must not be negative"),
        ((*NODE, "token_id"), 2**40, "runs[1].iterations[3].detail.nodes[4].token_id must hold token ids"),
        ((*NODE, "pop_order"), 0, "runs[1].iterations[3].detail.nodes must have the pop orders"),
        ((*NODE, "colour"), 1, "runs[1].iterations[3].detail.nodes[4].colour is not a field of a trace."),
        ((*NODE, "depth"), ..., "runs[1].iterations[3].detail.nodes[4].depth is missing."),
        (("runs", 1, "iterations", 3, "detail", "nodes", 0, "parent"), 0, "runs[1].iterations[3].detail.nodes[0] must"),
        (("runs", 1, "iterations", 3, "detail", "nodes", 0, "retrieved", 0, "row"), 9999,
         "runs[1].iterations[3].detail.nodes[0].retrieved[0].row must be a row of the run's table"),
        (("runs", 1, "iterations", 3, "detail", "nodes", 0, "retrieved", 0, "key_ids"), [],
         "runs[1].iterations[3].detail.nodes[0].retrieved[0].key_ids must have length"),
        (("runs", 1, "iterations", 3, "detail", "nodes", 0, "kept_ids"), [1],
         "runs[1].iterations[3].detail.nodes[0].kept_probabilities must have length 1"),
        (("runs", 1, "iterations", 3, "detail", "writes", 0, "replaced_row"), -1,
         "runs[1].iterations[3].detail.writes[0].replaced_row must be a row"),
        (("runs", 1, "iterations", 3, "detail", "writes", 0, "node"), 70,
         "runs[1].iterations[3].detail.writes[0].node must be one of the nodes"),
        (("runs", 1, "iterations", 3, "num_nodes"), 5, "runs[1].iterations[3].detail.nodes must hold the root and 5"),
        (("runs", 1, "iterations", 3, "num_nodes"), 10**6, "runs[1].iterations[3].num_nodes must be from 0 to"),
        (("runs", 1, "iterations", 3, "index"), 9, "runs[1].iterations[3].index must be 4"),
        (("runs", 1, "iterations", 3, "root_id"), 3, "runs[1].iterations[3].root_id must be the last token"),
        (("runs", 1, "iterations", 3, "accepted"), [99], "runs[1].iterations[3].accepted[0] must be a node"),
        (("runs", 1, "iterations", 3, "committed_ids"), [], "runs[1].iterations[3].committed_ids must hold"),
        (("runs", 1, "iterations", 3, "committed_ids"), [1] * 8, "runs[1].iterations[3].committed_ids must"),
        (("runs", 1, "iterations", 3, "seconds", "draft"), -1.0, "runs[1].iterations[3].seconds.draft must be zero"),
        (("runs", 1, "finished", "output_ids"), [1], "runs[1].finished.output_ids must be prefill's token"),
        (("runs", 1, "finished", "num_passes"), 1, "runs[1].finished.num_passes must be"),
        (("runs", 1, "rows", 2, "probabilities"), [0.5], "runs[1].rows[2].probabilities must have length 8"),
        (("runs", 1, "rows", 2, "token_ids"), [], "runs[1].rows[2].token_ids must hold 1 to 8 ids"),
        (("runs", 1, "rows", 2, "confidence"), 2.0, "runs[1].rows[2].confidence must be from 0 to 1"),
        (("runs", 1, "name"), "ar", "runs[1].name must be non-empty and unique"),
        (("runs",), [], "runs must hold at least one run"),
        (("runs", 0), 5, "runs[0] must be"),
        (("tokens", 1, "id"), 0, "tokens[1].id must be unique"),
        (("tokens", 1, "bytes_hex"), "xyz", "tokens[1].bytes_hex must be pairs of hexadecimal digits"),
        (("request", "image", "thumbnail"), "https://example.org/a.png", "request.image.thumbnail must be"),
        (("request", "image", "model_size"), [0, 4], "request.image.model_size must be two positive numbers"),
        (("request", "prompt_ids"), [-1], "request.prompt_ids must hold token ids"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_place(content, place, value, start):
    assert sentence(edit(content, place, value)).startswith(start)


def test_accepted_nodes_must_be_a_path_from_the_root():
    content = json.loads(dump_trace(make_trace(1, max_nodes=24, num_tokens=60)))
    iterations = content["runs"][1]["iterations"]
    place = next(i for i, iteration in enumerate(iterations) if len(iteration["accepted"]) > 1)
    iterations[place]["accepted"].reverse()
    assert sentence(content).startswith(f"runs[1].iterations[{place}].accepted[0] must be a child of node 0")


def test_a_node_finds_at_most_one_row_a_map_and_the_most_specific_first(content):
    place = ("runs", 1, "iterations", 3, "detail", "nodes", 0, "retrieved")
    (row, *_) = content["runs"][1]["iterations"][3]["detail"]["nodes"][0]["retrieved"]
    assert sentence(edit(content, place, [row] * 4)).startswith(
        "runs[1].iterations[3].detail.nodes[0].retrieved must hold at most one row a map, in the order G, C, U"
    )


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 5000])
def test_numbers_must_be_finite(content, number):
    text = json.dumps(edit(content, ("runs", 1, "prefill", "top_scores"), ["@", 0.0])).replace('"@"', number)
    sentence(text)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "empty"),
        (b"\x00\xff\xfe", "not JSON"),
        ("[1, 2]", "not a RECAP trace"),
        ("{}", "not a RECAP trace"),
        ('{"schema_version": true}', "not a RECAP trace"),
        ('{"schema_version": 99, "what": "is this"}', "newer than this program"),
        ('{"schema_version": 0}', "schema_version must be 1"),
        ('{"schema_version": 1', "cut off"),
        ('{"schema_version": 1}', "is missing"),
        ("[" * 100_000, "not JSON"),
        ('{"schema_version": 1, "a": "\ud800"}', "not JSON"),
    ],
)
def test_a_foreign_file_is_told_as_such(data, words):
    assert words in sentence(data)


def test_only_64_mb_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(trace_io, "MAX_TRACE_BYTES", 1000)
    path = tmp_path / "big.json"
    path.write_bytes(b" " * 2000)
    with pytest.raises(TraceError, match="too large"):
        load_trace(path)


def test_a_file_that_cannot_be_opened_is_a_sentence(tmp_path):
    with pytest.raises(TraceError, match=r"The trace none\.json cannot be read"):
        load_trace(tmp_path / "none.json")
    with pytest.raises(TraceError, match="cannot be read"):
        load_trace(tmp_path)


def places(value, path=()):
    """Every path of keys in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def test_a_mutated_file_gives_a_valid_trace_or_one_sentence(content, is_full):
    chooser = random.Random(5)
    every = [place for place in places(content) if place]
    values = [
        None,
        True,
        -1,
        0,
        3,
        7,
        2**70,
        0.5,
        -2.0,
        1e308,
        "",
        "x",
        "G",
        [],
        {},
        [0],
        [[1]],
        {"a": 1},
        ...,
    ]
    num_valid = 0
    for _ in range(5000 if is_full else 220):
        changed = content
        for _ in range(chooser.choice((1, 1, 2))):
            try:
                changed = edit(changed, chooser.choice(every), chooser.choice(values))
            except (KeyError, IndexError, TypeError):
                continue
        num_valid += draws_or_tells(json.dumps(changed))
    assert num_valid > 5, "harmless changes should pass"


def test_a_cut_or_flipped_file_gives_a_valid_trace_or_one_sentence(content, is_full):
    chooser = random.Random(6)
    data = json.dumps(content).encode()
    for _ in range(2000 if is_full else 120):
        flipped = bytearray(data)
        flipped[chooser.randrange(len(flipped))] = chooser.randrange(256)
        draws_or_tells(bytes(flipped))
        draws_or_tells(data[: chooser.randrange(len(data))])


def draws_or_tells(data) -> bool:
    """Whether the file is valid; then it must also draw, with nothing in it that JSON lacks."""
    try:
        trace = parse_trace(data)
    except TraceError:
        return False
    json.dumps(build_payload(trace), allow_nan=False)
    return True


BUDGET = {
    "num_nodes": 4,
    "node_counts": [0, 4, 63],
    "expected_tokens": [1.0, 2.5, 3.0],
    "seconds": [0.004, 0.005, 0.01],
}
BUDGET_PLACE = ("runs", 1, "iterations", 0, "detail", "budget")


def test_the_choice_of_a_budget_is_read_where_there_is_one(content):
    with_budget = parse_trace(json.dumps(edit(content, BUDGET_PLACE, BUDGET)))
    assert with_budget.runs[1].iterations[0].detail.budget.node_counts == (0, 4, 63)
    assert parse_trace(dump_trace(with_budget)) == with_budget
    # Traces from before it was recorded lack the field.
    assert parse_trace(json.dumps(edit(content, BUDGET_PLACE, ...))) == parse_trace(json.dumps(content))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_nodes", 5),
        ("node_counts", [0, 4, 4]),
        ("node_counts", [-1, 4, 63]),
        ("expected_tokens", [1.0, 2.5]),
        ("seconds", [0.004, -0.005, 0.01]),
    ],
)
def test_a_choice_that_cannot_have_been_made_is_named(content, field, value):
    broken = edit(content, BUDGET_PLACE, BUDGET | {field: value})
    assert f"runs[1].iterations[0].detail.budget.{field} must" in sentence(broken)


@pytest.mark.parametrize(
    ("question", "title"), [("", ""), (" \n", ""), ("\n One?\nTwo?", "One?"), ("x" * 99, "x" * 80)]
)
def test_a_trace_without_a_title_bears_the_first_line_of_its_question(question, title):
    target, request = ScriptedTarget(5, lambda history: np.arange(5.0)), Request(np.array([1]), 2)
    recorded = RecordedRun(target, request, "ar")
    list(recorded)
    assert build_trace(target, request, question, [recorded.run()]).title == title
    assert build_trace(target, request, question, [recorded.run()], title="Mine").title == "Mine"


def test_a_run_whose_model_rules_out_all_tokens_but_one_is_read_back(tmp_path):
    def one_token(history):
        scores = np.full(12, -np.inf)
        scores[(history[-1] * 5 + 1) % 12] = 1.0
        return scores

    target, request = ScriptedTarget(12, one_token), Request(np.array([1, 2, 3, 4]), 12)
    recorded = RecordedRun(target, request, "recap")
    assert len(list(recorded)) > 3
    trace = build_trace(target, request, "What comes next?", [recorded.run()])
    save_trace(trace, tmp_path / "trace.json")
    assert load_trace(tmp_path / "trace.json") == trace
