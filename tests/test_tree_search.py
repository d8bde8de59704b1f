"""The rules of the search one by one: scores, depths, contexts, ties, and what is never drafted (Eq. 8)."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from oracles import DEPTH_PRIORS, Case, DictMemories, Row, SearchRules
from scripted_runs import paths_of
from tree_cases import built, case_of, config_of, made_paths_of, row


def test_score_is_the_product_of_depth_priors_and_probabilities_along_the_path() -> None:
    case = case_of([7], {7: row((1, 0.9), (2, 0.1)), 1: row((3, 0.8), (4, 0.2)), 3: row((5, 1.0))})
    rules = SearchRules(max_nodes=3)
    tree = built(case, config_of(rules), rules)
    assert made_paths_of(tree) == [(1,), (1, 3), (1, 3, 5)]
    first, second, third = 0.68 * 0.9, 0.68 * 0.9 * 0.63 * 0.8, 0.68 * 0.9 * 0.63 * 0.8 * 0.50
    assert tree.scores.tolist() == pytest.approx([1, first, second, third], rel=1e-6)
    assert tree.q.tolist() == pytest.approx([1, 0.9, 0.8, 1.0])


def test_the_last_depth_prior_holds_for_all_deeper_nodes() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    rules = SearchRules(max_nodes=10)
    tree = built(case, config_of(rules), rules)
    factors = [*DEPTH_PRIORS, 0.38, 0.38, 0.38, 0.38]
    assert tree.scores.tolist() == pytest.approx([1, *itertools.accumulate(factors, lambda a, b: a * b)])


def test_depth_is_limited_and_a_chain_uses_it_all() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    for max_depth in (1, 2, 10, 32):
        rules = SearchRules(max_nodes=256, max_depth=max_depth)
        assert built(case, config_of(rules), rules).depths.tolist() == list(range(max_depth + 1))


def test_a_node_is_expanded_under_its_own_path_not_under_the_history() -> None:
    bigram = {(7, 1): row((3, 1.0)), (2, 1): row((4, 1.0))}
    case = case_of([9, 7], {7: row((1, 0.5), (2, 0.5)), 2: row((1, 1.0))}, bigram)
    rules = SearchRules(max_nodes=63)
    tree = built(case, config_of(rules), rules)
    assert set(made_paths_of(tree)) == {(1,), (2,), (1, 3), (2, 1), (2, 1, 4)}


def test_equal_scores_are_popped_by_the_smaller_rank_path() -> None:
    # every factor is a power of two: (3,) scores 1/4, as do (1, 5) and (2, 5); ranks order them
    half = row((1, 0.5), (2, 0.5))
    case = case_of(
        [7], {7: row((1, 0.5), (2, 0.25), (3, 0.25)), 1: row((5, 0.5), (6, 0.5)), 2: row((5, 1.0)), 6: half}
    )
    rules = SearchRules(max_nodes=63, depth_priors=(1.0,))
    tree = built(case, config_of(rules), rules)
    assert made_paths_of(tree)[:6] == [(1,), (1, 5), (1, 6), (2,), (2, 5), (3,)]
    assert tree.scores[np.argsort(tree.pop_orders)].tolist()[:7] == [1.0, 0.5, 0.25, 0.25, 0.25, 0.25, 0.25]


def test_ties_do_not_depend_on_token_ids() -> None:
    # the rank path decides, not the id: 90 stands before 5 in the row
    case = case_of([7], {7: row((90, 0.5), (5, 0.5))})
    rules = SearchRules(max_nodes=1)
    assert made_paths_of(built(case, config_of(rules), rules)) == [(90,)]


def test_equal_tokens_on_different_branches_are_different_nodes() -> None:
    case = case_of([7], {7: row((1, 0.5), (2, 0.5)), 1: row((5, 1.0)), 2: row((5, 1.0)), 5: row((7, 1.0))})
    rules = SearchRules(max_nodes=63, max_depth=3)
    tree = built(case, config_of(rules), rules)
    assert paths_of(tree) == [(1,), (1, 5), (1, 5, 7), (2,), (2, 5), (2, 5, 7)]


def test_a_token_repeated_in_one_row_is_one_child() -> None:
    case = case_of([7], {7: Row((3, 3, 4), (0.5, 0.25, 0.25), 0.35)})
    rules = SearchRules(max_depth=1)
    assert made_paths_of(built(case, config_of(rules), rules)) == [(3,), (4,)]


def test_blocked_ids_are_never_drafted_and_take_no_place() -> None:
    case = case_of([7], {7: row((1, 0.4), (2, 0.3), (3, 0.2), (4, 0.1))})
    rules = SearchRules(max_depth=1, width=2, blocked_ids=frozenset({1, 3}))
    tree = built(case, config_of(rules), rules)
    assert made_paths_of(tree) == [(2,), (4,)]
    assert tree.q[1:].tolist() == pytest.approx([0.3, 0.1])  # q is that of the row, not renormalised


def test_repeated_edges_are_left_out_only_when_asked_for() -> None:
    case = case_of([7], {7: row((8, 0.5), (9, 0.5)), 8: row((7, 1.0)), 9: row((9, 1.0))})
    free = SearchRules(max_nodes=63, max_depth=4)
    kept = dataclasses.replace(free, forbid_repeated_edges=True)
    with_repeats = set(made_paths_of(built(case, config_of(free), free)))
    without = set(made_paths_of(built(case, config_of(kept), kept)))
    assert (8, 7, 8) in with_repeats
    assert (9, 9, 9) in with_repeats
    # on 7-8-7 only 9 is new; 9-9 may be walked once
    assert without == {(8,), (9,), (8, 7), (8, 7, 9), (8, 7, 9, 9), (9, 9)}


@pytest.mark.parametrize("rules", [SearchRules(max_nodes=0), SearchRules(max_nodes=63)])
def test_without_rows_or_budget_the_root_is_alone(rules: SearchRules) -> None:
    unigram = {7: row((1, 1.0))} if rules.max_nodes == 0 else {}
    tree = built(case_of([7], unigram), config_of(rules), rules)
    assert tree.num_draft_nodes == 0
    assert (tree.token_ids.tolist(), tree.parent_indices.tolist(), tree.depths.tolist()) == ([7], [-1], [0])


def test_a_history_shorter_than_a_key_finds_only_shorter_keys() -> None:
    maps = {"G": {(7, 7, 7): row((1, 1.0))}, "C": {(7, 7): row((2, 1.0))}, "U": {(7,): row((3, 1.0))}}
    rules = SearchRules(max_depth=1)
    for length, first in ((1, 3), (2, 2), (3, 1)):
        case = Case(100, (), (7,) * length, DictMemories(maps))
        tree = built(case, config_of(rules, "back-off"), rules)
        assert made_paths_of(tree) == [(first,)]
