"""Parts of a benchmark on several machines, drafters from elsewhere, and what a stream does to U."""

from __future__ import annotations

import copy
import json
import random

import pytest
from toy_bench import CONVERSATIONS, ToyTarget, measure, talk

from recap.bench import __main__ as command_line
from recap.bench import run_command
from recap.bench.foreign import load_drafter_class
from recap.bench.shards import merge_reports, parse_shard, take_shard
from recap.bench.workload import Conversation, Workload, arrange
from recap.drafters.autoregressive import AutoregressiveDrafter
from recap.errors import InputError


class MyDrafter(AutoregressiveDrafter):
    """Someone else's class: plain decoding under another name."""

    def __init__(self, vocab_size, blocked_ids):
        super().__init__()
        self.made_for = (vocab_size, frozenset(blocked_ids))


class Unmakeable(MyDrafter):
    """Wants something else."""

    def __init__(self):
        raise NotImplementedError


class NoDrafter:
    """Has none of the methods."""


def random_workload(tmp_path, rng):
    topics = [rng.choice("abc") for _ in range(rng.randrange(6, 30))]
    conversations = [Conversation(str(i), topic, None, ("q",)) for i, topic in enumerate(topics)]
    return Workload(tmp_path / "w.jsonl", tuple(conversations), ())


def test_shards_divide_the_workload_and_every_topic_evenly(tmp_path):
    rng = random.Random(1)
    for _ in range(50):
        workload = random_workload(tmp_path, rng)
        count = rng.randrange(1, 4)
        parts = [take_shard(workload, (index, count)).conversations for index in range(1, count + 1)]
        assert sorted(c.id for part in parts for c in part) == sorted(c.id for c in workload.conversations)
        for topic in "abc":
            sizes = [sum(c.topic == topic for c in part) for part in parts]
            assert max(sizes) - min(sizes) <= 1
        for part in parts:
            assert [int(c.id) for c in part] == sorted(int(c.id) for c in part)


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(InputError, match="i/n"):
        parse_shard(text)


def test_a_shard_without_a_conversation_is_refused(tmp_path):
    workload = Workload(tmp_path / "w.jsonl", (Conversation("1", "a", None, ("q",)),), ())
    with pytest.raises(InputError, match="would be empty"):
        take_shard(workload, (2, 2))


@pytest.fixture
def run_shards(tmp_path, monkeypatch):
    """Runs the toy benchmark in two shards; returns the paths of the reports."""
    monkeypatch.setattr(run_command, "load_target", lambda model, dtype: ToyTarget())
    lines = [{"id": c.id, "turns": c.turns, "topic": c.topic} for c in CONVERSATIONS]
    workload = tmp_path / "mmspec.jsonl"
    workload.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    paths = [tmp_path / "1.json", tmp_path / "2.json"]
    for path, shard in zip(paths, ("1/2", "2/2"), strict=True):
        options = ["--workload", str(workload), "--methods", "recap@4,recap@8", "--max-new-tokens", "25"]
        assert not command_line.main(["run", *options, "--shard", shard, "--json", str(path)])
    return paths


def test_merged_shards_have_all_units_and_the_figures_of_their_units(run_shards, tmp_path, capsys):
    out = tmp_path / "all.json"
    assert not command_line.main(["merge", *map(str, reversed(run_shards)), "--json", str(out)])
    assert "Merged from 2 shards, each a stream of its own." in capsys.readouterr().out
    parts = [json.loads(path.read_text("utf-8")) for path in run_shards]
    merged = json.loads(out.read_text("utf-8"))
    assert merged["units"] == parts[0]["units"] + parts[1]["units"]
    assert merged["settings"]["num_units"] == 7
    for name, method in merged["methods"].items():
        own = [unit for unit in merged["units"] if unit["method"] == name]
        overall = method["overall"]
        assert overall["num_units"] == 7
        assert overall["speedup"] == pytest.approx(sum(u["ratio"] for u in own) / 7)
        assert overall["mean_nodes"] == pytest.approx(
            sum(u["num_draft_nodes"] for u in own) / sum(u["passes"] for u in own)
        )
        halves = [part["methods"][name] for part in parts]
        weighted = sum(half["stage_ms"]["verify"] * half["overall"]["passes"] for half in halves)
        assert method["stage_ms"]["verify"] == pytest.approx(weighted / overall["passes"])


def test_reports_that_do_not_belong_together_are_one_sentence(run_shards, tmp_path, capsys):
    first, second = (json.loads(path.read_text("utf-8")) for path in run_shards)
    with pytest.raises(InputError, match="needed once; got 1/2"):
        merge_reports([first])
    with pytest.raises(InputError, match="needed once; got 1/2, 1/2"):
        merge_reports([first, first])
    whole = copy.deepcopy(first)
    whole["settings"]["shard"] = None
    with pytest.raises(InputError, match="not of a shard of one"):
        merge_reports([whole])
    other = copy.deepcopy(second)
    other["settings"]["nodes"] = 1
    with pytest.raises(InputError, match="differ in nodes"):
        merge_reports([first, other])
    capsys.readouterr()
    (tmp_path / "no.json").write_text("[]", "utf-8")
    for bad in ("no.json", "missing.json"):
        assert command_line.main(["merge", str(tmp_path / bad), "--json", str(tmp_path / "x.json")]) == 2
        assert bad in capsys.readouterr().err


def test_a_shard_that_was_stopped_or_overlaps_another_is_not_merged(run_shards):
    first, second = (json.loads(path.read_text("utf-8")) for path in run_shards)
    stopped = copy.deepcopy(second)
    last = stopped["units"][-1]
    stopped["units"] = [u for u in stopped["units"] if (u["id"], u["turn"]) != (last["id"], last["turn"])]
    with pytest.raises(InputError, match=r"Shard 2/2 was stopped after . of its . units"):
        merge_reports([first, stopped])
    second["units"][0] = first["units"][0]
    second["settings"]["num_units"] = 1
    with pytest.raises(InputError, match="Two shards hold turn 1 of '1'"):
        merge_reports([first, second])


def test_a_drafter_from_elsewhere_is_measured_under_its_name():
    name = f"{__name__}:MyDrafter"
    results = measure([name, "recap@4"])
    assert load_drafter_class(name) is MyDrafter
    assert all(r.identical and r.acceptance_length == 1 for (_, _, m), r in results.items() if m == name)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_module:Class", "could not be imported"),
        (":Class", "could not be imported"),
        (f"{__name__}:Missing", "has no class 'Missing'"),
        (f"{__name__}:NoDrafter", "lacks begin"),
    ],
)
def test_a_drafter_that_is_none_is_refused_before_a_model_is_loaded(name, sentence):
    with pytest.raises(InputError, match=sentence):
        measure([name])


def test_a_drafter_that_cannot_be_made_is_one_sentence():
    with pytest.raises(
        InputError, match=r"Unmakeable could not be made from \(vocab_size, blocked_ids\): TypeError"
    ):
        measure([f"{__name__}:Unmakeable"])


def test_the_rows_of_u_are_counted_after_every_unit_and_never_shrink():
    results = measure(["recap@8", "sam"])
    rows = [r.memory_rows for (_, _, method), r in results.items() if method == "recap@8"]
    assert rows == sorted(rows)
    assert rows[0] > 0
    assert {r.memory_rows for (_, _, method), r in results.items() if method in ("ar", "sam")} == {None}


def test_a_reset_at_task_boundaries_is_one_a_request_when_tasks_alternate_and_fewer_when_they_are_blocked():
    """Appendix D: under alternation both policies accept the same; in blocks the former keeps U within a task."""
    talks = [talk(i, "the very same question", topic="ab"[i < 4]) for i in range(8)]

    def passes(order, reset_u):
        results = measure(["recap@4"], arrange(talks, order), reset_u=reset_u)
        return {id_: r.passes for (id_, _, method), r in results.items() if method == "recap@4"}

    assert passes("alternating", "topic") == passes("alternating", "request")
    assert passes("blocked", "request") == passes("alternating", "request")
    assert sum(passes("blocked", "topic").values()) < sum(passes("blocked", "request").values())
