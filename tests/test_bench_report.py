"""The figures of a report follow from its units by plain arithmetic."""

from __future__ import annotations

import math
import statistics

import pytest
from toy_bench import OVERALL_KEYS, measure, toy_report

from recap.bench.report import UNIT_KEYS, UnitResult, build_report, to_markdown
from recap.events import StageSeconds


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


def percentile(values, percent):
    """The value that so many percent of the others lie below; between two values, on the line from one to the next."""
    ordered = sorted(values)
    below, share = divmod(percent * (len(ordered) - 1), 100)
    return ordered[below] + share / 100 * (ordered[min(below + 1, len(ordered) - 1)] - ordered[below])


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
            assert unit["decode_ratio"] == nearly(ours / theirs)
            # Prefill gives one token, every pass the others.
            assert unit["acceptance_length"] == nearly((unit["tokens"] - 1) / unit["passes"])
    tokens, seconds = (sum(u[key] for u in units) for key in ("tokens", "seconds"))
    ar_tokens, ar_seconds = (sum(u[key] for u in references) for key in ("tokens", "seconds"))
    assert figures["speedup"] == nearly(math.fsum(ratios) / len(ratios))
    assert figures["speedup_of_totals"] == nearly(tokens * ar_seconds / (seconds * ar_tokens))
    assert figures["decode_speedup"] == nearly(math.fsum(decode_ratios) / len(decode_ratios))
    assert figures["prefill_share"] == nearly(sum(u["prefill_seconds"] for u in units) / seconds)
    for percent in (10, 50, 90):
        assert figures[f"p{percent}"] == nearly(percentile(ratios, percent))
    assert figures["tokens_per_second"] == nearly(tokens / seconds)
    lengths = [u["acceptance_length"] for u in units if u["passes"]]
    assert figures["acceptance_length"] == nearly(sum(lengths) / len(lengths))
    assert figures["num_without_pass"] == sum(u["passes"] == 0 for u in units)
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
        "decode_ratio",
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
    passes = [StageSeconds(*seconds) for result in own for seconds in result.stage_seconds.tolist()]
    assert len(passes) == method["overall"]["passes"]
    assert method["stage_ms"]["draft"] == nearly(1000 * statistics.median(s.draft for s in passes))
    assert method["overall"]["mean_nodes"] == nearly(sum(r.num_draft_nodes for r in own) / len(passes))
    assert 0 < method["overall"]["mean_nodes"] <= 16 + 4  # suffix nodes come on top


def test_units_without_a_pass_are_left_out_of_the_acceptance_length_and_counted():
    one = UnitResult("1", 1, "t", "recap", 10, 3, 2.0, 0.5, 1.5, 4.0, True)
    none = UnitResult("2", 1, "t", "recap", 1, 0, 1.0, 1.0, 1.0, None, True)
    peer = UnitResult("1", 1, "t", "hf_greedy", 10, None, 2.0, None, 1.5, None, True)
    methods = build_report([one, none, peer], {}, {})["methods"]
    assert methods["recap"]["overall"]["num_without_pass"] == 1
    assert methods["recap"]["overall"]["acceptance_length"] == 4.0
    assert methods["hf_greedy"]["overall"]["num_without_pass"] == 0


def test_failed_units_are_left_out_of_every_figure_and_counted():
    done = UnitResult("1", 1, "t", "m", 10, 4, 2.0, 0.5, 1.5, 2.25, False)
    reference = UnitResult("1", 1, "t", "ar", 10, 9, 3.0, 0.5, 1.0, 1.0, True)
    lost = UnitResult("2", 1, "t", "m", error="It broke.")
    figures = build_report([reference, done, lost], {}, {})["methods"]["m"]["overall"]
    assert (figures["num_units"], figures["num_failed"], figures["speedup"]) == (2, 1, 1.5)
    assert (figures["identical_to_ar"], figures["tokens_per_second"]) == (0.0, 5.0)


def test_markdown_says_when_a_run_was_stopped():
    report = toy_report()
    num_units = len(report["units"]) // 3
    report["settings"]["num_units"] = num_units
    assert "Stopped" not in to_markdown(report)
    report["settings"]["num_units"] = num_units + 2
    assert f"Stopped after {num_units} of {num_units + 2} units." in to_markdown(report)


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
