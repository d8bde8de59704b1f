"""Eqs. 9-11 on runs small enough to reckon by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from make_traces import make_trace

from recap import metrics
from recap.events import Environment, Finished, Iteration, Prefill, Run, StageSeconds


def run_of(committed: list[int], prefill: float, passes: list[float], first: int = 7) -> Run:
    """A run whose passes commit `committed[i]` tokens in `passes[i]` seconds."""
    iterations, output = [], [first]
    for index, (number, seconds) in enumerate(zip(committed, passes, strict=True), start=1):
        ids = tuple(range(number))
        iterations.append(
            Iteration(index, 5, output[-1], number - 1, tuple(range(1, number)), ids[-1], ids, None,
                      StageSeconds(0.0, seconds, 0.0, 0.0), None)
        )  # fmt: skip
        output += ids
    return Run(
        "run", "recap", (), Environment("cpu", "float32", "", "", 1), (),
        Prefill(4, 0, first, (2.0, 1.5), prefill, (), None), tuple(iterations),
        Finished(tuple(output), len(iterations), "length", prefill, sum(passes)),
    )  # fmt: skip


FAST = run_of([3, 1, 4], 0.5, [0.25, 0.25, 0.5])
PLAIN = run_of([1] * 8, 0.5, [0.25] * 8)
NO_PASS = run_of([], 0.5, [])


def test_throughput_ratio_counts_all_tokens_and_all_seconds():
    assert metrics.num_output_tokens(FAST) == 9
    assert metrics.run_seconds(FAST) == 1.5
    assert metrics.throughput_ratio(FAST, PLAIN) == pytest.approx((9 / 1.5) / (9 / 2.5))
    assert metrics.throughput_ratio(PLAIN, PLAIN) == 1


def test_two_runs_that_are_prefill_alone_have_no_speedup_to_tell():
    assert metrics.run_speedup(FAST, PLAIN) == metrics.throughput_ratio(FAST, PLAIN)
    assert metrics.run_speedup(NO_PASS, run_of([], 0.75, [])) is None


def test_speedup_is_the_mean_of_ratios_and_pooled_speedup_is_not():
    other = run_of([2], 0.5, [1.5])
    pairs = [(FAST, PLAIN), (other, PLAIN)]
    ratios = [
        Fraction(9, 1) / Fraction(3, 2) / Fraction(9, 1) * Fraction(5, 2),
        Fraction(3, 2) / Fraction(18, 5),
    ]
    assert metrics.speedup(pairs) == pytest.approx(float(sum(ratios) / 2))
    assert metrics.speedup_of_totals(pairs) == pytest.approx((12 / 3.5) / (18 / 5))


def test_decode_ratio_leaves_prefill_and_its_token_out():
    assert metrics.decode_ratio(FAST, PLAIN) == pytest.approx((8 / 1.0) / (8 / 2.0))
    assert metrics.decode_efficiency(FAST, PLAIN) == pytest.approx(2 / (8 / 3))
    assert metrics.prefill_share(FAST) == pytest.approx(1 / 3)


def test_acceptance_length_is_one_more_than_the_accepted_tokens_a_pass():
    assert metrics.acceptance_length(FAST) == pytest.approx(8 / 3)
    assert metrics.acceptance_length(PLAIN) == 1


def test_units_without_a_pass_are_left_out_and_counted():
    assert metrics.acceptance_length(NO_PASS) is None
    assert metrics.mean_acceptance_length([FAST, NO_PASS, PLAIN]) == (pytest.approx((8 / 3 + 1) / 2), 1)
    assert metrics.mean_acceptance_length([NO_PASS]) == (None, 1)
    assert metrics.decode_ratio(NO_PASS, PLAIN) is None
    assert metrics.decode_efficiency(NO_PASS, PLAIN) is None


def test_a_clock_at_zero_has_no_ratio():
    still = run_of([], 0.0, [])
    assert metrics.throughput_ratio(still, PLAIN) is None
    assert metrics.speedup([(still, PLAIN)]) is None
    assert metrics.speedup_of_totals([(still, PLAIN)]) is None
    assert metrics.prefill_share(still) is None


def test_a_growing_run_counts_what_is_there():
    growing = replace(FAST, finished=None, iterations=FAST.iterations[:2])
    assert metrics.output_ids(growing) == FAST.finished.output_ids[:5]
    assert metrics.decode_seconds(growing) == 0.5
    assert metrics.run_seconds(growing) == 1.0


def test_first_difference_names_the_token_or_the_shorter_end():
    assert metrics.first_difference(FAST, FAST) is None
    assert metrics.first_difference(FAST, run_of([3, 1, 4], 1, [1, 1, 1], first=8)) == 0
    assert metrics.first_difference(FAST, run_of([3, 1], 1, [1, 1])) == 5


def test_scores_at_a_token_are_those_of_the_node_that_chose_it():
    plain, fast = make_trace(3, max_nodes=20, num_tokens=40).runs
    ids = metrics.output_ids(plain)
    assert metrics.first_difference(fast, plain) is None
    for index in range(len(ids)):
        assert metrics.top_scores_at(fast, index) == metrics.top_scores_at(plain, index)
    assert metrics.top_scores_at(plain, len(ids)) is None


def test_score_gap_belongs_to_the_first_difference():
    plain, fast = make_trace(3, max_nodes=20, num_tokens=40).runs
    assert metrics.score_gap(fast, plain) is None
    index = 11
    changed = list(fast.finished.output_ids)
    changed[index] += 1
    other = replace(fast, finished=replace(fast.finished, output_ids=tuple(changed)))
    first, second = plain.iterations[index - 1].detail.nodes[0].top_scores
    assert metrics.score_gap(other, plain) == first - second
    assert metrics.top_scores_at(FAST, 2) is None, "that pass was not recorded"
