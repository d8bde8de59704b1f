"""What the debugger works out beside the record: other rules' proposals, settings, differences, lessons."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from make_traces import IMAGE, make_trace

from recap.config import FUSION_RULES, RecapConfig
from recap.events import BudgetChoice
from recap.trace_io import load_trace
from visualize.exactness import exactness_entry
from visualize.lessons import LessonError, check_lesson, lesson_entry, load_lesson
from visualize.page import standalone_page
from visualize.pass_payload import pass_entry
from visualize.rule_proposals import proposals_entry, rule_proposals
from visualize.search_settings import search_config, search_entry
from visualize.token_forms import TokenForms

ASSETS = Path(__file__).resolve().parent.parent / "assets"
ALPHA = (0.70, 0.20, 0.10)
STEP = {"title": "A", "text": "B", "pass": 3}
QUESTION = {"text": "Who?", "choices": ["G", "U"], "answer": 0, "after": "G."}


@cache
def trace():
    return make_trace(4, max_nodes=24, num_tokens=40)


def run():
    return trace().runs[1]


def nodes():
    return [node for iteration in run().iterations for node in iteration.detail.nodes if node.retrieved]


def oracle(node, rule: str) -> dict[int, float]:
    """Eqs. 4-6 in plain Python: token to q, the eight of highest mass."""
    rows = [run().rows[found.row] for found in node.retrieved]
    weights = {
        "recap": [a * row.confidence for a, row in zip(ALPHA, rows, strict=False)],
        "no-confidence": list(ALPHA[: len(rows)]),
        "no-prior": [row.confidence for row in rows],
        "uniform": [1.0 for _ in rows],
        "hard-gate": [float(row is max(rows, key=lambda row: row.confidence)) for row in rows],
        "back-off": [float(rank == 0) for rank in range(len(rows))],
        "unigram": [float(found.source == "U") for found in node.retrieved],
    }[rule]
    mass: dict[int, float] = {}
    for weight, row in zip(weights, rows, strict=True):
        for token, probability in zip(row.token_ids, row.probabilities, strict=True):
            if weight:
                mass[token] = mass.get(token, 0.0) + weight * probability
    kept = sorted(mass.items(), key=lambda item: -item[1])[:8]
    return {token: value / sum(v for _, v in kept) for token, value in kept}


def test_every_rule_proposes_what_the_equations_say():
    for node in nodes()[::3]:
        proposals = rule_proposals(run(), node, RecapConfig())
        assert tuple(proposal.rule for proposal in proposals) == FUSION_RULES
        for proposal in proposals:
            expected = oracle(node, proposal.rule)
            assert proposal.token_ids == tuple(expected)
            assert proposal.q == pytest.approx(tuple(expected.values()), rel=1e-5)


def test_the_run_s_own_rule_proposes_what_was_recorded():
    path = sorted((ASSETS / "traces").glob("*.json"))[0]
    recorded = next(run for run in load_trace(path).runs if run.method == "recap")
    config = search_config(recorded)
    for iteration in recorded.iterations:
        for node in iteration.detail.nodes:
            for proposal in rule_proposals(recorded, node, config):
                if proposal.rule == config.fusion:
                    assert proposal.token_ids == node.kept_ids
                    assert proposal.q == node.kept_probabilities


def test_the_player_learns_the_place_of_the_target_s_choice_and_the_first_tokens():
    for node in nodes():
        entries = proposals_entry(run(), node, RecapConfig())
        if len(node.retrieved) < 2:
            assert entries is None
            continue
        for rule, entry in zip(FUSION_RULES, entries, strict=True):
            kept = list(oracle(node, rule))
            assert entry[0] == (1 + kept.index(node.greedy_id) if node.greedy_id in kept else 0)
            assert entry[1::2] == kept[:3]
    assert proposals_entry(run(), nodes()[0], None) is None


def test_the_search_is_told_from_the_run_s_settings():
    settings = (
        ("depth_priors", "(0.5, 0.25)"),
        ("max_depth", "4"),
        ("blocked_ids", "(7, 3)"),
        ("fusion", "uniform"),
    )
    entry = search_entry(trace(), replace(run(), settings=settings))
    assert entry["depth_priors"] == [0.5, 0.25]
    assert entry["max_depth"] == 4
    assert entry["blocked_ids"] == sorted((3, 7, IMAGE))
    assert entry["fusion"] == "uniform"


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("ar", ()),
        ("recap-fixed", (("expansion", "fixed"),)),
        ("recap", (("max_depth", "deep"),)),
    ],
)
def test_nothing_is_said_of_a_search_that_is_none_or_cannot_be_read(method, settings):
    assert search_entry(trace(), replace(run(), method=method, settings=settings)) is None


def test_the_first_difference_has_both_tokens_and_what_each_run_saw():
    plain = trace().runs[0]
    assert exactness_entry(run(), plain)["difference"] is None
    ids = list(run().finished.output_ids)
    ids[12] += 1
    other = replace(run(), finished=replace(run().finished, output_ids=tuple(ids)))
    told = exactness_entry(other, plain)
    theirs = plain.iterations[11].detail.nodes[0].top_scores
    assert told["num_equal"] == told["difference"]["index"] == 12
    assert told["difference"]["ours"]["token"] == ids[12]
    assert told["difference"]["theirs"] == {"token": plain.finished.output_ids[12], "scores": list(theirs)}
    assert told["difference"]["gap"] == theirs[0] - theirs[1]


def test_a_run_that_ended_earlier_has_no_token_where_the_other_goes_on():
    short = replace(run(), finished=replace(run().finished, output_ids=run().finished.output_ids[:9]))
    difference = exactness_entry(short, trace().runs[0])["difference"]
    assert difference["index"] == 9
    assert difference["ours"] == {"token": None, "scores": None}


def test_the_curve_that_a_budget_was_chosen_from_reaches_the_player():
    first = run().iterations[9]
    budget = BudgetChoice(8, (0, 8, 24), (1.0, 2.5, 2.75), (0.01, 0.015, 0.03))
    weighed = replace(first, detail=replace(first.detail, budget=budget))
    entry = pass_entry(TokenForms(trace()), run(), weighed, RecapConfig())
    assert entry["budget"] == [8, [[0, 1.0, 0.01], [8, 2.5, 0.015], [24, 2.75, 0.03]]]
    assert pass_entry(TokenForms(trace()), run(), first, RecapConfig())["budget"] is None


def lesson_file(folder: Path, **changes) -> Path:
    record = {"schema_version": 1, "title": "T", "trace": "t", "run": "recap@24", "steps": [STEP]} | changes
    path = folder / "lesson.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


def test_every_lesson_that_ships_fits_its_trace():
    paths = sorted((ASSETS / "lessons").glob("*.json"))
    assert paths
    for path in paths:
        lesson = load_lesson(path)
        check_lesson(lesson, load_trace(ASSETS / "traces" / f"{lesson.trace}.json"))
        assert any(step.question for step in lesson.steps)
        assert lesson.glossary
        assert lesson.teacher_note


def test_a_lesson_is_handed_to_the_player_and_can_begin_a_page(tmp_path):
    lesson = load_lesson(
        lesson_file(tmp_path, steps=[STEP | {"pass": 20, "stage": "grow", "grown": 2, "question": QUESTION}])
    )
    check_lesson(lesson, trace())
    step = lesson_entry(lesson)["steps"][0]
    assert (step["pass"], step["run"], step["stage"], step["grown"]) == (20, "recap@24", "grow", 2)
    assert step["question"]["answer"] == 0
    assert '"lesson":{"name":"lesson"' in standalone_page(trace(), lesson=lesson)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema_version": 2}, "schema_version must be 1"),
        ({"title": " "}, "title must be a text"),
        ({"steps": []}, "at least one"),
        ({"steps": [{"title": "A", "text": "B"}]}, "it lacks pass"),
        ({"steps": [STEP | {"pass": 0}]}, "pass must be a whole number from 1"),
        ({"steps": [STEP | {"stage": "sleep"}]}, "stage must be one of grow, suffix"),
        ({"steps": [STEP | {"question": QUESTION | {"choices": ["one"]}}]}, "two to five"),
        ({"steps": [STEP | {"question": QUESTION | {"answer": 2}}]}, "the place of a choice"),
        ({"steps": 3}, "cannot be used"),
    ],
)
def test_a_lesson_that_cannot_be_is_one_sentence(tmp_path, changes, words):
    with pytest.raises(LessonError, match=words):
        load_lesson(lesson_file(tmp_path, **changes))


def test_a_file_that_is_no_lesson_is_one_sentence(tmp_path):
    with pytest.raises(LessonError, match="cannot be read"):
        load_lesson(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(LessonError, match="is not JSON"):
        load_lesson(tmp_path / "bad.json")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"run": "recap@99"}, "speaks of the run recap@99"),
        ({"steps": [STEP | {"pass": 999}]}, "stands at pass 999"),
        ({"steps": [STEP | {"node": 999}]}, "has node 999"),
        ({"steps": [STEP | {"committed": "other words"}]}, "tells of other words, but its pass wrote"),
    ],
)
def test_a_lesson_that_does_not_fit_its_trace_is_one_sentence(tmp_path, changes, words):
    lesson = load_lesson(lesson_file(tmp_path, **changes))
    with pytest.raises(LessonError, match=words):
        check_lesson(lesson, trace())


def test_a_lesson_on_a_pass_without_its_nodes_is_refused(tmp_path):
    bare = replace(run(), iterations=tuple(replace(it, detail=None) for it in run().iterations))
    with pytest.raises(LessonError, match="not recorded node by node"):
        check_lesson(load_lesson(lesson_file(tmp_path)), replace(trace(), runs=(trace().runs[0], bare)))
