"""Which questions a benchmark asks: workload files, limits, topics and orders."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_bench import talk

from recap.bench.workload import Conversation, Workload, arrange, read_workload, select
from recap.errors import InputError


def write_lines(folder, *lines):
    (folder / "images").mkdir(exist_ok=True)
    (folder / "images" / "a.png").write_bytes(b"")
    path = folder / "mmspec.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


GOOD = {"id": 7, "image": "a.png", "turns": ["what?"], "category": "c", "topic": "general vqa"}


def test_mmspec_and_spec_bench_lines_are_read_as_published(tmp_path):
    spec_bench = {"question_id": 81, "category": "writing", "turns": ["one\u2028two", "three"]}
    prompt_only = {"id": "p", "prompt": "alone"}
    write_lines(tmp_path, GOOD, "", spec_bench, prompt_only)
    workload = read_workload(tmp_path)
    assert workload.skipped == ()
    assert workload.conversations == (
        Conversation("7", "general vqa", tmp_path.resolve() / "images" / "a.png", ("what?",)),
        Conversation("81", "writing", None, ("one\u2028two", "three")),
        Conversation("p", "all", None, ("alone",)),
    )
    assert workload.num_units == 4


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[1]", "an object is needed, got list"),
        ('{"id": ' + "9" * 5_000 + ', "turns": ["q"]}', "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ({**GOOD, "id": None}, "`id`"),
        ({**GOOD, "id": "x", "turns": []}, "`turns`"),
        ({**GOOD, "id": "x", "turns": ["  "]}, "`turns`"),
        ({"id": "x", "image": "a.png"}, "`turns`"),
        ({**GOOD, "id": "x", "topic": 3}, "`topic`"),
        ({**GOOD, "id": "x", "image": 3}, "`image`"),
        ({**GOOD, "id": "x", "image": "iVBORw0KGgo" * 500}, "not the picture itself"),
        ({**GOOD, "id": "x", "image": "a\0.png"}, "`image`"),
        ({**GOOD, "id": "x", "image": "\ud800.png"}, "`image`"),
        ({**GOOD, "id": "x\ud800"}, "`id`"),
        ({**GOOD, "id": "x", "topic": "\ud800"}, "half a character"),
        ({**GOOD, "id": "x", "image": "gone.png"}, "missing"),
        ({**GOOD, "id": "x", "image": "../../etc/hostname"}, "outside"),
        ({**GOOD, "turns": ["again"]}, "used by an earlier line"),
    ],
)
def test_a_bad_line_is_left_out_with_number_and_reason_and_stops_a_strict_reading(tmp_path, line, reason):
    write_lines(tmp_path, GOOD, line, {**GOOD, "id": "last"})
    workload = read_workload(tmp_path)
    assert [conversation.id for conversation in workload.conversations] == ["7", "last"]
    assert [skipped.line for skipped in workload.skipped] == [2]
    assert reason in workload.skipped[0].reason
    with pytest.raises(InputError, match="line 2: "):
        read_workload(tmp_path, strict=True)


def test_a_workload_that_is_not_there_or_empty_or_not_text_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"mmspec\.jsonl"):
        read_workload(tmp_path)
    with pytest.raises(InputError, match="no usable line"):
        read_workload(write_lines(tmp_path, "{}"))
    (tmp_path / "mmspec.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="UTF-8"):
        read_workload(tmp_path)


turn_counts = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), min_size=1, max_size=12)


def toy_workload(shape):
    conversations = tuple(
        talk(number, *["?"] * num_turns, topic=topic) for number, (topic, num_turns) in enumerate(shape)
    )
    return Workload("w", conversations, ())


@given(shape=turn_counts, limit=st.integers(1, 40))
def test_a_limit_is_met_exactly_and_spread_evenly_over_the_topics(shape, limit):
    workload = toy_workload(shape)
    chosen = select(workload, limit=limit)
    assert chosen.num_units == min(limit, workload.num_units)
    offered, taken = Counter(), Counter()
    for part, counter in ((workload, offered), (chosen, taken)):
        for conversation in part.conversations:
            counter[conversation.topic] += len(conversation.turns)
    most = max(taken.values())
    assert all(taken[topic] >= min(offered[topic], most - 1) for topic in offered)


def test_topics_are_chosen_by_name_and_an_unknown_one_is_a_sentence():
    workload = toy_workload([("a", 1), ("b", 2), ("a", 1)])
    assert select(workload, topics=["b"]).num_units == 2
    with pytest.raises(InputError, match="no topic 'x'; it has a, b"):
        select(workload, topics=["x"])
    with pytest.raises(InputError, match="at least 1"):
        select(workload, limit=0)


@given(shape=turn_counts)
def test_every_order_asks_everything_once(shape):
    conversations = toy_workload(shape).conversations
    for order in ("interleaved", "blocked", "alternating"):
        assert Counter(arrange(conversations, order)) == Counter(conversations)


def test_orders_block_and_alternate_topics():
    conversations = toy_workload([("a", 1), ("a", 1), ("b", 1), ("a", 1), ("b", 1)]).conversations
    topics = {
        order: "".join(conversation.topic for conversation in arrange(conversations, order))
        for order in ("interleaved", "blocked", "alternating")
    }
    assert topics == {"interleaved": "aabab", "blocked": "aaabb", "alternating": "ababa"}
