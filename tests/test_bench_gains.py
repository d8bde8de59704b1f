"""Paired gains: Eq. 11 by hand, from one report and between two."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import asdict
from fractions import Fraction

import pytest

from recap.bench import __main__ as command_line
from recap.bench.gains import COMPARISONS, between_reports, to_markdown, within_report
from recap.bench.report import UnitResult, build_report
from recap.drafters import parse_method
from recap.errors import InputError

SETTINGS = {"model": "toy", "reset_u": "never", "methods": [], "skipped_lines": []}


def make_report(methods, seed=1, reset_u="never", slower=1):
    """Units of 12 inputs with one to three turns, with tokens and seconds that are whole numbers."""
    rng = random.Random(seed)
    results = []
    for index in range(12):
        for turn in range(1, rng.choice((2, 3, 4))):
            tokens = rng.randint(5, 50)
            for method in ("ar", *methods):
                seconds = float(slower * rng.randint(1, 30))
                results.append(UnitResult(f"q{index}", turn, "a", method, tokens, 3, seconds, 0.5, 1.0))
    return build_report(results, {}, {**SETTINGS, "reset_u": reset_u})


def by_hand(full, reduced, full_report, reduced_report):
    """Mean over inputs of the ratio of pooled throughputs, each over plain decoding's of its own report, less one."""
    ratios = []
    for id_ in dict.fromkeys(unit["id"] for unit in full_report["units"]):
        speedups = []
        for report, method in ((full_report, full), (reduced_report, reduced)):
            rates = []
            for name in (method, "ar"):
                units = [u for u in report["units"] if u["id"] == id_ and u["method"] == name]
                rates.append(
                    Fraction(sum(u["tokens"] for u in units)) / Fraction(sum(u["seconds"] for u in units))
                )
            speedups.append(rates[0] / rates[1])
        ratios.append(speedups[0] / speedups[1])
    return float(sum(ratios) / len(ratios) - 1)


CONFIDENT = ("recap", "no-prior", "hard-gate")


def test_the_papers_rows_are_compared_at_its_own_settings():
    """Both sides differ in one component; c = 1 on both but in the confidence row."""
    for comparison in COMPARISONS:
        full, reduced = (asdict(parse_method(name)) for name in (comparison.full, comparison.reduced))
        different = {name for name in full if full[name] != reduced[name]}
        if comparison.paper is None:
            assert full["fusion"] == reduced["fusion"] == "recap"
        elif comparison.meaning.startswith("confidence"):
            assert (full["fusion"], reduced["fusion"]) == ("recap", "no-confidence")
        else:
            assert full["fusion"] not in CONFIDENT
            assert reduced["fusion"] not in CONFIDENT
        if "fallback" in comparison.meaning:
            assert different == {"root_fallback"}
            assert full["suffix_inside_budget"] == (comparison.paper is not None)
        elif comparison.meaning.startswith("suffix"):
            assert different <= {"suffix_max_nodes", "suffix_inside_budget"}
            assert full["suffix_inside_budget"] == (comparison.paper is not None)
        elif comparison.meaning.startswith("best-first"):
            assert different == {"expansion", "width"}
        else:
            assert different == {"fusion"}
        assert full["max_nodes"] == reduced["max_nodes"] == 63


def test_gains_pool_the_turns_of_an_input_and_average_the_inputs():
    report = make_report(
        ("recap@16", "recap-fixed@16", "recap-no-suffix@16", "recap-unigram", "recap-back-off")
    )
    gains = within_report(report)
    assert [(gain.full, gain.reduced) for gain in gains] == [
        ("recap-back-off", "recap-unigram"),
        ("recap@16", "recap-fixed@16"),
        ("recap@16", "recap-no-suffix@16"),
    ]
    for gain in gains:
        assert gain.gain == pytest.approx(by_hand(gain.full, gain.reduced, report, report))
        assert gain.num_inputs == 12
        assert gain.low < gain.gain < gain.high


def test_methods_with_other_budgets_are_not_compared():
    with pytest.raises(InputError, match="recap with recap-fixed"):
        within_report(make_report(("recap@16", "recap-fixed@8", "recap-no-suffix")))
    report = make_report(("recap-no-confidence+budget-63", "recap-no-confidence+no-suffix"))
    report["settings"]["nodes"] = 16  # which holds for the second one alone
    with pytest.raises(InputError, match="no two methods"):
        within_report(report)


def test_a_budget_may_come_from_the_name_or_from_the_settings():
    report = make_report(("recap", "recap-fixed@16", "recap-no-suffix@63", "recap@63"))
    report["settings"]["nodes"] = 16
    assert [(gain.full, gain.reduced) for gain in within_report(report)] == [
        ("recap", "recap-fixed@16"),
        ("recap@63", "recap-no-suffix@63"),
    ]


def test_two_reports_are_compared_by_each_ones_own_plain_decoding():
    methods = ("recap-no-confidence", "recap", "sam")
    kept = make_report(methods)
    reset = make_report(methods, seed=2, reset_u="request", slower=7)
    for place, report in enumerate((kept, reset)):  # the two have to be about the same units
        report["units"] = [unit for unit in report["units"] if unit["turn"] == 1]
        # Of merged shards, each measured somewhere: a machine is no setting, and plain decoding's clock is its own.
        report["settings"]["environments"] = [{"device": f"CPU {place}"}]
    gains = between_reports(kept, reset)
    assert [gain.full for gain in gains] == list(methods)
    assert {gain.meaning for gain in gains} == {"reset_u=never against request"}
    assert [gain.paper for gain in gains] == [5.42, None, None]  # the paper's is for c = 1
    for gain in gains:
        assert gain.gain == pytest.approx(by_hand(gain.full, gain.full, kept, reset))


def test_a_single_input_has_no_interval():
    report = make_report(("recap", "recap-fixed"))
    report["units"] = [unit for unit in report["units"] if unit["id"] == "q0"]
    (gain,) = within_report(report)
    assert (gain.num_inputs, gain.low, gain.high) == (1, None, None)
    assert " – | 1 |" in to_markdown([gain])


def test_units_that_failed_on_either_side_count_on_neither():
    report = make_report(("recap", "recap-fixed"))
    whole = copy.deepcopy(report)
    lost = next(u for u in report["units"] if u["method"] == "recap-fixed" and u["id"] == "q3")
    lost.update(error="failed", tokens=None, seconds=None)
    for unit in whole["units"]:
        if (unit["id"], unit["turn"]) == (lost["id"], lost["turn"]):
            unit.update(tokens=0, seconds=0.0)
    whole["units"] = [unit for unit in whole["units"] if unit["tokens"]]
    assert within_report(report)[0].gain == pytest.approx(within_report(whole)[0].gain)


def test_the_command_prints_the_papers_gain_beside_ours(tmp_path, capsys):
    path = tmp_path / "report.json"
    path.write_text(json.dumps(make_report(("recap-no-confidence", "recap-no-confidence+fixed"))))
    out = tmp_path / "gains.json"
    assert command_line.main(["gains", str(path), "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    (gain,) = json.loads(out.read_text())["gains"]
    assert f"{gain['gain']:+.2%}" in printed
    assert "+4.90%" in printed
    path.write_text("{}")
    assert command_line.main(["gains", str(path)]) == 2
    assert "not a benchmark's report" in capsys.readouterr().err
