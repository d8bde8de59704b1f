"""The budget: an exact scan over measured costs, survival that converges to what happened, and the same text."""

from __future__ import annotations

import math
import time
from itertools import pairwise

import numpy as np
import pytest
from oracles import scaled

from recap.budget import ROW_WORTH, CostCurve, Pace, choose_budget, row_worth
from recap.config import RecapConfig
from recap.drafters import make_drafter, open_drafter
from recap.drafters.recap_auto import RecapAutoDrafter
from recap.engine import generate
from recap.events import Environment, Iteration
from recap.memory import Memories
from recap.recorder import Recorder
from recap.survival import NUM_SOURCES, SurvivalTable, prior_survival
from recap.targets.base import Request
from recap.targets.cost import measure_pass_seconds
from recap.targets.scripted import ScriptedTarget, random_scores
from recap.tree import DraftTree, root_only_tree

FREE = CostCurve((1, 68), (1.0, 1.0))
STEEP = CostCurve((1, 2, 68), (1.0, 50.0, 3000.0))


def test_the_chosen_budget_gains_the_most_over_the_pace_of_the_run() -> None:
    rng = np.random.default_rng(0)
    for _ in range(scaled(2000, at_least=50)):
        survival = rng.uniform(0, 1, rng.integers(0, 70))
        seconds = np.cumsum(rng.uniform(0.01, 1, len(survival) + 1 + rng.integers(0, 5)))
        worth = float(rng.choice([0.0, 0.3]))
        pace = Pace(float(rng.uniform(100, 300)), float(rng.uniform(50, 500)))
        choice = choose_budget(survival, seconds, pace, worth)
        expected = [1 + sum(survival[:b].tolist()) for b in range(len(survival) + 1)]
        assert choice.expected_tokens == pytest.approx(expected)
        gains = gains_over_pace(expected, seconds.tolist(), pace, worth)
        assert gains[choice.num_nodes] == pytest.approx(max(gains))


def gains_over_pace(
    expected: list[float], seconds: list[float], pace: tuple[float, float], worth: float
) -> list[float]:
    """Tokens by number of nodes, later ones through rows included, less what the run makes in the same time."""
    best = max(range(len(expected)), key=lambda b: expected[b] / seconds[b])
    rate = (pace[0] + 2 * expected[best]) / (pace[1] + 2 * seconds[best])
    return [expected[b] + worth * math.log(1 + b) - rate * seconds[b] for b in range(len(expected))]


def test_a_first_pass_without_worth_of_rows_makes_the_most_expected_tokens_a_second() -> None:
    rng = np.random.default_rng(3)
    for _ in range(100):
        survival = np.sort(rng.uniform(0, 1, 40))[::-1]
        seconds = np.cumsum(rng.uniform(0.01, 1, 41))
        choice = choose_budget(survival, seconds, worth=0.0)
        rates = choice.expected_tokens / seconds
        assert rates[choice.num_nodes] == pytest.approx(rates.max())


def test_of_budgets_that_gain_the_same_the_smallest_is_taken() -> None:
    assert choose_budget(np.zeros(20), np.ones(21), worth=0.0).num_nodes == 0


def test_a_slower_run_takes_more_nodes() -> None:
    survival, seconds = 0.9 ** np.arange(1, 64), 1.0 + 0.1 * np.arange(64)
    chosen = [
        choose_budget(survival, seconds, Pace(rate * 1000.0, 1000.0)).num_nodes for rate in (8, 4, 2, 1)
    ]
    assert chosen == sorted(chosen)
    assert chosen[0] < chosen[-1]


def test_the_pace_of_a_stream_follows_its_last_passes() -> None:
    pace = Pace()
    for _ in range(2000):
        pace = pace.after(2, 1.0)
    for _ in range(1000):
        pace = pace.after(5, 0.5)
    assert pace.tokens / pace.seconds == pytest.approx(10.0, rel=0.01)


def test_what_is_expected_before_anything_was_learned_falls_with_the_place_and_rises_with_the_context() -> (
    None
):
    orders = np.arange(1, 64)
    expected = [
        np.array([prior_survival(order, source) for order in orders]) for source in range(NUM_SOURCES)
    ]
    for fewer, more in pairwise(expected):
        assert np.all(more >= fewer)
    for one in expected:
        assert np.all(np.diff(one) < 0)
        assert 0 < one[-1] < one[0] < 1


def test_costs_between_measured_rows_are_linear_and_never_fall() -> None:
    curve = CostCurve((1, 5, 9, 17), (1.0, 3.0, 2.0, 5.0))
    seconds = curve.up_to(21)
    assert seconds[[0, 2, 4, 8]].tolist() == [1.0, 2.0, 3.0, 3.0]
    assert seconds[12] == pytest.approx(4.0)
    assert np.all(np.diff(seconds) >= 0)
    assert seconds[20] == pytest.approx(5.0 + 4 * (5.0 - 1.0) / 16)
    assert CostCurve((1,), (2.0,)).up_to(3).tolist() == [2.0, 2.0, 2.0]


def test_survival_converges_to_the_share_that_was_accepted_by_place_and_source() -> None:
    rng = np.random.default_rng(1)
    table = SurvivalTable()
    # The last two stand at the same place and differ in the source alone.
    orders, sources = np.array([1, 2, 40, 40]), np.array([3, 1, 3, 1])
    shares = np.array([0.9, 0.4, 0.5, 0.05])
    for _ in range(3000):
        observe(table, orders, sources, rng.random(4) < shares)
    assert table.of_searched(np.array([3, 1]))[[0, 1]] == pytest.approx(shares[:2], abs=0.06)
    for source, share in ((3, 0.5), (1, 0.05)):
        assert table.of_searched(np.full(40, source))[39] == pytest.approx(share, abs=0.06)
    unseen = SurvivalTable().of_searched(np.full(20, 2))
    assert table.of_searched(np.full(20, 2)) == pytest.approx(unseen)


def test_each_of_the_first_places_is_learned_apart_and_far_ones_together() -> None:
    for order, same in ((1, 1), (2, 2), (3, 3), (4, 4), (20, 24), (100, 120)):
        table = SurvivalTable()
        before = table.of_searched(np.full(120, 2))
        for _ in range(50):
            observe(table, [order], [2], [True])
        changed = np.flatnonzero(table.of_searched(np.full(120, 2)) != before) + 1
        assert order in changed
        assert same in changed
        assert changed.max() < 1.5 * order or order == 100


def test_a_changed_world_is_learned_anew() -> None:
    table = SurvivalTable()
    for is_accepted, rounds in ((True, 4000), (False, 8000)):
        for _ in range(rounds):
            observe(table, [1], [1], [is_accepted])
    assert table.of_searched(np.array([1]))[0] < 0.1


def test_a_pass_is_judged_between_what_its_own_rows_say_and_what_passes_are_like() -> None:
    rng = np.random.default_rng(4)
    table = SurvivalTable()
    unsure, sure = np.full(10, 1), np.full(10, 3)
    assert np.array_equal(table.of_pass(sure, 10), table.of_searched(sure))
    own = []
    for _ in range(30):
        sources = unsure if rng.random() < 0.5 else sure
        own.append(table.of_searched(sources))
        table.observe(root_only_tree(0), np.append(0, sources), 10, 0, np.empty(0, np.int64))
    typical = np.mean(own, axis=0)
    for sources in (unsure, sure):
        assert table.of_pass(sources, 10) == pytest.approx(0.2 * table.of_searched(sources) + 0.8 * typical)
    # Nodes that a search did not make count as never accepted.
    table.observe(root_only_tree(0), np.zeros(1, np.int64), 10, 0, np.empty(0, np.int64))
    assert np.all(table.of_pass(sure, 10) < 0.2 * table.of_searched(sure) + 0.8 * typical)
    # Nodes that it was not asked for stay as they were seen, and count as that where they are not searched.
    before = table.of_pass(sure, 10)
    table.observe(root_only_tree(0), np.append(0, sure[:4]), 4, 0, np.empty(0, np.int64))
    assert np.all(table.of_pass(sure, 10)[:4] > before[:4])
    assert np.array_equal(table.of_pass(sure, 10)[4:], before[4:])
    unsearched = table.of_pass(sure[:4], 12)
    assert unsearched[:4] == pytest.approx(table.of_pass(sure, 10)[:4])
    assert unsearched[4:10] == pytest.approx((before - 0.2 * table.of_searched(sure))[4:] / 0.8)
    assert unsearched[10:] == pytest.approx([prior_survival(11, 3), prior_survival(12, 3)])
    copied = table.copy()
    table.observe(root_only_tree(0), np.append(0, sure), 10, 0, np.empty(0, np.int64))
    assert not np.array_equal(copied.of_pass(sure, 10), table.of_pass(sure, 10))


def test_copied_nodes_are_learned_by_match_and_place_apart_from_searched_ones() -> None:
    rng = np.random.default_rng(2)
    table = SurvivalTable()
    # A searched node between two copied ones, told apart by `is_suffix` alone.
    is_suffix = np.array([False, True, False, True])
    tree = DraftTree(
        *np.zeros((2, 4), np.int64),
        depths=np.array([0, 1, 1, 2], np.int32),
        ranks=np.zeros(4, np.int32),
        pop_orders=np.array([0, 2, 1, 3], np.int32),
        q=np.zeros(4),
        scores=np.zeros(4),
        is_suffix=is_suffix,
    )
    shares = np.array([0.8, 0.1, 0.3])
    for _ in range(3000):
        accepted = 1 + np.flatnonzero(rng.random(3) < shares)
        table.observe(tree, np.array([0, 3, 0, 0]), 1, 5, accepted)
    assert table.of_copied(5, np.array([1, 2])) == pytest.approx(shares[[0, 2]], abs=0.06)
    assert table.of_searched(np.array([3]))[0] == pytest.approx(shares[1], abs=0.06)
    depths = np.array([1, 2], np.int32)
    assert table.of_copied(4, depths) == pytest.approx(SurvivalTable().of_copied(4, depths))


def observe(table: SurvivalTable, orders: object, sources: object, is_accepted: object) -> None:
    """Let a table see searched nodes at these places of the search."""
    by_order = np.zeros(1 + max(orders), np.int64)
    # Places that come twice, with two sources, are shown one after the other.
    for order, source, is_one in zip(orders, sources, is_accepted, strict=True):
        by_order[order] = source
        tree = root_only_tree(0)._replace(
            pop_orders=np.array([0, order], np.int32),
            depths=np.array([0, 1], np.int32),
            is_suffix=np.zeros(2, np.bool_),
        )
        table.observe(tree, by_order, len(by_order) - 1, 0, np.flatnonzero([False, is_one]))


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


def test_a_search_goes_as_far_as_the_budget_and_little_further() -> None:
    asked: list[int] = []

    class Watched(RecapAutoDrafter):
        def search_with_sources(
            self, history: np.ndarray, max_nodes: int
        ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
            asked.append(max_nodes)
            return super().search_with_sources(history, max_nodes)

    for cost, seed in ((CostCurve((1, 68), (1.0, 6.0)), 3), (FREE, 4), (STEEP, 5)):
        target = ScriptedTarget(40, random_scores(40, 2, seed), end_ids=[0], blocked_ids=[5])
        drafter = Watched(RecapConfig(), Memories(40), target.blocked_ids, cost)
        choices = []
        for event in generate(target, drafter, Request(np.array([1, 5, 2, 3]), 60, 5)):
            if isinstance(event, Iteration):
                choices.append(drafter.choice.num_nodes)
                assert choices[-1] <= asked[-1]
        assert asked[0] == 63
        if cost is STEEP:
            assert set(asked[1:]) == {8}
        if cost is FREE:
            assert max(choices) > 40
        asked.clear()


def test_what_a_stopped_run_taught_is_forgotten() -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 1), blocked_ids=[5])
    drafter = RecapAutoDrafter(RecapConfig(), Memories(40), target.blocked_ids, FREE)
    before = drafter.memories.snapshot().survival
    calls = iter(range(1000))
    list(generate(target, drafter, Request(np.array([1, 2, 3]), 60), stop=lambda: next(calls) > 5))
    probe = np.full(20, 3)
    assert np.array_equal(drafter.memories.survival.of_searched(probe), before.of_searched(probe))
    assert drafter.memories.survival.pace == before.pace
    list(generate(target, drafter, Request(np.array([1, 2, 3]), 60)))
    after = drafter.memories.survival
    assert any(
        not np.array_equal(after.of_searched(sources), before.of_searched(sources))
        for sources in (np.full(20, 1), np.full(20, 2), probe)
    )
    assert after.pace.tokens > 0


def test_a_request_after_a_stopped_one_is_as_if_that_had_never_been_made() -> None:
    """Also what each pass asks the search for, on which a choice beyond the known nodes depends."""
    for seed in range(scaled(20, at_least=4)):
        passes = []
        for is_disturbed in (False, True):
            target = ScriptedTarget(40, random_scores(40, 2, seed), blocked_ids=[5])
            drafter = RecapAutoDrafter(
                RecapConfig(), Memories(40), target.blocked_ids, CostCurve((1, 68), (1.0, 4.0))
            )
            asked: list[int] = []
            search = drafter.search_with_sources

            def watched(history: np.ndarray, most: int, asked=asked, search=search) -> object:
                asked.append(most)
                return search(history, most)

            list(generate(target, drafter, Request(np.array([7, 8, 9]), 60)))
            if is_disturbed:
                calls = iter(range(1000))
                list(
                    generate(
                        target,
                        drafter,
                        Request(np.array([1, 2, 3]), 60),
                        stop=lambda calls=calls: next(calls) > 3,
                    )
                )
            drafter.search_with_sources = watched  # type: ignore[method-assign]
            events = list(generate(target, drafter, Request(np.array([1, 2, 3]), 60)))
            nodes = [event.num_nodes for event in events if isinstance(event, Iteration)]
            passes.append((nodes, asked))
        assert passes[0] == passes[1]


def test_rows_are_worth_nothing_to_an_answer_that_has_just_begun_and_more_the_longer_it_goes_on() -> None:
    worths = [row_worth(num_passes) for num_passes in range(500)]
    assert worths[0] == 0
    assert all(low < high for low, high in pairwise(worths))
    assert 0.95 * ROW_WORTH < worths[-1] < ROW_WORTH
    survival, seconds = np.full(20, 0.05), np.linspace(1.0, 2.0, 21)
    budgets = [choose_budget(survival, seconds, worth=worth).num_nodes for worth in worths]
    assert budgets == sorted(budgets)
    assert budgets[0] < budgets[-1]


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
    assert seen[1:] == [1, 1, 1, 4, 4, 4, 8, 8, 8] * 2
    assert all(seconds >= 0.01 * rows for rows, seconds in zip(curve.rows, curve.seconds, strict=True))


def test_a_recorded_pass_tells_what_the_chosen_and_all_nodes_would_have_cost() -> None:
    target = ScriptedTarget(40, random_scores(40, 2, 3), end_ids=[0], blocked_ids=[5])
    cost = CostCurve((1, 68), (1.0, 3.0))
    drafter = RecapAutoDrafter(RecapConfig(), Memories(40), target.blocked_ids, cost)
    recorder = Recorder(drafter, "recap@auto", "recap", {}, Environment("CPU", "float32", "", "", 1))
    events = generate(target, drafter, Request(np.array([1, 5, 2, 3]), 60, 5), recorder=recorder)
    drafter_choices = [drafter.choice for event in events if isinstance(event, Iteration)]
    pace = Pace()
    for iteration in recorder.run().iterations:
        budget = iteration.detail.budget
        num_searched = sum(node.origin == "fusion" for node in iteration.detail.nodes)
        assert budget.num_nodes == num_searched
        assert budget.node_counts[0] == 0
        seconds = cost.up_to(68)[list(budget.node_counts)]
        assert budget.seconds == pytest.approx(seconds)
        choice = drafter_choices[iteration.index - 1]
        worth = row_worth(iteration.index - 1)
        gains = gains_over_pace(choice.expected_tokens.tolist(), choice.seconds.tolist(), pace, worth)
        assert gains[budget.num_nodes] == pytest.approx(max(gains))
        assert budget.expected_tokens == pytest.approx(choice.expected_tokens[list(budget.node_counts)])
        pace = pace.after(len(iteration.committed_ids), cost.up_to(80)[iteration.num_nodes])
    fixed = make_drafter("recap@8", 40, target.blocked_ids)
    recorder = Recorder(fixed, "recap@8", "recap", {}, Environment("CPU", "float32", "", "", 1))
    list(generate(target, fixed, Request(np.array([1, 5, 2, 3]), 10, 5), recorder=recorder))
    assert all(iteration.detail.budget is None for iteration in recorder.run().iterations)
