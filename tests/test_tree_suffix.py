"""The copied continuation in the tree: what is shared, what is added, and what it may cost."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import numpy as np
import pytest
from oracles import SearchRules, best_first_tree, pack_tree, random_case, random_rules, scaled
from scripted_runs import paths_of
from tree_cases import (
    assert_same_tree,
    built,
    case_of,
    config_of,
    expander,
    made_paths_of,
    random_continuation,
    row,
)

from recap.tree import DraftTree


def test_a_suffix_inside_the_budget_takes_the_place_of_the_last_nodes() -> None:
    rng = random.Random(60)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        paths, _ = best_first_tree(case.history, expander(case), rules)
        continuation = [t for t in random_continuation(rng, case, paths) if t not in rules.blocked_ids][:14]
        copied = continuation if rules.max_nodes else []
        config = dataclasses.replace(config_of(rules), suffix_inside_budget=True)
        trees = (
            pack_tree(case.history[-1], paths[:n], copied, min(4, rules.max_nodes))
            for n in range(len(paths), -1, -1)
        )
        fitting = next(tree for tree in trees if len(tree) <= 1 + rules.max_nodes)
        assert_same_tree(built(case, config, rules, continuation), fitting)


FORK = {7: row((1, 0.5), (2, 0.5)), 1: row((3, 1.0))}


def with_suffix(continuation: Sequence[int], max_new: int = 4, **rules: int) -> DraftTree:
    search = SearchRules(**{"max_nodes": 63, "max_depth": 2, **rules})  # type: ignore[arg-type]
    config = dataclasses.replace(config_of(search), suffix_max_nodes=max_new)
    return built(case_of([7], FORK), config, search, continuation)


def test_suffix_walks_what_the_tree_already_has_and_adds_only_the_rest() -> None:
    tree = with_suffix([1, 3, 4, 5])
    assert paths_of(tree) == [(1,), (1, 3), (1, 3, 4), (1, 3, 4, 5), (2,)]
    assert tree.is_suffix.tolist() == [False, False, False, True, True, False]
    assert made_paths_of(tree)[-2:] == [(1, 3, 4), (1, 3, 4, 5)]  # made after all of the search's nodes


def test_suffix_nodes_have_neither_score_nor_probability() -> None:
    tree = with_suffix([9, 8])
    assert np.isnan(tree.q[tree.is_suffix]).all()
    assert np.isnan(tree.scores[tree.is_suffix]).all()
    assert tree.is_suffix.sum() == 2
    assert not np.isnan(tree.scores[~tree.is_suffix]).any()


def test_a_suffix_node_is_the_last_of_its_siblings() -> None:
    assert paths_of(with_suffix([9, 8])) == [(1,), (1, 3), (2,), (9,), (9, 8)]


@pytest.mark.parametrize("max_new", [0, 1, 3, 4, 32])
def test_at_most_so_many_new_nodes_are_added(max_new: int) -> None:
    tree = with_suffix([1, 3, *range(20, 60)], max_new)
    assert tree.is_suffix.sum() == max_new
    assert tree.depths.max() == 2 + max_new


def test_a_continuation_that_the_tree_holds_adds_nothing() -> None:
    assert not with_suffix([1, 3]).is_suffix.any()


def test_suffix_nodes_come_on_top_of_the_budget_and_reach_four_below_the_deepest_node() -> None:
    case = case_of([7], {7: row((7, 1.0))})
    rules = SearchRules(max_nodes=63)
    tree = built(case, config_of(rules), rules, [7] * 10 + [5, 6, 7, 8, 9, 10])
    assert tree.depths.tolist() == list(range(15))
    flat = row(*[(i, 0.125) for i in range(8)])
    full = case_of([7], dict.fromkeys(range(8), flat))
    assert len(built(full, config_of(rules), rules, [50, 51, 52, 53, 54]).token_ids) == 1 + 63 + 4


def test_no_suffix_is_added_in_a_pass_of_zero_nodes() -> None:
    assert with_suffix([9, 8], max_nodes=0).num_draft_nodes == 0


def test_a_suffix_is_added_where_no_row_is_found() -> None:
    rules = SearchRules()
    tree = built(case_of([7], {}), config_of(rules), rules, [1, 2])
    assert made_paths_of(tree) == [(1,), (1, 2)]
