"""The benchmark: what is read, what is measured, and that the report's figures follow from its units."""

from __future__ import annotations

import json
import math
import pickle
import statistics
from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recap.bench import __main__ as command_line
from recap.bench.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from recap.bench.methods import PEERS, EngineMethod, HfGenerate
from recap.bench.report import UNIT_KEYS, UnitResult, build_report, to_markdown
from recap.bench.runner import BenchRunner
from recap.bench.settings import BenchSettings
from recap.bench.workload import Conversation, Workload, arrange, read_workload, select
from recap.drafters import METHODS
from recap.errors import InputError, ModelError
from recap.events import Environment
from recap.targets.base import Request
from recap.targets.scripted import ScriptedTarget, random_scores

VOCAB_SIZE = 40
END_ID = 0
OVERALL_KEYS = {
    "num_units",
    "num_failed",
    "speedup",
    "speedup_of_totals",
    "decode_speedup",
    "prefill_share",
    "p10",
    "p50",
    "p90",
    "acceptance_length",
    "tokens_per_second",
    "identical_to_ar",
    "passes",
    "mean_nodes",
}


class ToyTarget(ScriptedTarget):
    """A scripted target that also takes questions; every letter is a token. Notes the histories it was given."""

    name = "toy"
    environment = Environment("CPU", "float32", "-", "-", 1)

    def __init__(self) -> None:
        super().__init__(VOCAB_SIZE, random_scores(VOCAB_SIZE, order=2, seed=3), end_ids=[END_ID])
        self.histories = []

    def build_request(self, image, question, max_new_tokens=200, history=()):
        if "unanswerable" in question:
            raise InputError("This question cannot be asked.")
        self.histories.append((question, tuple(history)))
        text = "".join(part for pair in history for part in pair) + question
        return Request(np.array([1 + ord(c) % (VOCAB_SIZE - 1) for c in text], np.int64), max_new_tokens)

    def token_bytes(self, token_id):
        return bytes([64 + token_id])

    def is_special(self, token_id):
        return token_id == END_ID


def talk(id_, *turns, topic="t"):
    return Conversation(str(id_), topic, None, turns)


CONVERSATIONS = (
    talk(1, "what is that", topic="a"),
    talk(2, "and this one", "really", "sure about it", topic="b"),
    talk(3, "describe the picture", topic="a"),
    talk(4, "what is that here", "tell me more", topic="b"),
)


def measure(methods, conversations=CONVERSATIONS, target=None, **options):
    """All results, by (id, turn, method)."""
    settings = BenchSettings(tuple(methods), max_new_tokens=25, **options)
    runner = BenchRunner(target or ToyTarget(), settings)
    results = [result for unit in runner.run(conversations) for result in unit.results]
    return {(result.id, result.turn, result.method): result for result in results}


# --- workloads


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
        ({**GOOD, "id": None}, "`id`"),
        ({**GOOD, "id": "x", "turns": []}, "`turns`"),
        ({**GOOD, "id": "x", "turns": ["  "]}, "`turns`"),
        ({"id": "x", "image": "a.png"}, "`turns`"),
        ({**GOOD, "id": "x", "topic": 3}, "`topic`"),
        ({**GOOD, "id": "x", "image": 3}, "`image`"),
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


def toy_workload(shape, tmp_path_like="w"):
    conversations = tuple(
        talk(number, *["?"] * num_turns, topic=topic) for number, (topic, num_turns) in enumerate(shape)
    )
    return Workload(tmp_path_like, conversations, ())


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


# --- measuring


def test_every_method_writes_what_plain_decoding_writes():
    results = measure(["ar", "recap@16", "recap-uniform@4", "recap-unigram"])
    assert len(results) == 4 * 7
    for (id_, turn, _), result in results.items():
        assert result.error is None
        assert result.identical
        assert result.tokens == results[id_, turn, "ar"].tokens


def test_plain_decoding_is_measured_even_when_not_named_and_is_its_own_reference():
    results = measure(["recap@8"])
    own = [result for (_, _, method), result in results.items() if method == "ar"]
    assert len(own) == 7
    assert {result.ratio for result in own} == {1.0}
    assert {result.acceptance_length for result in own if result.passes} == {1.0}
    assert all(result.passes == result.tokens - 1 for result in own)


def test_a_method_s_passes_depend_neither_on_the_other_methods_nor_on_repeats():
    alone = measure(["recap@16"])
    for other in (measure(["recap-unigram@4", "recap@16", "recap@2"]), measure(["recap@16"], repeats=3)):
        for key, result in alone.items():
            assert (other[key].passes, other[key].num_draft_nodes) == (result.passes, result.num_draft_nodes)


def test_u_is_kept_over_the_stream_and_emptied_when_asked():
    def passes(**options):
        twice = [talk(1, "the very same question", topic="a"), talk(2, "the very same question", topic="b")]
        results = measure(["recap@4"], twice, **options)
        return [results[id_, 1, "recap@4"].passes for id_ in ("1", "2")]

    first, second = passes()
    assert second < first, "the second time, the stream remembers the first"
    assert passes(reset_u="request") == [first, first]
    assert passes(reset_u="topic") == [first, first]


def test_every_method_is_given_plain_decoding_s_answers_as_history():
    target = ToyTarget()
    conversation = talk("c", "first", "second", "third")
    runner = BenchRunner(target, BenchSettings(("recap@16", "recap@2"), max_new_tokens=25))
    answers = []
    for unit in runner.run([conversation]):
        ids = next(run for run in unit.runs if run.name == "ar").finished.output_ids
        answers.append("".join(chr(64 + token_id) for token_id in ids if token_id != END_ID))
    measured = target.histories[1:]
    assert measured == [
        ("first", ()),
        ("second", (("first", answers[0]),)),
        ("third", (("first", answers[0]), ("second", answers[1]))),
    ]


def test_nobody_is_always_measured_first(monkeypatch):
    order = []
    measure_ = EngineMethod.measure

    def noting(self, request, is_recorded):
        order.append(self._name)
        return measure_(self, request, is_recorded)

    monkeypatch.setattr(EngineMethod, "measure", noting)
    measure(["ar", "recap@2", "recap@4"], [talk(i, "question") for i in range(6)])
    rounds = [tuple(order[i : i + 3]) for i in range(0, len(order), 3)]
    assert all(set(names) == {"ar", "recap@2", "recap@4"} for names in rounds)
    # The first round is the warm-up.
    assert Counter(names[0] for names in rounds[1:]) == {"ar": 2, "recap@2": 2, "recap@4": 2}


def test_a_failing_peer_is_counted_by_name_and_hurts_nobody_else():
    results = measure(["recap@8", *PEERS])  # the toy has no transformers model
    for (_, _, method), result in results.items():
        assert (result.error is not None) == (method in PEERS)
        if method in PEERS:
            assert result.error.startswith("AttributeError: ")
    report = build_report(list(results.values()), {}, {})
    for peer in PEERS:
        overall = report["methods"][peer]["overall"]
        assert overall.pop("num_units") == overall.pop("num_failed") == 7
        assert set(overall) == OVERALL_KEYS - {"num_units", "num_failed"}
        assert set(overall.values()) == {None}
        assert report["methods"][peer]["stage_ms"] == {}
    assert report["methods"]["recap@8"]["overall"]["num_failed"] == 0


def test_a_turn_that_cannot_be_asked_ends_its_conversation_only():
    results = measure(["recap@4"], [talk(1, "fine", "unanswerable", "later"), talk(2, "fine")])
    failed = {(id_, turn): result.error for (id_, turn, _), result in results.items() if result.error}
    assert failed == {
        ("1", 2): "This question cannot be asked.",
        ("1", 3): "This question cannot be asked.",
    }


def test_later_turns_are_lost_where_plain_decoding_failed(monkeypatch):
    measure_ = EngineMethod.measure

    def failing(self, request, is_recorded):
        if self._name == "ar":
            raise ModelError("The scores are not finite.")
        return measure_(self, request, is_recorded)

    monkeypatch.setattr(EngineMethod, "measure", failing)
    results = measure(["recap@4"], [talk(1, "one", "two")])
    assert results["1", 1, "ar"].error == "The scores are not finite."
    without_reference = results["1", 1, "recap@4"]
    assert without_reference.error is None
    assert without_reference.tokens
    assert without_reference.ratio is without_reference.identical is None
    assert "on which later turns build" in results["1", 2, "recap@4"].error


def run_until(target, num_units, resumed=None, plan=(), methods=("recap@8", "recap-unigram@4")):
    """Measure up to a number of units in all; returns the checkpoint there."""
    runner = BenchRunner(target, BenchSettings(methods, max_new_tokens=25))
    results = list(resumed.results) if resumed else []
    for unit in runner.run(CONVERSATIONS, resumed):
        results += unit.results
        if runner.num_units_done == num_units:
            break
    return Checkpoint(
        plan,
        tuple(results),
        runner.num_units_done,
        tuple(runner.history),
        runner.lost,
        runner.method_states(),
    )


def counts(checkpoint):
    return [
        (r.id, r.turn, r.method, r.tokens, r.passes, r.num_draft_nodes, r.identical)
        for r in checkpoint.results
    ]


def arrays_of(state):
    return list(state.unigram)


@pytest.mark.parametrize("stop", range(1, 7))
def test_a_stopped_benchmark_loses_no_unit_repeats_none_and_ends_with_the_same_memories(tmp_path, stop):
    whole = run_until(ToyTarget(), 7)
    path = tmp_path / "report.json.partial"
    save_checkpoint(run_until(ToyTarget(), stop, plan=("p", 1)), path)
    target = ToyTarget()
    resumed = run_until(target, 7, load_checkpoint(path, ("p", 1)))
    assert len(target.histories) == 1 + 7 - stop  # the warm-up asks the first question
    assert counts(resumed) == counts(whole)
    assert resumed.history == whole.history
    for name in ("recap@8", "recap-unigram@4"):
        ours, theirs = resumed.method_states[name], whole.method_states[name]
        assert (ours.request, ours.batch) == (theirs.request, theirs.batch)
        for mine, other in zip(arrays_of(ours), arrays_of(theirs), strict=True):
            np.testing.assert_array_equal(mine, other)


def test_every_method_goes_on_from_its_own_state(tmp_path):
    path = tmp_path / "report.json.partial"
    save_checkpoint(run_until(ToyTarget(), 3, methods=tuple(METHODS)), path)
    resumed = run_until(ToyTarget(), 7, load_checkpoint(path, ()), methods=tuple(METHODS))
    assert counts(resumed) == counts(run_until(ToyTarget(), 7, methods=tuple(METHODS)))
    assert {result.method for result in resumed.results} == set(METHODS)
    assert all(result.error is None and result.identical for result in resumed.results)


def test_a_checkpoint_of_another_run_or_a_foreign_file_is_one_sentence(tmp_path):
    path = tmp_path / "report.json.partial"
    assert load_checkpoint(path, ()) is None
    save_checkpoint(run_until(ToyTarget(), 1, plan=("p", 1)), path)
    with pytest.raises(InputError, match="other questions, methods or settings"):
        load_checkpoint(path, ("p", 2))
    for foreign in (b"", b"no pickle", path.read_bytes()[:200], pickle.dumps(print)):
        path.write_bytes(foreign)
        with pytest.raises(InputError, match="cannot be read as a stopped benchmark"):
            load_checkpoint(path, ("p", 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ("nonsense",)}, "no method called 'nonsense"),
        ({"methods": ("recap",), "nodes": 10_000}, "max_nodes"),
        ({"methods": ("ar",), "repeats": 0}, "repeats must be at least 1"),
        ({"methods": ("ar",), "max_new_tokens": 0}, "max_new_tokens must be at least 1"),
    ],
)
def test_settings_that_cannot_be_measured_are_refused_before_a_model_is_loaded(options, message):
    with pytest.raises(InputError, match=message):
        BenchSettings(**options)


# --- the report


def toy_report(**options):
    results = list(measure(["ar", "recap@16", "recap-unigram@4"], **options).values())
    environment = dict.fromkeys((field.name for field in fields(Environment)), "-")
    settings = {"model": "toy", "max_new_tokens": 25, "repeats": 1, "reset_u": "never"}
    return json.loads(json.dumps(build_report(results, environment, settings), allow_nan=False))


def nearly(value):
    return pytest.approx(value, rel=1e-12)


def test_overall_and_topic_figures_follow_from_the_units_by_plain_arithmetic():
    report = toy_report()
    assert report["schema"] == 1
    assert set(report) == {"schema", "environment", "settings", "methods", "units"}
    reference = {(u["id"], u["turn"]): u for u in report["units"] if u["method"] == "ar"}
    for name, method in report["methods"].items():
        groups = {None: method["overall"], **method["topics"]}
        assert set(groups) == {None, "a", "b"}
        for topic, figures in groups.items():
            units = [u for u in report["units"] if u["method"] == name and topic in (None, u["topic"])]
            check_figures(figures, units, [reference[u["id"], u["turn"]] for u in units])


def check_figures(figures, units, references):
    assert set(figures) == OVERALL_KEYS
    assert figures["num_units"] == len(units)
    assert figures["num_failed"] == 0
    ratios, decode_ratios = [], []
    for unit, reference in zip(units, references, strict=True):
        ratio = unit["tokens"] * reference["seconds"] / (unit["seconds"] * reference["tokens"])
        assert unit["ratio"] == nearly(ratio)
        ratios.append(ratio)
        if unit["tokens"] > 1:
            ours, theirs = (
                (u["tokens"] - 1) / (u["seconds"] - u["prefill_seconds"]) for u in (unit, reference)
            )
            decode_ratios.append(ours / theirs)
            # Prefill gives one token, every pass the others.
            assert unit["acceptance_length"] == nearly((unit["tokens"] - 1) / unit["passes"])
    tokens, seconds = (sum(u[key] for u in units) for key in ("tokens", "seconds"))
    ar_tokens, ar_seconds = (sum(u[key] for u in references) for key in ("tokens", "seconds"))
    assert figures["speedup"] == nearly(math.fsum(ratios) / len(ratios))
    assert figures["speedup_of_totals"] == nearly(tokens * ar_seconds / (seconds * ar_tokens))
    assert figures["decode_speedup"] == nearly(math.fsum(decode_ratios) / len(decode_ratios))
    assert figures["prefill_share"] == nearly(sum(u["prefill_seconds"] for u in units) / seconds)
    assert figures["p50"] == nearly(statistics.median(ratios))
    assert min(ratios) <= figures["p10"] <= figures["p50"] <= figures["p90"] <= max(ratios)
    assert figures["tokens_per_second"] == nearly(tokens / seconds)
    lengths = [u["acceptance_length"] for u in units if u["passes"]]
    assert figures["acceptance_length"] == nearly(sum(lengths) / len(lengths))
    assert figures["identical_to_ar"] == 1.0
    assert figures["passes"] == sum(u["passes"] for u in units)


def test_a_unit_has_the_fields_of_the_schema_in_its_order():
    assert UNIT_KEYS == (
        "id",
        "turn",
        "topic",
        "method",
        "tokens",
        "passes",
        "seconds",
        "prefill_seconds",
        "ratio",
        "acceptance_length",
        "identical",
        "error",
        "num_draft_nodes",
        "memory_rows",
    )
    assert all(tuple(unit) == UNIT_KEYS for unit in toy_report()["units"])


def test_plain_decoding_carries_every_key_and_is_one():
    figures = toy_report()["methods"]["ar"]["overall"]
    assert set(figures) == OVERALL_KEYS
    for key in (
        "speedup",
        "speedup_of_totals",
        "decode_speedup",
        "p10",
        "p90",
        "acceptance_length",
        "identical_to_ar",
    ):
        assert figures[key] == 1.0
    assert figures["mean_nodes"] == 0


def test_stage_times_and_node_counts_come_from_the_passes():
    results = list(measure(["recap@16"]).values())
    report = build_report(results, {}, {})
    own = [result for result in results if result.method == "recap@16"]
    method = report["methods"]["recap@16"]
    assert set(method["stage_ms"]) == {"draft", "verify", "commit", "update"}
    passes = [seconds for result in own for seconds in result.stage_seconds]
    assert len(passes) == method["overall"]["passes"]
    assert method["stage_ms"]["draft"] == nearly(1000 * statistics.median(s.draft for s in passes))
    assert method["overall"]["mean_nodes"] == nearly(sum(r.num_draft_nodes for r in own) / len(passes))
    assert 0 < method["overall"]["mean_nodes"] <= 16 + 4  # suffix nodes come on top


def test_failed_units_are_left_out_of_every_figure_and_counted():
    done = UnitResult("1", 1, "t", "m", 10, 4, 2.0, 0.5, 1.5, 2.25, False)
    reference = UnitResult("1", 1, "t", "ar", 10, 9, 3.0, 0.5, 1.0, 1.0, True)
    lost = UnitResult("2", 1, "t", "m", error="It broke.")
    figures = build_report([reference, done, lost], {}, {})["methods"]["m"]["overall"]
    assert (figures["num_units"], figures["num_failed"], figures["speedup"]) == (2, 1, 1.5)
    assert (figures["identical_to_ar"], figures["tokens_per_second"]) == (0.0, 5.0)


def test_markdown_has_a_row_a_method_and_a_dash_where_a_figure_is_missing():
    report = toy_report()
    report["methods"]["recap@16"]["overall"]["acceptance_length"] = None
    text = to_markdown(report)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows] == [
        *["| method", "| ---", "| ar", "| recap@16", "| recap-unigram@4"],
        *["| method", "| ---", "| ar", "| recap@16", "| recap-unigram@4"],
    ]
    assert " – " in rows[3]
    assert len({row.count("|") for row in rows[:5]}) == 1


# --- the command


@pytest.fixture
def toy_command(tmp_path, monkeypatch):
    """Runs the command line on the toy; returns (exit code, report or None)."""
    monkeypatch.setattr(command_line, "load_target", lambda model, dtype: ToyTarget())
    workload = tmp_path / "mmspec.jsonl"
    lines = [{"id": c.id, "turns": c.turns, "topic": c.topic} for c in CONVERSATIONS]
    workload.write_text("\n".join(map(json.dumps, lines)) + "\n{}\n", "utf-8")

    def run(*arguments):
        out = tmp_path / "report.json"
        code = command_line.main(
            ["run", "--workload", str(workload), "--json", str(out), "--max-new-tokens", "25", *arguments]
        )
        return code, json.loads(out.read_text("utf-8")) if out.exists() else None

    return run


def test_the_command_writes_report_markdown_and_traces(toy_command, tmp_path, capsys):
    markdown, traces = tmp_path / "report.md", tmp_path / "traces"
    code, report = toy_command(
        *["--methods", "recap,recap@4", "--nodes", "16", "--limit", "5"],
        *["--markdown", str(markdown), "--traces", str(traces)],
    )
    assert code == 0
    assert list(report["methods"]) == ["ar", "recap", "recap@4"]
    assert len(report["units"]) == 3 * 5
    assert report["settings"]["nodes"] == 16
    assert [skipped["line"] for skipped in report["settings"]["skipped_lines"]] == [5]
    printed = capsys.readouterr()
    assert markdown.read_text("utf-8") in printed.out
    assert "Line 5 of mmspec.jsonl was left out" in printed.err
    assert "[5/5]" in printed.err
    recorded = [json.loads(path.read_text("utf-8")) for path in sorted(traces.iterdir())]
    assert len(recorded) == 5
    assert all([run["name"] for run in trace["runs"]] == ["ar", "recap", "recap@4"] for trace in recorded)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--topics", "x"], "no topic 'x'"),
        (["--methods", "x"], "no method called 'x'"),
        (["--strict"], "line 5"),
        (["--markdown", "/no/such/folder/report.md"], "does not exist"),
    ],
)
def test_a_known_error_is_one_sentence_and_exit_code_two(toy_command, capsys, arguments, sentence):
    code, report = toy_command(*arguments)
    assert (code, report) == (2, None)
    message = capsys.readouterr().err.strip().splitlines()[-1]
    assert sentence in message
    assert "Traceback" not in message


def test_an_interrupted_run_reports_the_units_it_finished_and_goes_on(
    toy_command, monkeypatch, capsys, tmp_path
):
    show = command_line.Progress.show

    def interrupting(self, unit):
        show(self, unit)
        if self._num_done == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(command_line.Progress, "show", interrupting)
    code, stopped = toy_command("--methods", "recap@4")
    assert code == 130
    assert len(stopped["units"]) == 2 * 3
    assert "Stopped" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(command_line, "load_target", lambda model, dtype: ToyTarget())
    code, report = toy_command("--methods", "recap@8", "--resume")
    assert code == 2
    assert "other questions, methods or settings" in capsys.readouterr().err
    code, report = toy_command("--methods", "recap@4", "--resume")
    assert code == 0
    assert report["units"][:6] == stopped["units"]
    assert [(u["id"], u["turn"]) for u in report["units"][::2]] == [
        (c.id, turn) for c in CONVERSATIONS for turn in range(1, len(c.turns) + 1)
    ]
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.parametrize("name", PEERS)
def test_outside_peers_write_what_plain_decoding_writes(teaching_target, name):
    request = teaching_target.build_request(None, "Describe the picture.", max_new_tokens=12)
    reference = EngineMethod("ar", "ar", teaching_target).measure(request, is_recorded=False)
    outside = HfGenerate(teaching_target, name).measure(request, is_recorded=False)
    assert outside.output_ids == reference.output_ids
    assert outside.seconds > 0
    assert outside.run is None
