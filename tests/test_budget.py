"""The budget: an exact scan over measured costs, survival that converges to what happened, and the same text."""

from __future__ import annotations

import time

import numpy as np
import pytest
from oracles import scaled

from recap.budget import ROW_WORTH, CostCurve, SurvivalTable, choose_budget, searched_kinds
from recap.config import RecapConfig
from recap.drafters import make_drafter, open_drafter
from recap.drafters.recap_auto import RecapAutoDrafter
from recap.engine import generate
from recap.events import Environment, Iteration
from recap.memory import Memories
from recap.recorder import Recorder
from recap.targets.base import Request
from recap.targets.cost import measure_pass_seconds
from recap.targets.scripted import ScriptedTarget, random_scores

FREE = CostCurve((1, 68), (1.0, 1.0))
STEEP = CostCurve((1, 2, 68), (1.0, 50.0, 3000.0))


def test_the_chosen_budget_has_the_most_expected_tokens_a_second() -> None:
    rng = np.random.default_rng(0)
    for _ in range(scaled(2000, at_least=50)):
        survival = rng.uniform(0, 1, rng.integers(0, 70))
        seconds = np.cumsum(rng.uniform(0.01, 1, len(survival) + 1 + rng.integers(0, 5)))
        row_worth = float(rng.choice([0.0, 0.05]))
        choice = choose_budget(survival, seconds, row_worth)
        rates = [
            (1 + sum(survival[:b].tolist()) + b * row_worth) / seconds[b] for b in range(len(survival) + 1)
        ]
        assert rates[choice.num_nodes] == pytest.approx(max(rates))
        assert choice.expected_tokens == pytest.approx(
            [1 + sum(survival[:b]) for b in range(len(survival) + 1)]
        )


def test_costs_between_measured_rows_are_linear_and_never_fall() -> None:
    curve = CostCurve((1, 5, 9, 17), (1.0, 3.0, 2.0, 5.0))
    seconds = curve.up_to(21)
    assert seconds[[0, 2, 4, 8]].tolist() == [1.0, 2.0, 3.0, 3.0]
    assert seconds[12] == pytest.approx(4.0)
    assert np.all(np.diff(seconds) >= 0)
    assert seconds[20] == pytest.approx(5.0 + 4 * (5.0 - 1.0) / 16)
    assert CostCurve((1,), (2.0,)).up_to(3).tolist() == [2.0, 2.0, 2.0]


def kinds_of(*nodes: tuple[float, int, int]) -> np.ndarray:
    scores, depths, sources = (np.array(column) for column in zip(*nodes, strict=True))
    return searched_kinds(scores, depths, sources)


def test_survival_converges_to_the_share_that_was_accepted_kind_by_kind() -> None:
    rng = np.random.default_rng(1)
    table = SurvivalTable()
    # The last two differ in the source alone.
    kinds = kinds_of((0.6, 1, 3), (0.6, 3, 3), (0.01, 1, 3), (0.01, 1, 1))
    shares = [0.9, 0.4, 0.5, 0.05]
    for _ in range(3000):
        table.observe_searched(kinds, rng.random(4) < shares)
    assert table.of_searched(kinds, np.full(4, 0.5)) == pytest.approx(shares, abs=0.06)
    assert table.of_searched(kinds_of((0.2, 2, 3)), np.array([0.37])) == pytest.approx([0.37])


def test_a_source_never_seen_is_expected_to_do_as_the_others_at_its_score_and_depth() -> None:
    table = SurvivalTable()
    for _ in range(500):
        table.observe_searched(kinds_of((0.3, 2, 3)), np.array([True]))
    assert table.of_searched(kinds_of((0.3, 2, 1)), np.array([0.1]))[0] > 0.9


def test_kinds_are_apart_by_score_depth_and_source() -> None:
    nodes = [
        (score, depth, source) for score in (0.9, 0.4, 0.1) for depth in (1, 2, 5) for source in range(4)
    ]
    assert len(set(kinds_of(*nodes).tolist())) == len(nodes)
    assert kinds_of((1e-30, 100, 3))[0] == kinds_of((1e-12, 50, 3))[0]


def test_a_changed_world_is_learned_anew() -> None:
    table = SurvivalTable()
    one = kinds_of((0.5, 1, 2))
    for share, rounds in ((1.0, 2000), (0.0, 2000)):
        for _ in range(rounds):
            table.observe_searched(one, np.array([share]))
    assert table.of_searched(one, np.array([0.5]))[0] < 0.1


def run(cost: CostCurve, seed: int) -> tuple[tuple[int, ...], list[Iteration], RecapAutoDrafter]:
    target = ScriptedTarget(40, random_scores(40, 2, seed), end_ids=[0], blocked_ids=[5])
    drafter = RecapAutoDrafter(RecapConfig(), Memories(40), target.blocked_ids, cost)
    *events, finished = generate(target, drafter, Request(np.array([1, 5, 2, 3]), 60, 5))
    return finished.output_ids, [e for e in events if isinstance(e, Iteration)], drafter


def test_the_text_is_plain_decodings_whatever_a_pass_costs() -> None:
    for seed in range(scaled(60, at_least=5)):
        target = ScriptedTarget(40, random_scores(40, 2, seed), end_ids=[0], blocked_ids=[5])
        *_, plain = generate(target, make_drafter("ar", 40), Request(np.array([1, 5, 2, 3]), 60, 5))
        for cost in (FREE, STEEP, CostCurve((1, 68), (1.0, 3.0))):
            assert run(cost, seed)[0] == plain.output_ids


def test_free_rows_are_all_used_and_dear_ones_not_at_all() -> None:
    _, free, drafter = run(FREE, 3)
    assert max(iteration.num_nodes for iteration in free) >= 63
    assert drafter.choice.num_nodes <= 63
    _, steep, _ = run(STEEP, 3)
    assert {iteration.num_nodes for iteration in steep} == {0}


def test_what_a_stopped_run_taught_is_forgotten() -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 1), blocked_ids=[5])
    drafter = RecapAutoDrafter(RecapConfig(), Memories(40), target.blocked_ids, FREE)
    before = drafter.memories.snapshot().survival
    calls = iter(range(1000))
    list(generate(target, drafter, Request(np.array([1, 2, 3]), 60), stop=lambda: next(calls) > 5))
    kinds = kinds_of(*((0.5**i, i % 6 + 1, 3) for i in range(20)))
    probe = kinds, np.full(20, 0.5)
    assert np.array_equal(drafter.memories.survival.of_searched(*probe), before.of_searched(*probe))
    list(generate(target, drafter, Request(np.array([1, 2, 3]), 60)))
    assert not np.array_equal(drafter.memories.survival.of_searched(*probe), before.of_searched(*probe))


def test_auto_needs_the_cost_of_a_pass_and_gets_it_from_the_target() -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 1), blocked_ids=[5])
    assert isinstance(open_drafter(target, "recap-uniform@auto"), RecapAutoDrafter)
    with pytest.raises(ValueError, match="cost must be given"):
        make_drafter("recap@auto", 40)


def test_every_row_count_is_timed_on_passes_of_that_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 1), blocked_ids=[5])
    seen: list[int] = []
    score = target.score_histories

    def slow(histories: list, want_all_scores: bool = False) -> object:
        seen.append(len(histories))
        time.sleep(0.01 * len(histories))
        return score(histories, want_all_scores)

    monkeypatch.setattr(target, "score_histories", slow)
    curve = measure_pass_seconds(target, rows=(1, 4, 8), prefix_length=10, repeats=2)
    assert curve.rows == (1, 4, 8)
    assert seen[1:] == [1] * 3 + [4] * 3 + [8] * 3
    assert all(seconds >= 0.01 * rows for rows, seconds in zip(curve.rows, curve.seconds, strict=True))


def test_a_recorded_pass_tells_what_the_chosen_and_all_nodes_would_have_cost() -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 3), end_ids=[0], blocked_ids=[5])
    cost = CostCurve((1, 68), (1.0, 3.0))
    drafter = RecapAutoDrafter(RecapConfig(), Memories(40), target.blocked_ids, cost)
    recorder = Recorder(drafter, "recap@auto", "recap", {}, Environment("CPU", "float32", "", "", 1))
    list(generate(target, drafter, Request(np.array([1, 5, 2, 3]), 60, 5), recorder=recorder))
    for iteration in recorder.run().iterations:
        budget = iteration.detail.budget
        num_searched = sum(node.origin == "fusion" for node in iteration.detail.nodes)
        assert budget.num_nodes == num_searched
        assert budget.node_counts[0] == 0
        seconds = cost.up_to(68)[list(budget.node_counts)]
        assert budget.seconds == pytest.approx(seconds)
        counts = np.array(budget.node_counts)
        worth = np.array(budget.expected_tokens) + ROW_WORTH * counts
        rates = dict(zip(budget.node_counts, worth / seconds, strict=True))
        assert max(rates, key=rates.__getitem__) == budget.num_nodes
    fixed = make_drafter("recap@8", 40, target.blocked_ids)
    recorder = Recorder(fixed, "recap@8", "recap", {}, Environment("CPU", "float32", "", "", 1))
    list(generate(target, fixed, Request(np.array([1, 5, 2, 3]), 10, 5), recorder=recorder))
    assert all(iteration.detail.budget is None for iteration in recorder.run().iterations)
