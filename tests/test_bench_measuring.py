"""Measuring is fair: every method writes the same text in its own stream, and a failure hurts nobody else."""

from __future__ import annotations

import statistics
from collections import Counter

import pytest
from toy_bench import END_ID, OVERALL_KEYS, ToyTarget, measure, talk

from recap.bench.methods import PEERS, EngineMethod, HfGenerate, Measurement
from recap.bench.report import build_report
from recap.bench.runner import BenchRunner
from recap.bench.settings import BenchSettings
from recap.errors import InputError, ModelError
from recap.events import Finished, Iteration, Prefill, Run, StageSeconds


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


def test_repeats_are_compared_each_with_plain_decodings_of_its_own(monkeypatch):
    """Whatever the clocks of single repeats say: a median of ratios, not a ratio of medians."""

    def repeat(prefill_seconds, *pass_seconds):
        iterations = tuple(
            Iteration(i, 5, 1, 0, (), 2, (2,), None, StageSeconds(seconds, 0.0, 0.0, 0.0), None)
            for i, seconds in enumerate(pass_seconds, 1)
        )
        ids = tuple(range(1, 10))
        finished = Finished(ids, len(pass_seconds), "length", prefill_seconds, sum(pass_seconds))
        prefill = Prefill(5, 0, 1, (1.0, 0.0), prefill_seconds, (), None)
        run = Run("m", "m", (), ToyTarget.environment, (), prefill, iterations, finished)
        return Measurement(ids, prefill_seconds + sum(pass_seconds), run)

    warm_up = repeat(1.0, 1.0)
    clocks = {
        "recap@4": [warm_up, repeat(1.0, 2.0, 2.0), repeat(7.0, 1.0, 3.0), repeat(2.0, 5.0, 5.0)],
        "ar": [warm_up, repeat(1.0, 4.0, 4.0), repeat(2.0, 5.0, 15.0), repeat(9.0, 6.0, 4.0)],
    }
    monkeypatch.setattr(EngineMethod, "measure", lambda self, *_, **__: clocks[self._name].pop(0))
    results = measure(["recap@4"], [talk(1, "what")], repeats=3)
    unit = results["1", 1, "recap@4"]
    assert unit.ratio == pytest.approx(statistics.median((9 / 5, 22 / 11, 19 / 12)))
    assert unit.decode_ratio == pytest.approx(statistics.median((8 / 4, 20 / 4, 10 / 10)))
    assert unit.stage_seconds.tolist() == [[2.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]]
    figures = build_report(list(results.values()), {}, {})["methods"]
    assert figures["recap@4"]["overall"]["decode_speedup"] == unit.decode_ratio
    assert figures["ar"]["overall"]["decode_speedup"] == 1.0


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


def test_the_warm_up_asks_the_first_question_that_can_be_asked(monkeypatch):
    warmed = []
    measure_ = EngineMethod.measure

    def noting(self, request, is_recorded):
        warmed.append(request.prompt_ids.tolist())
        return measure_(self, request, is_recorded)

    monkeypatch.setattr(EngineMethod, "measure", noting)
    results = measure(["ar"], [talk(1, "unanswerable"), talk(2, "fine"), talk(3, "later")])
    assert len(warmed) == 1 + 2
    assert warmed[0] == warmed[1] != warmed[2]
    assert results["1", 1, "ar"].error


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
        assert overall.pop("num_without_pass") == 0  # of the units that did not fail
        assert set(overall) == OVERALL_KEYS - {"num_units", "num_failed", "num_without_pass"}
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


@pytest.mark.parametrize("name", PEERS)
def test_outside_peers_write_what_plain_decoding_writes(teaching_target, name):
    request = teaching_target.build_request(None, "Describe the picture.", max_new_tokens=12)
    reference = EngineMethod("ar", "ar", teaching_target).measure(request, is_recorded=False)
    outside = HfGenerate(teaching_target, name).measure(request, is_recorded=False)
    assert outside.output_ids == reference.output_ids
    assert outside.seconds > 0
    assert outside.run is None
