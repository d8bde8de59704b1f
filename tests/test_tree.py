"""The candidate tree is the best one: search, fusion, acceptance and gather against enumeration (Eq. 8)."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

import numpy as np
import oracles
from bridges import fill
from oracles import (
    RULES,
    SPECIFICITY_PRIORS,
    PackedTree,
    best_first_tree,
    brute_force_tree,
    is_prefix_closed,
    pack_tree,
    random_case,
    random_rules,
    scaled,
    walk,
)
from tree_cases import ancestor_mask, assert_same_tree, built, config_of, expander, random_continuation

from recap.config import RecapConfig
from recap.memory import Memories
from recap.search import TreeBuilder
from recap.verification import accepted_path


def test_search_fusion_acceptance_and_gather_equal_the_oracles_on_random_memories() -> None:
    rng = random.Random(51)
    num_nodes = 0
    for _ in range(scaled(200_000, 20)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        rule, priors = rng.choice(("recap", *RULES)), rng.choice((SPECIFICITY_PRIORS, (0.5, 0.25, 0.25)))
        paths, _ = best_first_tree(case.history, expander(case, rule, priors), rules)
        config = config_of(rules, rule, priors)
        continuation = [t for t in random_continuation(rng, case, paths) if t not in rules.blocked_ids][:14]
        copied = continuation if rules.max_nodes else []
        tree = built(case, config, rules, continuation)
        expected = pack_tree(case.history[-1], paths, copied, 4)
        assert_same_tree(tree, expected)
        num_nodes += len(expected) - 1

        greedy_ids = random_choices(rng, expected, case.alphabet)
        accepted, _ = walk(expected.token_ids, expected.parents, greedy_ids)
        path = accepted_path(tree.token_ids, tree.parent_indices, np.array(greedy_ids))
        assert path.tolist() == accepted
        slots = np.arange(1_000, 1_010 + len(expected))
        assert (
            slots[10 + np.concatenate([[0], path])].tolist()
            == oracles.gather(slots.tolist(), 10, [0, *accepted])[10:]
        )
    assert num_nodes > 5 * scaled(200_000, 20)  # the cases were not all empty


def random_choices(rng: random.Random, tree: PackedTree, alphabet: Sequence[int]) -> list[int]:
    """A greedy choice at every node, mostly one of its children's tokens."""
    kids: list[list[int]] = [[] for _ in range(len(tree))]
    for token_id, parent in zip(tree.token_ids[1:], tree.parents[1:], strict=True):
        kids[parent].append(token_id)
    return [rng.choice(tokens) if tokens and rng.random() < 0.7 else rng.choice(alphabet) for tokens in kids]


def test_best_first_makes_the_best_of_all_paths_in_falling_order() -> None:
    """Against an enumeration of EVERY path: the budget's nodes are the best ones and closed under prefixes."""
    rng = random.Random(52)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        max_depth = rng.choice((1, 2, 3, 4))
        width = {1: 8, 2: 8, 3: 5, 4: 3}[max_depth]
        rules = dataclasses.replace(random_rules(rng, case), max_depth=max_depth, width=width)
        best = brute_force_tree(case.history, expander(case), rules)
        assert is_prefix_closed(best)
        assert_same_tree(built(case, config_of(rules), rules), pack_tree(case.history[-1], best))


def test_fixed_expansion_goes_depth_by_depth_with_equal_width() -> None:
    rng = random.Random(59)
    for _ in range(scaled(2_000, 15)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        # the oracle makes whole layers: no more than it takes to fill the budget
        rules = dataclasses.replace(
            rules, max_nodes=min(rules.max_nodes, 63), max_depth=min(rules.max_depth, 10)
        )
        paths = oracles.breadth_first_tree(case.history, expander(case), rules)
        config = dataclasses.replace(config_of(rules), expansion="fixed")
        assert_same_tree(built(case, config, rules), pack_tree(case.history[-1], paths))


def test_the_tree_of_a_smaller_budget_is_the_start_of_a_larger_one() -> None:
    rng = random.Random(53)
    for _ in range(scaled(300, 10)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        memories = fill(Memories(case.vocab_size), case.memories)
        builder = TreeBuilder(config_of(rules), rules.blocked_ids)
        history = np.array(case.history, np.int64)
        largest = builder.search(memories, history, 256)
        scores = largest[3][1:].tolist()
        assert scores == sorted(scores, reverse=True)
        for budget in (0, 1, 6, 24, 63):
            smaller = builder.search(memories, history, budget)
            assert len(smaller[0]) <= budget + 1
            for some, every in zip(smaller, largest, strict=True):
                assert some.tolist() == every[: budget + 1].tolist()


def test_sources_are_the_maps_that_hold_a_row_for_the_parents_path() -> None:
    rng = random.Random(57)
    seen = set()
    for _ in range(scaled(300, 10)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        memories = fill(Memories(case.vocab_size), case.memories)
        builder = TreeBuilder(config_of(rules), rules.blocked_ids)
        tree, sources = builder.search_with_sources(memories, np.array(case.history, np.int64), 40)
        paths = [tuple(case.history)]
        for token_id, parent, count in zip(tree[0][1:], tree[1][1:], sources[1:], strict=True):
            assert count == len(case.memories.lookup(paths[parent]))
            paths.append((*paths[parent], int(token_id)))
            seen.add(int(count))
        assert sources[0] == 0
    assert seen == {1, 2, 3}


def test_building_a_tree_changes_no_memory() -> None:
    case = random_case(random.Random(54))
    memories = fill(Memories(case.vocab_size), case.memories)
    before = [[array.copy() for array in memories.map(source)] for source in oracles.SOURCES]
    TreeBuilder(RecapConfig(), frozenset()).build(memories, np.array(case.history), np.empty(0, np.int64))
    for source, arrays in zip(oracles.SOURCES, before, strict=True):
        for old, new in zip(arrays, memories.map(source), strict=True):
            assert np.array_equal(old, new)


def test_the_mask_of_a_built_tree_is_its_ancestors_and_itself() -> None:
    rng = random.Random(58)
    for _ in range(scaled(100, 5)):
        case = random_case(rng)
        rules = random_rules(rng, case)
        tree = built(case, config_of(rules), rules)
        assert ancestor_mask(tree.parent_indices).tolist() == oracles.ancestor_mask(
            tree.parent_indices.tolist()
        )
